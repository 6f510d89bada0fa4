package import Dispatch
import FoundationSubset

extension FileSystemCalls {
    /// The system's own calls.
    package static let live = FileSystemCalls(
        openDescriptor: { path, flags, mode throws(SystemError) in try call(path) { openat($0, $1, flags, mode) } },
        closeDescriptor: { descriptor throws(SystemError) in try call { close(descriptor) } },
        closeLater: { descriptor in closer.closeLater(descriptor) },
        closeWaiting: { closer.closeWaiting() },
        readBytes: { descriptor, buffer throws(SystemError) in try call { read(descriptor, buffer.baseAddress, buffer.count) } },
        writeBytes: { descriptor, buffer throws(SystemError) in try call { write(descriptor, buffer.baseAddress, buffer.count) } },
        readBytesAt: { descriptor, buffer, offset throws(SystemError) in
            try call { pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
        },
        writeBytesAt: { descriptor, buffer, offset throws(SystemError) in
            try call { pwrite(descriptor, buffer.baseAddress, buffer.count, off_t(offset)) }
        },
        truncate: { descriptor, size throws(SystemError) in try call { ftruncate(descriptor, off_t(size)) } },
        synchronize: { descriptor throws(SystemError) in try call { synchronizeToMedium(descriptor) } },
        synchronizeData: { descriptor throws(SystemError) in try call { synchronizeDataToMedium(descriptor) } },
        statusOfDescriptor: { descriptor throws(SystemError) in
            var status = stat()
            try call { fstat(descriptor, &status) }
            return FileStatus(status)
        },
        statusOfPath: { path, followsLinks throws(SystemError) in
            var status = stat()
            try call(path) { fstatat($0, $1, &status, followsLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
            return FileStatus(status)
        },
        untimedStatus: { folder, name throws(SystemError) in
            var status = stat()
            try call(folder, name) { readUntimedStatus($0, $1, &status) }
            return FileStatus(status, isTimed: false)
        },
        setOwner: { descriptor, owner, group throws(SystemError) in try call { fchown(descriptor, owner, group) } },
        setPermissions: { descriptor, permissions throws(SystemError) in try call { fchmod(descriptor, permissions) } },
        readAccessControlList: { descriptor, buffer throws(SystemError) in try call { getAccessControlList(of: descriptor, buffer) } },
        writeAccessControlList: { descriptor, list throws(SystemError) in
            _ = try call { list.bytes.withUnsafeBytes { setAccessControlList(of: descriptor, $0) } }
        },
        protectionClass: { descriptor in readProtectionClass(of: descriptor) },
        setProtectionClass: { descriptor, number throws(SystemError) in try call { changeProtectionClass(of: descriptor, to: number) } },
        setPermissionsOfPath: { path, permissions throws(SystemError) in
            try call(path) { fchmodat($0, $1, permissions, AT_SYMLINK_NOFOLLOW) }
        },
        setModificationTime: { descriptor, time throws(SystemError) in
            let (seconds, nanoseconds) = time.quotientAndRemainder(dividingBy: 1_000_000_000)
            let times = [timespec(tv_sec: 0, tv_nsec: omittedTime), timespec(tv_sec: time_t(clamping: seconds), tv_nsec: Int(nanoseconds))]
            try call { futimens(descriptor, times) }
        },
        excludeFromBackups: { descriptor in excludeFileFromBackups(descriptor) },
        makeFolder: { path, permissions throws(SystemError) in try call(path) { mkdirat($0, $1, permissions) } },
        removeEmptyFolder: { path throws(SystemError) in try call(path) { unlinkat($0, $1, AT_REMOVEDIR) } },
        isAppendOnly: { folder in isAppendOnlyFolder(folder) },
        checkWriting: { path throws(SystemError) in try call(path) { faccessat($0, $1, W_OK, AT_EACCESS) } },
        renameFile: { from, to throws(SystemError) in
            var failure: SystemError?
            try call(from) { folder, name in
                do throws(SystemError) {
                    return try call(to) { renameat(folder, name, $0, $1) }
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { throw failure }
        },
        removeFile: { path throws(SystemError) in try call(path) { unlinkat($0, $1, 0) } },
        readLink: { path, buffer throws(SystemError) in
            try call(path) { folder, name in
                buffer.withMemoryRebound(to: CChar.self) { target in
                    target.baseAddress.map { readlinkat(folder, name, $0, target.count) } ?? 0
                }
            }
        },
        workingFolder: { () throws(SystemError) in try pathOfWorkingFolder() },
        list: { folder throws(SystemError) in try names(in: folder) },
        reserve: { descriptor, size throws(SystemError) in
            try requirePermitted(size: size)
            let code = reserveSpace(of: descriptor, size: size)
            guard code == 0 else { throw SystemError(code) }
        },
        map: { descriptor, size throws(SystemError) in
            guard let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
                throw SystemError(errno)
            }
            guard keepFromChildren(start, size: size) == 0 else {
                let code = errno
                munmap(start, size)
                throw SystemError(code)
            }
            touchPages(start, size: size)
            return start
        },
        unmap: { start, size in _ = munmap(start, size) },
        mappingObjection: { descriptor throws(SystemError) in
            var status = stat()
            try call { fstat(descriptor, &status) }
            return ObservableStorage.mappingObjection(of: descriptor, device: UInt64(truncatingIfNeeded: status.st_dev))
        },
        lock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_EX | LOCK_NB) } },
        lockShared: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_SH | LOCK_NB) } },
        awaitLock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_EX) } },
        unlock: { descriptor throws(SystemError) in try call { flock(descriptor, LOCK_UN) } },
        pause: { duration in sleep(for: duration) },
        now: { Date() },
        isRunning: { process in kill(process, 0) == 0 || errno != ESRCH },
        random: { UInt64.random(in: .min ... .max) }
    )
}

private let closer = DeferredCloser(
    queue: DispatchQueue(label: "ObservableStorage.DeferredCloser", qos: .utility), delay: .milliseconds(10), maximumWaiting: 16
) { close($0) }

@discardableResult
private func call<Result: SignedInteger>(_ body: () -> Result) throws(SystemError) -> Result {
    let result = body()
    guard result >= 0 else { throw SystemError(errno) }
    return result
}

/// Makes a call with a folder and a path that starts there; `AT_FDCWD` and an absolute path, if the folder of the path is not open.
@discardableResult
private func call<Result: SignedInteger>(
    _ path: ResolvedPath, _ body: (_ folder: Int32, _ path: UnsafePointer<CChar>) -> Result
) throws(SystemError) -> Result {
    try call(path.openFolder?.descriptor ?? AT_FDCWD, path.openFolder == nil ? path.path : path.name, body)
}

@discardableResult
private func call<Result: SignedInteger>(
    _ folder: Int32, _ text: String, _ body: (_ folder: Int32, _ path: UnsafePointer<CChar>) -> Result
) throws(SystemError) -> Result {
    // errno is read before the string's memory is freed, which might change it.
    let (result, code) = text.withCString { bytes -> (Result, Int32) in
        // C would treat a NUL as the end of the path, and open another file.
        guard strlen(bytes) == text.utf8.count else { return (-1, EINVAL) }
        let result = body(folder, bytes)
        return (result, result < 0 ? errno : 0)
    }
    guard result >= 0 else { throw SystemError(code) }
    return result
}

/// Writes to each page of a mapping of an empty file: the first write to a page takes as long as ten edits, and may wait for the disk.
private func touchPages(_ start: UnsafeMutableRawPointer, size: Int) {
    for offset in stride(from: 0, to: size, by: Int(getpagesize())) { start.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self) }
}

private func names(in open: OpenFolder) throws(SystemError) -> [String] {
    // The descriptor of the folder itself only serves to look names up.
    let descriptor = openat(open.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError(errno) }
    guard let folder = fdopendir(descriptor) else {
        let code = errno
        close(descriptor)
        throw SystemError(code)
    }
    defer { closedir(folder) }
    var names: [String] = []
    while true {
        errno = 0
        guard let entry = readdir(folder) else {
            // Also after an error, which must not look like the end.
            let code = errno
            guard code == 0 else { throw SystemError(code) }
            return names
        }
        let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
            name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: entry.pointee.d_name)) {
                String(validatingCString: $0)
            }
        }
        if let name, name != ".", name != ".." { names.append(name) }
    }
}

private func pathOfWorkingFolder() throws(SystemError) -> String {
    guard let path = getcwd(nil, 0) else { throw SystemError(errno) }
    defer { free(path) }
    return try FileSystemCalls.text(UnsafeRawBufferPointer(start: path, count: strlen(path)))
}

private func sleep(for duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var time = timespec(tv_sec: time_t(clamping: seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    nanosleep(&time, nil)
}

extension Duration {
    /// The whole duration in nanoseconds; that of 146 years for a longer one, because times are computed with it.
    var wholeNanoseconds: Int64 {
        let longest: UInt64 = 1 << 32
        guard components.seconds.magnitude < longest else { return components.seconds < 0 ? .min / 2 : .max / 2 }
        return components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }

    /// The seconds, exactly to the nanosecond up to a hundred days.
    var seconds: Double { Double(wholeNanoseconds) / 1_000_000_000 }
}

extension DispatchTime {
    /// The time that is a duration from now; now for a negative one.
    ///
    /// `DispatchTimeInterval` counts in `Int`, which has 32 bits on watches: as nanoseconds it holds two seconds.
    package static func after(_ duration: Duration) -> DispatchTime {
        now() + max(0, duration.seconds)
    }
}
