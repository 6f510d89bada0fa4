import Dispatch
import Foundation

extension FileSystemCalls {
    /// The system's own.
    package static let live = FileSystemCalls(
        openDescriptor: { path, flags, mode throws(SystemError) in try call(path) { open($0, flags, mode) } },
        closeDescriptor: { descriptor throws(SystemError) in try call { close(descriptor) } },
        closeLater: { descriptor in closer.closeLater(descriptor) },
        closeWaiting: { closer.closeWaiting() },
        readBytes: { descriptor, buffer throws(SystemError) in try call { read(descriptor, buffer.baseAddress, buffer.count) } },
        writeBytes: { descriptor, buffer throws(SystemError) in try call { write(descriptor, buffer.baseAddress, buffer.count) } },
        truncate: { descriptor, size throws(SystemError) in try call { ftruncate(descriptor, off_t(size)) } },
        synchronize: { descriptor throws(SystemError) in try call { synchronizeToMedium(descriptor) } },
        statusOfDescriptor: { descriptor throws(SystemError) in
            var status = stat()
            try call { fstat(descriptor, &status) }
            return FileStatus(status)
        },
        statusOfPath: { path, followsLinks throws(SystemError) in
            var status = stat()
            try call(path) { followsLinks ? stat($0, &status) : lstat($0, &status) }
            return FileStatus(status)
        },
        setOwner: { descriptor, owner, group throws(SystemError) in try call { fchown(descriptor, owner, group) } },
        setPermissions: { descriptor, permissions throws(SystemError) in try call { fchmod(descriptor, permissions) } },
        setPermissionsOfPath: { path, permissions throws(SystemError) in
            try call(path) { fchmodat(AT_FDCWD, $0, permissions, AT_SYMLINK_NOFOLLOW) }
        },
        setModificationTime: { descriptor, time throws(SystemError) in
            let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
            let times = [timespec(tv_sec: 0, tv_nsec: omittedTime), timespec(tv_sec: time_t(seconds), tv_nsec: Int(nanoseconds))]
            try call { futimens(descriptor, times) }
        },
        makeFolder: { path, permissions throws(SystemError) in try call(path) { mkdir($0, permissions) } },
        removeEmptyFolder: { path throws(SystemError) in try call(path) { rmdir($0) } },
        isAppendOnly: { folder, path in isAppendOnlyFolder(folder, path: path) },
        checkWriting: { path throws(SystemError) in try call(path) { faccessat(AT_FDCWD, $0, W_OK, AT_EACCESS) } },
        renameFile: { from, to throws(SystemError) in try call(from) { rename($0, to) } },
        removeFile: { path throws(SystemError) in try call(path) { unlink($0) } },
        readLink: { path throws(SystemError) in try target(ofLink: path) },
        list: { folder in try FileManager.default.contentsOfDirectory(atPath: folder) },
        lock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_EX | LOCK_NB) } },
        awaitLock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_EX) } },
        unlock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_UN) } },
        pause: { duration in sleep(for: duration) },
        now: { Date() },
        isRunning: { process in kill(process, 0) == 0 || errno != ESRCH },
        random: { UInt64.random(in: .min ... .max) }
    )
}

private let closer = LaterCloser(
    queue: DispatchQueue(label: "ObservableStorage.closing", qos: .utility), delay: .milliseconds(10), mostWaiting: 16
) { close($0) }

@discardableResult
private func call<Result: SignedInteger>(_ body: () -> Result) throws(SystemError) -> Result {
    let result = body()
    guard result >= 0 else { throw SystemError(errno) }
    return result
}

@discardableResult
private func call<Result: SignedInteger>(_ path: String, _ body: (UnsafePointer<CChar>) -> Result) throws(SystemError) -> Result {
    // C would take the path to end there, and another file for the one that is meant.
    guard !path.utf8.contains(0) else { throw SystemError(EINVAL) }
    // The error is read before the string's memory is given back, which might set another.
    let (result, code) = path.withCString { path in
        let result = body(path)
        return (result, result < 0 ? errno : 0)
    }
    guard result >= 0 else { throw SystemError(code) }
    return result
}

private func target(ofLink path: String) throws(SystemError) -> String {
    let buffer = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Int(PATH_MAX))
    defer { buffer.deallocate() }
    let count = try call(path) { path in buffer.baseAddress.map { readlink(path, $0, buffer.count) } ?? 0 }
    guard count < buffer.count else { throw SystemError(ENAMETOOLONG) }
    let bytes = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])
    // A path that is not Unicode has no String, and must not be mistaken for another one.
    guard let target = String(validating: bytes, as: UTF8.self) else { throw SystemError(EILSEQ) }
    return target
}

private func sleep(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(tv_sec: time_t(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
}
