#if !canImport(Darwin)
    import Foundation

    /// Waits until a file's or folder's content is on the medium.
    func synchronizeToMedium(_ descriptor: Int32) -> Int32 {
        fsync(descriptor)
    }
#endif
