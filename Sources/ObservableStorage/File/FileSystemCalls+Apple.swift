#if canImport(Darwin)
    import FoundationSubset
    import PropertyListCoding

    /// Waits until a file or folder has been written to the medium: `fsync` alone leaves it in the drive's cache on these systems.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        let result = fcntl(descriptor, F_FULLFSYNC)
        // File servers and some foreign file systems do not support it.
        guard result < 0, errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else { return result }
        return fsync(descriptor)
    }

    /// The same: there is no cheaper way that waits for the medium.
    func synchronizeDataToMedium(_ descriptor: Int32) -> Int32 {
        synchronizeToMedium(descriptor)
    }

    func readProtectionClass(of descriptor: Int32) -> Int32? {
        let number = fcntl(descriptor, F_GETPROTECTIONCLASS)
        return number > 0 ? number : nil
    }

    func changeProtectionClass(of descriptor: Int32, to number: Int32) -> Int32 {
        fcntl(descriptor, F_SETPROTECTIONCLASS, number)
    }

    /// The flag for opening a folder only to look up names in it, without the permission to read it: `O_SEARCH` without `O_DIRECTORY`.
    let lookUpOnly: Int32 = 0x4000_0000

    /// The value of `tv_nsec` for a time that is not set.
    let omittedTime = -2

    func readUntimedStatus(_ folder: Int32, _ path: UnsafePointer<CChar>, _ status: inout stat) -> Int32 {
        path.pointee == 0 ? fstat(folder, &status) : fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW)
    }

    func isAppendOnlyFolder(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_flags & UInt32(UF_APPEND | SF_APPEND) != 0
    }

    /// Sets the attribute that Time Machine and iCloud's backups respect; its value is a property list.
    func excludeFileFromBackups(_ descriptor: Int32) {
        do {
            let value = try PropertyListValue.string("com.apple.backupd").encoded(as: .binary)
            value.withUnsafeBytes { bytes in
                _ = fsetxattr(descriptor, "com.apple.metadata:com_apple_backup_excludeItem", bytes.baseAddress, bytes.count, 0, 0)
            }
        } catch {
            // A string can always be encoded.
        }
    }

    /// Reserves space for an empty file: writing to a mapping without it ends the process if the file system is full.
    ///
    /// - Returns: the error number; 0 for none.
    func reserveSpace(of descriptor: Int32, size: Int) -> Int32 {
        var request = fstore_t(
            fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: off_t(size), fst_bytesalloc: 0)
        guard fcntl(descriptor, F_PREALLOCATE, &request) >= 0, ftruncate(descriptor, off_t(size)) == 0 else { return errno }
        return 0
    }

    /// Keeps a mapping from being inherited by forked children.
    func keepFromChildren(_ start: UnsafeMutableRawPointer, size: Int) -> Int32 {
        minherit(start, size, Int32(VM_INHERIT_NONE))
    }

    /// Identifies the run of the system; 0 if that is not known. The time at which it was started changes when its clock is set.
    let bootIdentifier: UInt64 = {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
            var size = buffer.count
            guard sysctlbyname("kern.bootsessionuuid", buffer.baseAddress, &size, nil, 0) == 0 else { return 0 }
            var hash = FoldedHash(seed: 2)
            hash.combine(UnsafeRawBufferPointer(rebasing: buffer[..<size]))
            return hash.value
        }
    }()

    /// No single file can be mounted.
    func isMountPoint(_ path: String) -> Bool { false }

    func mappingObjection(of descriptor: Int32, device: UInt64) -> String? {
        guard let name = volumeType(of: descriptor) else { return "its file system is not known" }
        if ["apfs", "hfs"].contains(name) { return nil }
        return "its file system (\(name)) is not one of those on which logs of edits are known to be safe"
    }

    /// The name of the file system of an open folder; nil if that cannot be found out.
    ///
    /// Not by `fstatfs`, for which the privacy manifest needs a reason that only programs dealing with free space have (Apple's "Describing use
    /// of required reason API").
    private func volumeType(of folder: Int32) -> String? {
        let path: String? = withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            guard let start = buffer.baseAddress, fcntl(folder, F_GETPATH, start) >= 0 else { return nil }
            return String(validatingCString: start)
        }
        guard let path else { return nil }
        do {
            return try URL(fileURLWithPath: path, isDirectory: true).resourceValues(forKeys: [.volumeTypeNameKey]).volumeTypeName
        } catch {
            return nil
        }
    }

    /// Those of these systems are not part of the mode.
    let hasAccessControlLists = false

    func getAccessControlList(of descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int { 0 }

    func setAccessControlList(of descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 { 0 }

    extension stat {
        var modificationTime: timespec { st_mtimespec }
        var changeTime: timespec { st_ctimespec }
    }
#endif
