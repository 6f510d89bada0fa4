import Foundation

/// What the system knows about a file, the same on every platform.
struct FileStatus: Sendable, Hashable {
    let identity: FileIdentity
    let kind: Kind
    /// How many names it has; none once it was removed.
    let links: UInt64
    /// The permission bits, `0o777` at most: a property list is never set-user-id.
    let permissions: mode_t
    let owner: uid_t
    let group: gid_t
    /// Whether, as a folder, it lets only their owners rename and remove what is in it.
    let isSticky: Bool

    init(_ status: stat) {
        identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino),
            size: Int64(status.st_size), modified: Self.nanoseconds(status.modificationTime),
            changed: Self.nanoseconds(status.changeTime))
        kind = Kind(mode: status.st_mode)
        links = UInt64(status.st_nlink)
        permissions = status.st_mode & 0o777
        owner = status.st_uid
        group = status.st_gid
        isSticky = status.st_mode & S_ISVTX != 0
    }

    /// Why it must not be replaced, the superuser's rights aside: a file without any permission to write is meant to stay as it is.
    var writingObjection: String? {
        permissions & 0o222 == 0 ? "is read-only for everyone (mode 0\(String(permissions, radix: 8)))" : nil
    }

    /// Whether others than this user and the superuser decide about it: its owner, or, but for a link, whoever may write it.
    var isOpenToOthers: Bool {
        (owner != 0 && owner != geteuid()) || (kind != .link && permissions & 0o022 != 0)
    }

    func hasSameAccess(as other: FileStatus) -> Bool {
        (owner, group, permissions) == (other.owner, other.group, other.permissions)
    }

    /// Permissions that give group and others only what both have, so that whichever group a file gets, nobody gets more.
    static func commonPermissions(_ permissions: mode_t) -> mode_t {
        let common = (permissions >> 3) & permissions & 0o7
        return (permissions & 0o700) | common << 3 | common
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // Wraps for a year beyond 2262: the number only has to differ when the time does.
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension FileStatus {
    /// What stands at a path.
    enum Kind: Sendable, Hashable {
        case file, folder, link, pipe, socket, device, other

        init(mode: mode_t) {
            self =
                switch mode & S_IFMT {
                case S_IFREG: .file
                case S_IFDIR: .folder
                case S_IFLNK: .link
                case S_IFIFO: .pipe
                case S_IFSOCK: .socket
                case S_IFCHR, S_IFBLK: .device
                default: .other
                }
        }

        /// Why it cannot be read or replaced as a file is; nothing for a file.
        var objection: String? {
            switch self {
            case .file: nil
            case .folder: "is a folder, not a file"
            case .link: "is a symbolic link, not a file"
            case .pipe: "is a named pipe, not a file"
            case .socket: "is a socket, not a file"
            case .device: "is a device, not a file"
            case .other: "is not a file"
            }
        }
    }
}
