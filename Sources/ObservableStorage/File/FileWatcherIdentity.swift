#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What tells one state of a file from another without reading it; a missing file has an identity too.
enum FileWatcherIdentity: Sendable, Hashable {
    case missing
    case present(device: UInt64, inode: UInt64, size: Int64, modified: [Int], changed: [Int])

    /// The identity of what is at the path, every link followed.
    init(path: String) {
        var status = stat()
        self = stat(path, &status) == 0 ? FileWatcherIdentity(status) : .missing
    }

    /// The identity of what was found.
    init(_ status: stat) {
        self = .present(
            device: UInt64(truncatingIfNeeded: status.st_dev),
            inode: UInt64(truncatingIfNeeded: status.st_ino),
            size: Int64(status.st_size),
            modified: status.modificationTime,
            changed: status.changeTime)
    }
}

extension FileWatcherIdentity {
    /// What tells one file or folder from another as long as both exist; nil if there is none.
    var number: [UInt64]? {
        if case .present(let device, let inode, _, _, _) = self { [device, inode] } else { nil }
    }
}

#if os(Linux)
    extension stat {
        fileprivate var modificationTime: [Int] { [st_mtim.tv_sec, st_mtim.tv_nsec] }
        fileprivate var changeTime: [Int] { [st_ctim.tv_sec, st_ctim.tv_nsec] }
    }
#else
    extension stat {
        fileprivate var modificationTime: [Int] { [Int(st_mtimespec.tv_sec), Int(st_mtimespec.tv_nsec)] }
        fileprivate var changeTime: [Int] { [Int(st_ctimespec.tv_sec), Int(st_ctimespec.tv_nsec)] }
    }
#endif
