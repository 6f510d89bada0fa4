#if canImport(Darwin)
    import Foundation

    /// The calls that synchronize a file to the disk.
    enum Medium {
        static func synchronize(_ descriptor: Int32) -> Bool {
            fcntl(descriptor, F_FULLFSYNC) == 0
        }
    }
#endif
