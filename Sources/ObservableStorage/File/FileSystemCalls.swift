import FoundationSubset

/// The system calls of every file operation, so that tests can make each of them fail.
///
/// Each throws the system's error, `EINTR` included; ``uninterrupted(_:)`` repeats a call that was interrupted. A name in a folder that is
/// open is looked up there, whatever the folder's path leads to meanwhile.
package struct FileSystemCalls: Sendable {
    var openDescriptor: @Sendable (_ path: ResolvedPath, _ flags: Int32, _ mode: mode_t) throws(SystemError) -> Int32
    var closeDescriptor: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Closes a file some time later, if closing deletes it, which takes as long as writing it.
    var closeLater: @Sendable (_ descriptor: Int32) -> Void
    /// Closes immediately the files to be closed later; returns false if there were none.
    var closeWaiting: @Sendable () -> Bool
    var readBytes: @Sendable (_ descriptor: Int32, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    /// Makes the next read start at the beginning.
    var rewind: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    var writeBytes: @Sendable (_ descriptor: Int32, _ from: UnsafeRawBufferPointer) throws(SystemError) -> Int
    var readBytesAt: @Sendable (_ descriptor: Int32, _ into: UnsafeMutableRawBufferPointer, _ offset: Int) throws(SystemError) -> Int
    var writeBytesAt: @Sendable (_ descriptor: Int32, _ from: UnsafeRawBufferPointer, _ offset: Int) throws(SystemError) -> Int
    var truncate: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> Void
    /// Waits until a file or folder has been written to the medium.
    var synchronize: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Waits until the content of a file has been written to the medium, and its size.
    var synchronizeData: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    var statusOfDescriptor: @Sendable (_ descriptor: Int32) throws(SystemError) -> FileStatus
    var statusOfPath: @Sendable (_ path: ResolvedPath, _ followsLinks: Bool) throws(SystemError) -> FileStatus
    var setOwner: @Sendable (_ descriptor: Int32, _ owner: uid_t, _ group: gid_t) throws(SystemError) -> Void
    var setPermissions: @Sendable (_ descriptor: Int32, _ permissions: mode_t) throws(SystemError) -> Void
    /// The number of an open file's data protection class; nil if it has none.
    var protectionClass: @Sendable (_ descriptor: Int32) -> Int32?
    var setProtectionClass: @Sendable (_ descriptor: Int32, _ number: Int32) throws(SystemError) -> Void
    /// Does not follow a link in the path's last component.
    var setPermissionsOfPath: @Sendable (_ path: ResolvedPath, _ permissions: mode_t) throws(SystemError) -> Void
    /// Sets the modification time of an open file, in nanoseconds since 1970.
    var setModificationTime: @Sendable (_ descriptor: Int32, _ time: Int64) throws(SystemError) -> Void
    /// Keeps an open file out of backups, where the system has a way and the file system knows it.
    var excludeFromBackups: @Sendable (_ descriptor: Int32) -> Void
    var makeFolder: @Sendable (_ path: ResolvedPath, _ permissions: mode_t) throws(SystemError) -> Void
    var removeEmptyFolder: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    /// Whether files can only be created in an open folder, and none renamed or removed.
    var isAppendOnly: @Sendable (_ folder: Int32, _ path: String) -> Bool
    /// Throws the error that writing the file in place would throw, without changing it.
    var checkWriting: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    var renameFile: @Sendable (_ from: ResolvedPath, _ to: ResolvedPath) throws(SystemError) -> Void
    var removeFile: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    /// Reads the target of a symbolic link, truncated to the buffer, and returns its length; throws `EINVAL` for anything else.
    var readLink: @Sendable (_ path: ResolvedPath, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    /// The path of the working folder; throws `EILSEQ` if it is not UTF-8.
    var workingFolder: @Sendable () throws(SystemError) -> String
    /// The names in a folder, without those that are not UTF-8; not read by Foundation, which takes several times as long.
    var list: @Sendable (_ folder: OpenFolder) throws(SystemError) -> [String]
    /// Reserves space for an empty file, of which all bytes are zero.
    var reserve: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> Void
    /// Maps an empty file, shared with all processes, but not with forked children, and makes its pages writable.
    var map: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> UnsafeMutableRawPointer
    var unmap: @Sendable (_ start: UnsafeMutableRawPointer, _ size: Int) -> Void
    /// The reason why the file system of an open file is not known to keep mapped files as written; nil if it is.
    var mappingObjection: @Sendable (_ descriptor: Int32) throws(SystemError) -> String?
    /// Takes the exclusive lock of an open file, or throws `EWOULDBLOCK` if it is held.
    package var lock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Takes the exclusive lock of an open file, and waits for it.
    package var awaitLock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    package var unlock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    package var pause: @Sendable (_ duration: Duration) -> Void
    /// The time of the clock with which timestamps of files are compared.
    var now: @Sendable () -> Date
    var isRunning: @Sendable (_ process: pid_t) -> Bool
    /// A number that makes the name of a temporary file unique.
    var random: @Sendable () -> UInt64
    /// Identifies the run of the system; 0 if that is not known.
    var boot = bootIdentifier
    /// What the system allows because of the place of a file.
    var rules = SystemRules.ofProcess
}

/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable {
    /// The value of `errno`.
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    /// The system's own description.
    var reason: String {
        String(cString: strerror(code))
    }

    /// Whether there is no file at the path.
    var isMissing: Bool {
        code == ENOENT || code == ENOTDIR
    }

    /// Whether no descriptor or space was left, which closing files may free.
    var isShortage: Bool {
        [EMFILE, ENFILE, ENOSPC, EDQUOT].contains(code)
    }

    /// Whether this user or this file system is denied the call, regardless of the number of attempts.
    var isDenied: Bool {
        [EPERM, EACCES, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(code)
    }
}

// MARK: - Repeating calls

extension FileSystemCalls {
    /// Repeats a call while signals interrupt it.
    func uninterrupted<Result>(_ call: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        while true {
            do throws(SystemError) {
                return try call()
            } catch let error where error.code == EINTR {
                continue
            }
        }
    }

    /// Makes a call that needs a descriptor or space: if none is left, closes the files to be closed later, and makes it once more.
    func havingRoom<Result>(_ call: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        do throws(SystemError) {
            return try uninterrupted(call)
        } catch let error where error.isShortage && closeWaiting() {
            return try uninterrupted(call)
        }
    }

    /// Makes a call; returns false if this user or this file system is denied it.
    @discardableResult
    func ifAllowed(_ call: () throws(SystemError) -> Void) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try uninterrupted(call)
            return true
        } catch let error where error.isDenied {
            return false
        }
    }
}

// MARK: - Status

extension FileSystemCalls {
    // Each attempt fails because the link was replaced between two calls.
    private static let maximumLookups = 64

    /// The status of the file at a path; nil if there is none. A link in the last component is only followed on request.
    func status(at path: ResolvedPath, followsLinks: Bool = false) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            return try uninterrupted { () throws(SystemError) in try statusOfPath(path, followsLinks) }
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// The status of the file at a path; nil if there is none, or it cannot be asked.
    func statusOrNil(at path: ResolvedPath) -> FileStatus? {
        do throws(SystemError) {
            return try status(at: path)
        } catch {
            return nil
        }
    }

    /// The status of an open file.
    func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
        try uninterrupted { () throws(SystemError) in try statusOfDescriptor(descriptor) }
    }

    /// The status of the file at a path itself, with the target of a symbolic link; nil if there is none.
    func entry(at path: ResolvedPath) throws(SystemError) -> (status: FileStatus, target: String?)? {
        for _ in 0..<Self.maximumLookups {
            guard let status = try status(at: path) else { return nil }
            guard status.kind == .link else { return (status, nil) }
            do throws(SystemError) {
                return (status, try target(ofLink: path))
            } catch let error where error.code == EINVAL || error.isMissing {
                continue
            }
        }
        throw SystemError(EBUSY)
    }

    private func target(ofLink path: ResolvedPath) throws(SystemError) -> String {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(PATH_MAX), alignment: 1)
        defer { buffer.deallocate() }
        let count = try uninterrupted { () throws(SystemError) in try readLink(path, buffer) }
        // The system truncates without an error, and the beginning of a path leads to another file.
        guard count < buffer.count else { throw SystemError(ENAMETOOLONG) }
        return try Self.text(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// The text of a path; throws `EILSEQ` if it is not UTF-8, because it must not be confused with another path.
    static func text(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw SystemError(EILSEQ) }
        return text
    }
}

// MARK: - Files

extension FileSystemCalls {
    /// Opens a file, which is closed in programs that this process starts.
    func openFile(_ path: ResolvedPath, _ flags: Int32, _ mode: mode_t = 0) throws(SystemError) -> Int32 {
        try havingRoom { () throws(SystemError) in try openDescriptor(path, flags | O_CLOEXEC, mode) }
    }

    /// Closes a file whose content no longer matters, or has been synchronized.
    func discard(_ descriptor: Int32) {
        do throws(SystemError) {
            try closeDescriptor(descriptor)
        } catch {
            // The system closes the descriptor even if it reports an error.
        }
    }

    /// Removes a file whose removal may fail, because another error is reported or the file does no harm; returns false if it fails.
    @discardableResult
    func discardFile(_ path: ResolvedPath) -> Bool {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try removeFile(path) }
            return true
        } catch {
            return false
        }
    }

    /// Takes the exclusive lock of an open file; returns false if it is held.
    func tryLock(_ descriptor: Int32) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try lock(descriptor) }
            return true
        } catch let error where error.code == EWOULDBLOCK {
            return false
        }
    }

    /// Takes the exclusive lock of an open file; returns false if it is held, and `otherwise` if locks are not supported.
    func tryLock(_ descriptor: Int32, otherwise: Bool) -> Bool {
        do throws(SystemError) {
            return try tryLock(descriptor)
        } catch {
            return otherwise
        }
    }

    /// Releases the lock of an open file.
    func releaseLock(_ descriptor: Int32) {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try unlock(descriptor) }
        } catch {
            // Closing the file releases it as well.
        }
    }

    /// Writes all bytes to an open file, from an offset on, or after what was written before.
    func writeAll(_ bytes: Data, to descriptor: Int32, at offset: Int? = nil) throws(SystemError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in
                var written = 0
                while written < buffer.count {
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                    let position = offset.map { $0 + written }
                    let count = try havingRoom { () throws(SystemError) in
                        if let position { try writeBytesAt(descriptor, rest, position) } else { try writeBytes(descriptor, rest) }
                    }
                    // No file returns that for a write of at least one byte; repeating it would never end.
                    guard count > 0 else { throw SystemError(EIO) }
                    written += count
                }
            }
        }
        try result.get()
    }

    /// Replaces the content of a file that was just opened, in place.
    func overwrite(_ descriptor: Int32, with bytes: Data) throws(SystemError) {
        // Not truncated first: that would be another state in which it is not a property list.
        try writeAll(bytes, to: descriptor)
        try uninterrupted { () throws(SystemError) in try truncate(descriptor, bytes.count) }
    }

    /// Removes a file, and returns when that has been written to the medium.
    func removeDurably(_ path: ResolvedPath) throws(SystemError) {
        try uninterrupted { () throws(SystemError) in try removeFile(path) }
        try synchronizeFolder(of: path)
    }

    /// Sets the permissions of an empty file that was just created, regardless of the umask.
    ///
    /// As the replacement of another file it also gets that file's owner and group, as far as this user may set them. If the group cannot
    /// be set, group and others get only the permissions that both had, so that no user gains access.
    func setAccess(of descriptor: Int32, to permissions: mode_t, successorOf old: FileStatus?) throws(SystemError) {
        let own = try status(of: descriptor)
        var permissions = permissions
        if let old, try !setOwner(of: descriptor, own, like: old) {
            permissions = FileStatus.commonPermissions(permissions)
        }
        guard own.permissions != permissions else { return }
        // A file system without permissions denies this; they were determined when it was mounted.
        try ifAllowed { () throws(SystemError) in try setPermissions(descriptor, permissions) }
    }

    /// Sets another file's owner and group, or the group alone; returns false if neither is permitted.
    private func setOwner(of descriptor: Int32, _ own: FileStatus, like old: FileStatus) throws(SystemError) -> Bool {
        guard (own.owner, own.group) != (old.owner, old.group) else { return true }
        if try ifAllowed({ () throws(SystemError) in try setOwner(descriptor, old.owner, old.group) }) || own.group == old.group {
            return true
        }
        return try ifAllowed { () throws(SystemError) in try setOwner(descriptor, .max, old.group) }
    }
}
