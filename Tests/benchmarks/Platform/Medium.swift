#if !canImport(Darwin)
    import Foundation

    /// The calls that synchronize a file to the disk.
    enum Medium {
        static func synchronize(_ descriptor: Int32) -> Bool {
            fsync(descriptor) == 0
        }
    }
#endif
