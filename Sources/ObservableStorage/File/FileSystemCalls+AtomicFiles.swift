package import FoundationSubset
import PropertyListCoding

// Reading and replacing whole files so that no process ever reads a part of one. These functions do not take the `FileLock` of the path,
// which a writer holds in order not to overwrite changes of another one.

// MARK: - Reading

extension FileSystemCalls {
    /// The maximum size of a file that is read, in bytes: larger than any property list, and small enough not to exhaust the memory.
    package static let largestFileSize = 1 << 30

    private static let maximumAttempts = 20

    /// Reads a whole file, with the identity of exactly the content that was read; nil if there is no file.
    ///
    /// A file that changes meanwhile is read again, for some tens of milliseconds. Only regular files are read: reading never waits for the
    /// other end of a pipe.
    ///
    /// - Parameter followsLinks: whether a link in the last component is followed.
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)``
    func readFile(at path: ResolvedPath, followsLinks: Bool = false) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        var last: (bytes: Data, identity: FileIdentity)?
        for attempt in 0..<Self.maximumAttempts {
            if attempt > 0 { pause(.milliseconds(2)) }
            guard let descriptor = try open(path, followsLinks: followsLinks) else { return nil }
            defer { discard(descriptor) }
            let isLast = attempt == Self.maximumAttempts - 1
            guard let (content, isUnchanged) = try content(of: descriptor, path: path.path, isLast: isLast) else { continue }
            // A program may change the times of the file all the time, as by touching it.
            if isUnchanged { return content }
            if let last, last.identity.isSameFile(as: content.identity), last.bytes == content.bytes { return content }
            last = content
        }
        throw .unreadable(file: path.path, reason: "it keeps changing while it is read")
    }

    private func open(_ path: ResolvedPath, followsLinks: Bool) throws(StorageError) -> Int32? {
        do throws(SystemError) {
            // Without O_NONBLOCK, opening a pipe would wait for its writer.
            return try openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | (followsLinks ? 0 : O_NOFOLLOW))
        } catch let error where error.isMissing {
            return nil
        } catch {
            // The type of the file may be more specific than the system's error.
            let objection = statusOrNil(at: path, followsLinks: followsLinks)?.kind.objection
            throw .unreadable(file: path.path, reason: objection ?? error.reason)
        }
    }

    /// The content of an open file with its identity before it was read, and whether that is still the same; nil if the size is not, or
    /// the file is gone, unless it is the last attempt.
    private func content(
        of descriptor: Int32, path: String, isLast: Bool
    ) throws(StorageError) -> (content: (bytes: Data, identity: FileIdentity), isUnchanged: Bool)? {
        typealias Read = (before: FileStatus, bytes: Data, after: FileStatus)
        let read = try reading(path) { () throws(SystemError) -> Result<Read, StorageError>? in
            do throws(SystemError) {
                let before = try status(of: descriptor)
                let (size, limit) = (before.identity.size, Self.largestFileSize)
                let objection = before.kind.objection ?? (size > limit ? "it has \(size) bytes; \(limit) are read at most" : nil)
                if let objection { return .failure(.unreadable(file: path, reason: objection)) }
                return .success((before, try self.bytes(of: descriptor, expected: Int(size)), try status(of: descriptor)))
            } catch let error where error.code == ESTALE && !isLast {
                // Another machine has replaced it, and their file server has removed it.
                return nil
            }
        }
        guard let (before, bytes, after) = try read?.get(), bytes.count == Int(before.identity.size) else { return nil }
        return (content: (bytes: bytes, identity: before.identity), isUnchanged: after.identity == before.identity)
    }

    /// The bytes of a file from its beginning, as many as expected, or one more if the file has grown.
    func bytes(of descriptor: Int32, expected size: Int) throws(SystemError) -> Data {
        // One additional byte shows growth, without following a file that keeps growing, and without a call for its end.
        let block = MemoryBlock(size: size + 1)
        var count = 0
        repeat {
            let rest = UnsafeMutableRawBufferPointer(start: block.start + count, count: block.size - count)
            let more = try uninterrupted { () throws(SystemError) in try readBytes(descriptor, rest) }
            guard more > 0 else { break }
            count += more
        } while count < size
        return block.data(count: count)
    }

    /// The bytes of an open file from an offset on, fewer if it ends before.
    func bytes(of descriptor: Int32, at offset: Int, count: Int) throws(SystemError) -> Data {
        let block = MemoryBlock(size: count)
        var filled = 0
        while filled < count {
            let rest = UnsafeMutableRawBufferPointer(start: block.start + filled, count: count - filled)
            let position = offset + filled
            let more = try uninterrupted { () throws(SystemError) in try readBytesAt(descriptor, rest, position) }
            guard more > 0 else { break }
            filled += more
        }
        return block.data(count: filled)
    }
}

// MARK: - Writing

extension FileSystemCalls {
    /// Writes the new content of a file to a temporary file beside it, and returns when it is on the medium.
    ///
    /// The new file has the owner and permissions of the old one. If there is none, only this user may access it and the folders that are
    /// created for it. A file that this user may not write, or that nobody may, is not replaced.
    ///
    /// - Parameters:
    ///   - base: the identity that the file to be replaced had when it was read; nil if there is none. The owner, permissions and data
    ///     protection of that file are set on the new one.
    ///   - protection: the data protection of the new file if there is none to be replaced.
    /// - Returns: nil if the file at the path is a different one now, or its folder had to be created first.
    func prepareReplacement(
        of target: ResolvedPath, with bytes: Data, over base: FileIdentity?, protection: FileProtection? = nil
    ) throws(StorageError) -> FileReplacement? {
        guard try !makeFolderIfMissing(of: target) else { return nil }
        try requireOwnLinks(of: target)
        let old = try writing(target.path) { () throws(SystemError) in try status(at: target) }
        if let old { try requireWritable(old, at: target) }
        guard old?.identity == base else { return nil }
        let replacement = FileReplacement(of: target, successorOf: old, over: base, protection: protection, calls: self)
        do throws(StorageError) {
            try replacement.prepare(bytes)
            return replacement
        } catch {
            replacement.discard()
            throw error
        }
    }

    /// Replaces a file whatever it contains, or creates it, without the lock of its path: for the output of a tool. Its folder has to exist.
    package func replaceFile(at path: String, with bytes: Data) throws(StorageError) {
        for _ in 0..<Self.maximumAttempts {
            let target: ResolvedPath
            do throws(StorageError) {
                let absolute = try AbsolutePath(path, calls: self)
                target = try ResolvedPath(absolute, calls: self)
                if target.openFolder == nil {
                    try requireFolders(on: absolute)
                    throw .unwritable(file: path, reason: SystemError(ENOENT).reason)
                }
            } catch {
                guard case .unreadable(_, let reason, _) = error else { throw error }
                throw .unwritable(file: path, reason: reason)
            }
            removeLeftovers(of: target)
            let base = try FileIdentity(at: target, calls: self)
            guard let replacement = try prepareReplacement(of: target, with: bytes, over: base) else { continue }
            defer { replacement.discard() }
            guard try replacement.replace() else { continue }
            _ = try replacement.finish()
            return
        }
        throw .unwritable(file: path, reason: "other writers keep changing it while it is written")
    }

    /// Creates the folder of a path; returns false if it exists, and is open already.
    func makeFolderIfMissing(of target: ResolvedPath) throws(StorageError) -> Bool {
        guard target.openFolder == nil else { return false }
        try writing(target.path, "opening the folder \(target.folder)") { () throws(SystemError) in try makeFolders(of: target) }
        return true
    }

    /// Rejects anything but a file, and a file that may not be written in place: permission to write its folder does not imply permission
    /// to change it.
    func requireWritable(_ old: FileStatus, at target: ResolvedPath) throws(StorageError) {
        if let objection = old.kind.objection ?? old.writingObjection {
            throw .unwritable(file: target.path, reason: objection)
        }
        // If it was removed just now, it is created again.
        try writing(target.path, "the file may not be written") { () throws(SystemError) in
            _ = try ifPresent { () throws(SystemError) in try checkWriting(target) }
        }
    }
}

// MARK: - Recovery after writers that died

extension FileSystemCalls {
    /// Removes the temporary files of a path whose writers died.
    ///
    /// A writer keeps its temporary file locked. One that cannot be removed remains, and does no harm.
    ///
    /// - Returns: whether there is no remaining file of this process that was in use, by another writer or by a child that has just been
    ///   forked and holds the descriptors of its parent.
    @discardableResult
    func removeLeftovers(of target: ResolvedPath) -> Bool {
        // A failure is no reason for a write to fail; the next process tries again.
        guard let folder = target.openFolder, let names = ifPossible({ () throws(SystemError) in try list(folder) }) else { return true }
        var isComplete = true
        for name in names {
            guard let process = target.process(ofTemporary: name), process == getpid() || !isRunning(process) else { continue }
            if !removeLeftover(target.sibling(name)), process == getpid() { isComplete = false }
        }
        return isComplete
    }

    /// Removes a temporary file, unless a writer has it locked; returns false if it may be in use.
    ///
    /// The process number in its name does not suffice: in another container, it may be that of a running process.
    private func removeLeftover(_ path: ResolvedPath) -> Bool {
        let isDone = ifPossible { () throws(SystemError) in
            guard try status(at: path)?.kind == .file else {
                discardFile(path)
                return true
            }
            let descriptor = try openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            // Locked until it has no name any more: a writer that has just created it cannot lock it before, and then notices.
            defer { discard(descriptor) }
            // Another user may have put another file in its place.
            guard tryLock(descriptor, otherwise: true), try isFile(descriptor, at: path) else { return false }
            discardFile(path)
            return true
        }
        return isDone ?? false
    }
}
