import FoundationSubset

#if !canImport(Darwin)
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        fsync(descriptor)
    }

    func synchronizeDataToMedium(_ descriptor: Int32) -> Int32 {
        fdatasync(descriptor)
    }

    func readProtectionClass(of descriptor: Int32) -> Int32? { nil }

    func changeProtectionClass(of descriptor: Int32, to number: Int32) -> Int32 { 0 }

    /// The flag for opening a folder only to look up names in it, without the permission to read it: `O_PATH`.
    let lookUpOnly: Int32 = 0x20_0000

    /// The value of `tv_nsec` for a time that is not set.
    let omittedTime = (1 << 30) - 2

    /// Whether a folder has the attribute that `chattr +a` sets; false if that cannot be determined.
    func isAppendOnlyFolder(_ descriptor: Int32) -> Bool {
        // FS_IOC_GETFLAGS and FS_APPEND_FL, which the C library's module does not declare.
        let request = 0x8000_6601 | UInt(MemoryLayout<Int>.size) << 16
        var flags = 0
        return ioctl(descriptor, request, &flags) == 0 && flags & 0x20 != 0
    }

    /// Sets the attribute that `chattr +d` sets, which programs for backups can respect.
    func excludeFileFromBackups(_ descriptor: Int32) {
        // FS_IOC_GETFLAGS, FS_IOC_SETFLAGS and FS_NODUMP_FL.
        let size = UInt(MemoryLayout<Int>.size) << 16
        var flags = 0
        guard ioctl(descriptor, 0x8000_6601 | size, &flags) == 0 else { return }
        flags |= 0x40
        _ = ioctl(descriptor, 0x4000_6602 | size, &flags)
    }

    /// Reserves space for an empty file: writing to a mapping without it ends the process if the file system is full.
    ///
    /// - Returns: the error number; 0 for none.
    func reserveSpace(of descriptor: Int32, size: Int) -> Int32 {
        let code = posix_fallocate(descriptor, 0, off_t(size))
        guard code == 0 else { return code }
        // On ext4 this makes the first write to each mapped page five times as fast. If it fails, the file can be used nevertheless.
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { zeros in
            zeros.initializeMemory(as: UInt8.self, repeating: 0)
            var offset = 0
            while offset < size {
                let count = pwrite(descriptor, zeros.baseAddress, min(zeros.count, size - offset), off_t(offset))
                guard count > 0 else { return }
                offset += count
            }
        }
        return 0
    }

    /// Keeps a mapping from being inherited by forked children, in which it would keep the lock of the file.
    func keepFromChildren(_ start: UnsafeMutableRawPointer, size: Int) -> Int32 {
        madvise(start, size, MADV_DONTFORK)
    }

    let bootIdentifier: UInt64 = {
        let descriptor = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            guard count > 0 else { return 0 }
            var hash = FoldedHash(seed: 2)
            hash.combine(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return hash.value
        }
    }()

    private let knownFileSystems: Set<String> = ["ext2", "ext3", "ext4", "xfs", "tmpfs", "ramfs", "overlay", "f2fs"]

    func mappingObjection(of descriptor: Int32, device: UInt64) -> String? {
        let name = MountTable.shared.fileSystemType(of: device) ?? "unknown"
        if knownFileSystems.contains(name) { return nil }
        return "its file system (\(name)) is not one of those on which logs of edits are known to be safe"
    }

    /// Whether a file is mounted itself, as single files are in containers.
    func isMountPoint(_ path: String) -> Bool { MountTable.shared.isMountPoint(path) }

    private typealias StatusReader =
        @convention(c) (
            _ folder: CInt, _ path: UnsafePointer<CChar>, _ flags: CInt, _ mask: CUnsignedInt, _ status: UnsafeMutableRawPointer
        ) -> CInt

    /// `statx`, which the C library's module lacks.
    private let readStatus = dlsym(nil, "statx").map { unsafeBitCast($0, to: StatusReader.self) }

    func readUntimedStatus(_ folder: Int32, _ path: UnsafePointer<CChar>, _ status: inout stat) -> Int32 {
        // AT_EMPTY_PATH.
        let flags = AT_SYMLINK_NOFOLLOW | 0x1000
        return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { bytes in
            // Type, mode, links, owner, group, inode number and size.
            guard let readStatus, let start = bytes.baseAddress, readStatus(folder, path, flags, 0x31f, start) == 0 else {
                // Old kernels lack it, and some containers forbid it.
                return readStatus == nil || errno == ENOSYS || errno == EPERM ? fstatat(folder, path, &status, flags) : -1
            }
            func word(_ offset: Int) -> UInt32 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
            status.st_nlink = .init(word(16))
            (status.st_uid, status.st_gid) = (word(20), word(24))
            status.st_mode = mode_t(bytes.loadUnaligned(fromByteOffset: 28, as: UInt16.self))
            status.st_ino = .init(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: 32, as: UInt64.self))
            status.st_size = .init(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: 40, as: UInt64.self))
            status.st_dev = .init(MountInfo.device(word(136), word(140)))
            return 0
        }
    }

    private typealias AttributeReader = @convention(c) (CInt, UnsafePointer<UInt8>, UnsafeMutableRawPointer?, Int) -> Int
    private typealias AttributeWriter = @convention(c) (CInt, UnsafePointer<UInt8>, UnsafeRawPointer?, Int, CInt) -> CInt

    private let listAttribute: StaticString = "system.posix_acl_access"
    // The C library's module lacks them as well.
    private let readAttribute = dlsym(nil, "fgetxattr").map { unsafeBitCast($0, to: AttributeReader.self) }
    private let writeAttribute = dlsym(nil, "fsetxattr").map { unsafeBitCast($0, to: AttributeWriter.self) }
    let hasAccessControlLists = readAttribute != nil && writeAttribute != nil

    func getAccessControlList(of descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
        readAttribute?(descriptor, listAttribute.utf8Start, buffer.baseAddress, buffer.count) ?? -1
    }

    func setAccessControlList(of descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
        writeAttribute?(descriptor, listAttribute.utf8Start, bytes.baseAddress, bytes.count, 0) ?? -1
    }

    extension stat {
        var modificationTime: timespec { st_mtim }
        var changeTime: timespec { st_ctim }
    }
#endif
