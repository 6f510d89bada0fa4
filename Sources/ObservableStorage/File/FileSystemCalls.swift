import Foundation

/// The system calls behind every file operation, so that a test can make any of them fail.
///
/// Each throws what the system says, `EINTR` included; `uninterrupted` tries again.
package struct FileSystemCalls: Sendable {
    var openDescriptor: @Sendable (_ path: String, _ flags: Int32, _ mode: mode_t) throws(SystemError) -> Int32
    var closeDescriptor: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Closes a file some time later, where closing is what deletes it: that takes as long as writing it.
    var closeLater: @Sendable (_ descriptor: Int32) -> Void
    /// Closes at once what was to be closed later; false if there was nothing.
    var closeWaiting: @Sendable () -> Bool
    var readBytes: @Sendable (_ descriptor: Int32, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    var writeBytes: @Sendable (_ descriptor: Int32, _ from: UnsafeRawBufferPointer) throws(SystemError) -> Int
    var truncate: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> Void
    /// Waits until the content of the file or folder is on the medium.
    var synchronize: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    var statusOfDescriptor: @Sendable (_ descriptor: Int32) throws(SystemError) -> FileStatus
    var statusOfPath: @Sendable (_ path: String, _ followsLinks: Bool) throws(SystemError) -> FileStatus
    var setOwner: @Sendable (_ descriptor: Int32, _ owner: uid_t, _ group: gid_t) throws(SystemError) -> Void
    var setPermissions: @Sendable (_ descriptor: Int32, _ permissions: mode_t) throws(SystemError) -> Void
    /// Does not follow a link in the path's last part.
    var setPermissionsOfPath: @Sendable (_ path: String, _ permissions: mode_t) throws(SystemError) -> Void
    /// Sets when an open file was modified, in nanoseconds since 1970.
    var setModificationTime: @Sendable (_ descriptor: Int32, _ time: Int64) throws(SystemError) -> Void
    var makeFolder: @Sendable (_ path: String, _ permissions: mode_t) throws(SystemError) -> Void
    var removeEmptyFolder: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Whether files may only be made in an open folder, and none renamed or removed.
    var isAppendOnly: @Sendable (_ folder: Int32, _ path: String) -> Bool
    /// Throws what writing the file in place would throw, and leaves it alone.
    var checkWriting: @Sendable (_ path: String) throws(SystemError) -> Void
    var renameFile: @Sendable (_ from: String, _ to: String) throws(SystemError) -> Void
    var removeFile: @Sendable (_ path: String) throws(SystemError) -> Void
    /// Where a symbolic link points; `EINVAL` for anything else.
    var readLink: @Sendable (_ path: String) throws(SystemError) -> String
    /// The names in a folder.
    var list: @Sendable (_ folder: String) throws -> [String]
    /// Takes the exclusive lock of an open file, or throws `EWOULDBLOCK` at once.
    package var lock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Takes the same lock as soon as those before have let go of it.
    package var awaitLock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    package var unlock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    var pause: @Sendable (_ duration: Duration) -> Void
    /// The time by the clock that time stamps of files are taken from.
    var now: @Sendable () -> Date
    var isRunning: @Sendable (_ process: pid_t) -> Bool
    /// What makes the name of a temporary file unlike any other.
    var random: @Sendable () -> UInt64
}

extension FileSystemCalls {
    /// Makes a call until no signal interrupts it.
    func uninterrupted<Result>(_ call: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        while true {
            do throws(SystemError) {
                return try call()
            } catch let error where error.code == EINTR {
                continue
            }
        }
    }

    /// The same for a call that takes a descriptor or room: if there is none left, what waits to be closed gives its own back, and the call is
    /// made once more.
    func havingRoom<Result>(_ call: () throws(SystemError) -> Result) throws(SystemError) -> Result {
        do throws(SystemError) {
            return try uninterrupted(call)
        } catch let error where error.isShortage && closeWaiting() {
            return try uninterrupted(call)
        }
    }

    /// Opens a file, closed in programs that this one starts.
    func openFile(_ path: String, _ flags: Int32, _ mode: mode_t = 0) throws(SystemError) -> Int32 {
        try havingRoom { () throws(SystemError) in try openDescriptor(path, flags | O_CLOEXEC, mode) }
    }

    /// Closes a file whose content no longer matters, or was synchronized before.
    func discard(_ descriptor: Int32) {
        do throws(SystemError) {
            try closeDescriptor(descriptor)
        } catch {
            // The system lets go of the descriptor even when it reports an error.
        }
    }

    /// The status of what is at the path itself, nothing if there is nothing.
    func status(at path: String) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            return try uninterrupted { () throws(SystemError) in try statusOfPath(path, false) }
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// The status of an open file.
    func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
        try uninterrupted { () throws(SystemError) in try statusOfDescriptor(descriptor) }
    }

    /// Writes all bytes to an open file.
    func writeAll(_ bytes: Data, to descriptor: Int32) throws(SystemError) {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in
                var rest = buffer
                while !rest.isEmpty {
                    let count = try havingRoom { () throws(SystemError) in try writeBytes(descriptor, rest) }
                    // No file does that to a write of at least a byte; going on would never end.
                    guard count > 0 else { throw SystemError(EIO) }
                    rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                }
            }
        }
        try result.get()
    }

    /// Gives a file that was just opened another content, in place.
    func overwrite(_ descriptor: Int32, with bytes: Data) throws(SystemError) {
        // Not emptied first: that would be one more state in which it is no property list.
        try writeAll(bytes, to: descriptor)
        try uninterrupted { () throws(SystemError) in try truncate(descriptor, bytes.count) }
    }

    /// Removes a file, and returns when that is on the medium.
    func removeDurably(_ path: ResolvedPath) throws(SystemError) {
        try uninterrupted { () throws(SystemError) in try removeFile(path.path) }
        let folder = try openFolder(path.folder)
        defer { discard(folder) }
        try synchronizeFolder(folder)
    }
}
