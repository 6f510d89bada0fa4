import Foundation

/// One replacement of a file by another that was written beside it.
struct FileReplacement {
    private let target: ResolvedPath
    private let old: FileStatus?
    private let calls: FileSystemCalls
    private let names: SideFileName

    /// What is being done, for the error when it fails.
    private(set) var step = ""
    /// Whether the new file stands in the target's place.
    private(set) var isInPlace = false

    // A name has 64 random bits: one that is taken is bad luck once, and something else after that.
    private static let mostNames = 8

    init(of target: ResolvedPath, successorOf old: FileStatus?, calls: FileSystemCalls) {
        self.target = target
        self.old = old
        self.calls = calls
        names = SideFileName(of: target.name)
    }

    /// Writes the bytes, puts them in the target's place, and returns the identity they have there.
    mutating func write(_ bytes: Data) throws(SystemError) -> FileIdentity {
        step = "opening the folder \(target.folder)"
        let folder = try calls.openFolder(target.folder)
        defer { calls.discard(folder) }

        let replaced = openOld()
        defer { replaced.map(calls.closeLater) }
        let temporary = try makeTemporary()
        let written: FileIdentity
        do throws(SystemError) {
            written = try fill(temporary.descriptor, with: bytes)
            step = "renaming the temporary file \(temporary.path)"
            try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, target.path) }
        } catch {
            remove(temporary.path)
            throw error
        }

        isInPlace = true
        step = "synchronizing the folder \(target.folder)"
        try calls.synchronizeFolder(folder)
        return identity(asWritten: written)
    }

    /// Keeps the file that is replaced from being deleted by the rename, which would take as long as all the rest.
    private func openOld() -> Int32? {
        guard old != nil else { return nil }
        do throws(SystemError) {
            return try calls.openFile(target.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        } catch {
            // The rename takes longer then.
            return nil
        }
    }

    private mutating func makeTemporary() throws(SystemError) -> (path: String, descriptor: Int32) {
        var namesLeft = Self.mostNames
        while true {
            let path = target.sibling(names.temporary(process: getpid(), random: calls.random()))
            step = "making the temporary file \(path)"
            do throws(SystemError) {
                return (path, try calls.openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, firstPermissions))
            } catch let error where error.code == EEXIST && namesLeft > 1 {
                namesLeft -= 1
            }
        }
    }

    /// This user's alone until the file has its owner and group, unless everybody may read it then: what need not be changed later is told to
    /// nobody who watches the folder.
    private var firstPermissions: mode_t {
        guard let old, old.permissions & 0o044 == 0o044 else { return 0o600 }
        return 0o644
    }

    /// Writes and closes the temporary file; returns its identity.
    private mutating func fill(_ descriptor: Int32, with bytes: Data) throws(SystemError) -> FileIdentity {
        let written: FileIdentity
        do throws(SystemError) {
            step = "setting the owner and permissions of the temporary file"
            try calls.setAccess(of: descriptor, to: old?.permissions ?? 0o600, successorOf: old)
            step = "writing the temporary file"
            try write(bytes, to: descriptor)
            step = "synchronizing the temporary file"
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
            written = try calls.status(of: descriptor).identity
        } catch {
            calls.discard(descriptor)
            throw error
        }
        step = "closing the temporary file"
        do throws(SystemError) {
            try calls.closeDescriptor(descriptor)
        } catch let error where error.code == EINTR {
            // It is closed all the same, and was synchronized before.
        }
        return written
    }

    private func write(_ bytes: Data, to descriptor: Int32) throws(SystemError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in try write(buffer, to: descriptor) }
        }
        try result.get()
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = try calls.havingRoom { () throws(SystemError) in try calls.writeBytes(descriptor, rest) }
            // No file does that to a write of at least a byte; going on would never end.
            guard count > 0 else { throw SystemError(EIO) }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// The identity after the rename, which has changed the inode's time.
    ///
    /// If someone else has already changed or replaced the file, or it cannot be looked at, it is the one from before the
    /// rename, which no file has: the next look shows a difference.
    private func identity(asWritten written: FileIdentity) -> FileIdentity {
        do throws(SystemError) {
            guard let now = try calls.status(at: target.path)?.identity, now.hasSameContent(as: written) else { return written }
            return now
        } catch {
            // The content is on the medium, so this is no failure to write it.
            return written
        }
    }

    private func remove(_ path: String) {
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(path) }
        } catch {
            // The error that led here is the one to report; a later process removes what is left.
        }
    }
}
