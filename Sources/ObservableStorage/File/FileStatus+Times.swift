#if os(Linux) || !canImport(Darwin)
    import Foundation

    extension stat {
        /// When the content was last changed.
        var modificationTime: timespec { st_mtim }
        /// When the content or the inode was last changed.
        var changeTime: timespec { st_ctim }
    }
#endif
