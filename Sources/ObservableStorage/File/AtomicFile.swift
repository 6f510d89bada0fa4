import Foundation

/// Reading and replacing whole files so that nobody ever sees a part of one.
///
/// Nothing here takes the ``FileLock`` of the path, which a writer holds so as not to undo another one's work.
package enum AtomicFile {
    /// The largest file that is read, in bytes: larger than any property list, and small enough not to exhaust the memory.
    package static let largestSize = 1 << 30
}

// MARK: - Reading

extension AtomicFile {
    private static let mostAttempts = 20

    /// Reads a whole file, with the identity of exactly what was read; nil if there is no file.
    ///
    /// A file that changes meanwhile is read again, for some tens of milliseconds. Only regular files are read: reading never waits for the
    /// other end of a pipe.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)``
    static func read(path: String, calls: FileSystemCalls = .live) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        for attempt in 0..<mostAttempts {
            if attempt > 0 {
                calls.pause(.milliseconds(2))
            }
            guard let descriptor = try open(path, calls: calls) else { return nil }
            defer { calls.discard(descriptor) }
            if let content = try content(of: descriptor, path: path, calls: calls) {
                return content
            }
        }
        throw .unreadable(file: path, reason: "it keeps changing while it is read")
    }

    private static func open(_ path: String, calls: FileSystemCalls) throws(StorageError) -> Int32? {
        do throws(SystemError) {
            // Without O_NONBLOCK, opening a pipe would wait for its writer.
            return try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        } catch let error where error.isMissing {
            return nil
        } catch {
            throw .unreadable(file: path, reason: objection(to: path, calls: calls) ?? error.reason)
        }
    }

    /// Why a path cannot be opened, if the type of the file says more than the system's error.
    private static func objection(to path: String, calls: FileSystemCalls) -> String? {
        do throws(SystemError) {
            return try calls.status(at: path, followsLinks: true)?.kind.objection
        } catch {
            // The first error is the one to report.
            return nil
        }
    }

    /// The content of an open file; nil if it changed while it was read.
    private static func content(
        of descriptor: Int32, path: String, calls: FileSystemCalls
    ) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        let before = try reading(path) { () throws(SystemError) in try calls.status(of: descriptor) }
        if let objection = before.kind.objection {
            throw .unreadable(file: path, reason: objection)
        }
        guard before.identity.size <= largestSize else {
            throw .unreadable(file: path, reason: "it has \(before.identity.size) bytes; \(largestSize) are read at most")
        }
        let size = Int(before.identity.size)
        let bytes = try reading(path) { () throws(SystemError) in try Self.bytes(of: descriptor, expected: size, calls: calls) }
        let after = try reading(path) { () throws(SystemError) in try calls.status(of: descriptor) }
        return bytes.count == size && after.identity == before.identity ? (bytes, before.identity) : nil
    }

    /// The bytes of a file from its beginning, as many as were expected, or one more if it has grown.
    private static func bytes(of descriptor: Int32, expected size: Int, calls: FileSystemCalls) throws(SystemError) -> Data {
        // One byte more shows growth, without following a file that keeps growing, and without a call for its end.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 1, alignment: 16)
        var count = 0
        do throws(SystemError) {
            repeat {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let more = try calls.uninterrupted { () throws(SystemError) in try calls.readBytes(descriptor, rest) }
                guard more > 0 else { break }
                count += more
            } while count < size
        } catch {
            buffer.deallocate()
            throw error
        }
        guard let start = buffer.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in start.deallocate() })
    }

    private static func reading<Result>(
        _ path: String, _ body: () throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .unreadable(file: path, reason: error.reason)
        }
    }
}

// MARK: - Writing

extension AtomicFile {
    /// Writes the new content of a file to a temporary file beside it, and returns when it is on the medium.
    ///
    /// The new file has the owner and permissions of the old one. If there is none, only this user may access it and the folders that are
    /// created for it. A file that this user may not write, or that nobody may, is not replaced.
    ///
    /// - Parameter base: the identity of the file that is to be replaced when it was read; nil for none. The new file gets the owner and
    ///   permissions of that file.
    /// - Returns: nil if the file is not that one any more.
    static func prepare(
        _ bytes: Data, for target: ResolvedPath, over base: FileIdentity?, calls: FileSystemCalls = .live
    ) throws(StorageError) -> FileReplacement? {
        let old: FileStatus?
        do throws(SystemError) {
            old = try calls.status(at: target.path)
        } catch {
            throw .unwritable(file: target.path, reason: error.reason)
        }
        if let old { try requireWritable(old, at: target, calls: calls) }
        guard old?.identity == base else { return nil }
        let replacement = FileReplacement(of: target, successorOf: old, over: base, calls: calls)
        do throws(StorageError) {
            try replacement.prepare(bytes)
            return replacement
        } catch {
            replacement.discard()
            throw error
        }
    }

    /// Rejects anything but a file, and a file that may not be written in place: permission to write its folder is not permission to change
    /// it.
    private static func requireWritable(
        _ old: FileStatus, at target: ResolvedPath, calls: FileSystemCalls
    ) throws(StorageError) {
        if let objection = old.kind.objection ?? old.writingObjection {
            throw .unwritable(file: target.path, reason: objection)
        }
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.checkWriting(target.path) }
        } catch let error where error.isMissing {
            // It was removed just now, and is created anew.
        } catch {
            throw .unwritable(file: target.path, reason: "\(error.reason) (the file may not be written)")
        }
    }
}

// MARK: - After writers that died

extension AtomicFile {
    /// Completes what a writer began that died while it wrote a file in place: writes the content of the copy into the file, and removes the
    /// copy.
    ///
    /// Called under the path's lock. The copy has the file's owner and permissions; one that has not was made by somebody else.
    static func restore(_ target: ResolvedPath, from copy: ResolvedPath, calls: FileSystemCalls = .live) throws(StorageError) {
        let saved: FileStatus?
        let old: FileStatus?
        do throws(SystemError) {
            saved = try calls.status(at: copy.path)
            old = try calls.status(at: target.path)
        } catch {
            throw .unreadable(file: target.path, reason: error.reason)
        }
        guard let saved, let old, old.kind == .file else { return }
        guard saved.kind == .file, saved.links == 1, saved.hasSameAccess(as: old) else {
            let reason = "the copy \(copy.path) that it should be restored from does not have its owner and permissions; move that away"
            throw .unreadable(file: target.path, reason: reason)
        }
        guard let (bytes, _) = try read(path: copy.path, calls: calls) else { return }
        do throws(SystemError) {
            let descriptor = try calls.openFile(target.path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { calls.discard(descriptor) }
            try calls.overwrite(descriptor, with: bytes)
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
            try calls.removeDurably(copy)
        } catch {
            throw .unwritable(file: target.path, reason: "\(error.reason) (restoring it from \(copy.path))")
        }
    }

    /// Removes the temporary files of a path whose writers died.
    ///
    /// A writer keeps its temporary file locked. One that cannot be removed stays, and does no harm.
    ///
    /// - Returns: whether no file of this process is left that was in use, by another writer or by a child that has just been forked and holds
    ///   the descriptors of its parent.
    @discardableResult
    static func removeLeftovers(of target: ResolvedPath, calls: FileSystemCalls = .live) -> Bool {
        var isComplete = true
        do {
            let names = SidecarNames(of: target.name)
            for name in try calls.list(target.folder) {
                guard let process = names.process(ofTemporary: name), process == getpid() || !calls.isRunning(process) else { continue }
                let path = target.sibling(name)
                if !isInUse(path, calls: calls) {
                    calls.discardFile(path)
                } else if process == getpid() {
                    isComplete = false
                }
            }
        } catch {
            // Not a reason for a write to fail; the next process tries again.
        }
        return isComplete
    }

    /// Whether a writer has a temporary file locked, or that cannot be determined: in another container, the number in its name may be that of
    /// a running process.
    private static func isInUse(_ path: String, calls: FileSystemCalls) -> Bool {
        do throws(SystemError) {
            guard try calls.status(at: path)?.kind == .file else { return false }
            let descriptor = try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            // A writer that is about to lock it notices that it has no name any more.
            defer { calls.discard(descriptor) }
            return !calls.tryLock(descriptor, otherwise: true)
        } catch {
            return true
        }
    }
}
