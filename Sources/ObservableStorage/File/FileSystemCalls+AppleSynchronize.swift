#if canImport(Darwin)
    import Foundation

    /// Waits until a file's or folder's content is on the medium itself: `fsync` alone leaves it in the drive's memory here.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        let result = fcntl(descriptor, F_FULLFSYNC)
        // File servers and some foreign file systems do not know it.
        guard result < 0, errno == ENOTSUP || errno == EINVAL || errno == ENOTTY else { return result }
        return fsync(descriptor)
    }

    /// What stands for a time that is not to be set.
    let omittedTime = -2

    /// Whether files may only be made in a folder, and none renamed or removed.
    func isAppendOnlyFolder(_ descriptor: Int32, path: String) -> Bool {
        do {
            return try FileManager.default.attributesOfItem(atPath: path)[.appendOnly] as? Bool ?? false
        } catch {
            // What cannot be looked at is found out when the file is replaced.
            return false
        }
    }
#endif
