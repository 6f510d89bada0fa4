import Foundation

#if !canImport(Darwin)
    /// Waits until a file or folder has been written to the medium.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        fsync(descriptor)
    }

    /// The value of `tv_nsec` for a time that is not set.
    let omittedTime = (1 << 30) - 2

    /// Whether a folder has the attribute that `chattr +a` sets; false if that cannot be determined.
    func isAppendOnlyFolder(_ descriptor: Int32, path: String) -> Bool {
        // FS_IOC_GETFLAGS and FS_APPEND_FL, which the C library's module does not declare.
        let request = UInt(0x8000_6601 | MemoryLayout<Int>.size << 16)
        var flags = 0
        return ioctl(descriptor, request, &flags) == 0 && flags & 0x20 != 0
    }
#endif

#if os(Linux) || !canImport(Darwin)
    extension stat {
        /// When the content was last changed.
        var modificationTime: timespec { st_mtim }
        /// When the content or the inode was last changed.
        var changeTime: timespec { st_ctim }
    }
#endif
