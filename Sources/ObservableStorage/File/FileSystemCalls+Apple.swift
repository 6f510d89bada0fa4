#if canImport(Darwin)
    import Foundation

    /// Waits until a file or folder has been written to the medium: `fsync` alone leaves it in the drive's cache on these systems.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        let result = fcntl(descriptor, F_FULLFSYNC)
        // File servers and some foreign file systems do not support it.
        guard result < 0, errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else { return result }
        return fsync(descriptor)
    }

    /// The value of `tv_nsec` for a time that is not set.
    let omittedTime = -2

    /// Whether files can only be created in a folder, and none renamed or removed.
    func isAppendOnlyFolder(_ descriptor: Int32, path: String) -> Bool {
        do {
            return try FileManager.default.attributesOfItem(atPath: path)[.appendOnly] as? Bool ?? false
        } catch {
            // Replacing the file then fails with the reason.
            return false
        }
    }

    #if !os(Linux)
        extension stat {
            /// When the content was last changed.
            var modificationTime: timespec { st_mtimespec }
            /// When the content or the inode was last changed.
            var changeTime: timespec { st_ctimespec }
        }
    #endif
#endif
