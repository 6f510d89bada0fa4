#if canImport(Darwin) && !os(Linux)
    import Foundation

    extension stat {
        /// When the content was last changed.
        var modificationTime: timespec { st_mtimespec }
        /// When the content or the inode was last changed.
        var changeTime: timespec { st_ctimespec }
    }
#endif
