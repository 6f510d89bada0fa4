#if !canImport(Darwin)
    import Foundation

    /// What it takes to have a file on the medium.
    enum Medium {
        static func synchronize(_ descriptor: Int32) -> Bool {
            fsync(descriptor) == 0
        }
    }
#endif
