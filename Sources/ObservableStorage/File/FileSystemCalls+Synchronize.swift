#if !canImport(Darwin)
    import Foundation

    /// Waits until a file's or folder's content is on the medium.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        fsync(descriptor)
    }

    /// What stands for a time that is not to be set.
    let omittedTime = (1 << 30) - 2

    /// Whether a folder has the attribute that `chattr +a` gives; false where nobody knows.
    func isAppendOnlyFolder(_ descriptor: Int32, path: String) -> Bool {
        // FS_IOC_GETFLAGS and FS_APPEND_FL, which the C library's module leaves out.
        let request = UInt(0x8000_6601 | MemoryLayout<Int>.size << 16)
        var flags = 0
        return ioctl(descriptor, request, &flags) == 0 && flags & 0x20 != 0
    }
#endif
