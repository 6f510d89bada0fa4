import FoundationSubset

/// The system calls of every file operation, so that tests can make each of them fail.
///
/// Each throws the system's error, `EINTR` included; ``uninterrupted(_:)`` repeats a call that was interrupted. A name in an open folder
/// is looked up there, even if the folder's path leads elsewhere meanwhile.
package struct FileSystemCalls: Sendable {
    var openDescriptor: @Sendable (_ path: ResolvedPath, _ flags: Int32, _ mode: mode_t) throws(SystemError) -> Int32
    var closeDescriptor: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Closes a file some time later, if closing deletes it, which takes as long as writing it.
    var closeLater: @Sendable (_ descriptor: Int32) -> Void
    /// Closes immediately the files to be closed later; returns false if there were none.
    var closeWaiting: @Sendable () -> Bool
    var readBytes: @Sendable (_ descriptor: Int32, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
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
    /// The status of a name in an open folder, or of an open file if the name is empty, without the times of its identity, which are 0.
    ///
    /// Once the times of a file were read, Linux gives it another one with the next write, however soon that follows; ext4 without a journal
    /// then writes the inode with each synchronization of data, which takes 135 us instead of 93.
    var untimedStatus: @Sendable (_ folder: Int32, _ name: String) throws(SystemError) -> FileStatus
    var setOwner: @Sendable (_ descriptor: Int32, _ owner: uid_t, _ group: gid_t) throws(SystemError) -> Void
    var setPermissions: @Sendable (_ descriptor: Int32, _ permissions: mode_t) throws(SystemError) -> Void
    /// Reads the access control list of an open file, and returns its size. Throws `ENODATA` if it has none beyond its mode.
    var readAccessControlList: @Sendable (_ descriptor: Int32, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    var writeAccessControlList: @Sendable (_ descriptor: Int32, _ list: AccessControlList) throws(SystemError) -> Void
    /// The number of an open file's data protection class; nil if it has none.
    var protectionClass: @Sendable (_ descriptor: Int32) -> Int32?
    var setProtectionClass: @Sendable (_ descriptor: Int32, _ number: Int32) throws(SystemError) -> Void
    /// Does not follow a link in the path's last component.
    var setPermissionsOfPath: @Sendable (_ path: ResolvedPath, _ permissions: mode_t) throws(SystemError) -> Void
    /// Sets the modification time of an open file, in nanoseconds since 1970.
    var setModificationTime: @Sendable (_ descriptor: Int32, _ time: Int64) throws(SystemError) -> Void
    /// Excludes an open file from backups, if the system and the file system support that.
    var excludeFromBackups: @Sendable (_ descriptor: Int32) -> Void
    var makeFolder: @Sendable (_ path: ResolvedPath, _ permissions: mode_t) throws(SystemError) -> Void
    var removeEmptyFolder: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    /// Whether files can only be created in an open folder, and none renamed or removed.
    var isAppendOnly: @Sendable (_ folder: Int32) -> Bool
    /// Throws the error that writing the file in place would throw, without changing it.
    var checkWriting: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    var renameFile: @Sendable (_ from: ResolvedPath, _ to: ResolvedPath) throws(SystemError) -> Void
    var removeFile: @Sendable (_ path: ResolvedPath) throws(SystemError) -> Void
    /// Reads the target of a symbolic link, truncated to the buffer, and returns its length; throws `EINVAL` for anything else.
    var readLink: @Sendable (_ path: ResolvedPath, _ into: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int
    /// The path of the working folder; throws `EILSEQ` if it is not UTF-8.
    var workingFolder: @Sendable () throws(SystemError) -> String
    /// The names in a folder, without those that are not UTF-8. Foundation takes several times as long.
    var list: @Sendable (_ folder: OpenFolder) throws(SystemError) -> [String]
    /// Reserves space for an empty file, filled with zeros.
    var reserve: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> Void
    /// Maps an empty file, shared with all processes, but not with forked children, and makes its pages writable.
    var map: @Sendable (_ descriptor: Int32, _ size: Int) throws(SystemError) -> UnsafeMutableRawPointer
    var unmap: @Sendable (_ start: UnsafeMutableRawPointer, _ size: Int) -> Void
    /// The reason why the file system of an open file is not known to keep mapped files as written; nil if it is.
    var mappingObjection: @Sendable (_ descriptor: Int32) throws(SystemError) -> String?
    /// Takes the exclusive lock of an open file, or throws `EWOULDBLOCK` if it is held.
    package var lock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Takes a shared lock of an open file, or throws `EWOULDBLOCK` if somebody has the exclusive one.
    var lockShared: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    /// Takes the exclusive lock of an open file, and waits for it.
    package var awaitLock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    package var unlock: @Sendable (_ descriptor: Int32) throws(SystemError) -> Void
    package var pause: @Sendable (_ duration: Duration) -> Void
    /// The time of the clock with which timestamps of files are compared.
    var now: @Sendable () -> Date
    var isRunning: @Sendable (_ process: pid_t) -> Bool
    /// A number that makes the name of a temporary file unique.
    var random: @Sendable () -> UInt64
    /// The clock by which waiting is limited.
    var uptime: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Identifies the run of the system; 0 if that is not known.
    var boot = bootIdentifier
    /// What the system allows, depending on where a file is.
    var rules = SystemRules.ofProcess
}

/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable {
    /// The value of `errno`.
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    var reason: String { String(cString: strerror(code)) }

    /// The system's own description, and the operation that failed, if it is given.
    func reason(_ step: String?) -> String {
        step.map { "\(reason) (\($0))" } ?? reason
    }

    var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether no descriptor or space was left, which closing files may free.
    var isShortage: Bool { [EMFILE, ENFILE, ENOSPC, EDQUOT].contains(code) }

    /// Whether this user or this file system is denied the call, regardless of the number of attempts.
    var isDenied: Bool { [EPERM, EACCES, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(code) }
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

    /// Makes a call for a file; returns nil if it is missing.
    func ifPresent<Result>(_ call: () throws(SystemError) -> Result) throws(SystemError) -> Result? {
        do throws(SystemError) {
            return try uninterrupted(call)
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Makes a call that may fail without harm; returns nil if it does.
    @discardableResult
    func ifPossible<Result>(_ call: () throws(SystemError) -> Result) -> Result? {
        do throws(SystemError) {
            return try uninterrupted(call)
        } catch {
            return nil
        }
    }
}

// MARK: - Errors of files

extension FileSystemCalls {
    /// Runs system calls that read a file; their error becomes ``StorageError/unreadable(file:reason:edits:)``.
    ///
    /// - Parameter step: the operation, if the system's description of the error does not suffice.
    func reading<Result>(
        _ file: @autoclosure () -> String, _ step: @autoclosure () -> String? = nil, _ body: () throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .unreadable(file: file(), reason: error.reason(step()))
        }
    }

    /// Runs system calls that write a file; their error becomes ``StorageError/unwritable(file:reason:edits:)``.
    ///
    /// - Parameter step: the operation, if the system's description of the error does not suffice.
    func writing<Result>(
        _ file: @autoclosure () -> String, _ step: @autoclosure () -> String? = nil, _ body: () throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .unwritable(file: file(), reason: error.reason(step()))
        }
    }
}
