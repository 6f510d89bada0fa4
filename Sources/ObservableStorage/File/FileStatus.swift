import FoundationSubset

/// The identity and the state of a file: while two identities are equal, the file has not changed.
///
/// The clock of a file system ticks every few milliseconds, or seconds: a file that is changed in place twice within a tick, to the same
/// size, keeps its identity. A file that is replaced by renaming does not.
struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    /// In bytes.
    let size: Int64
    /// When the content was last changed, in nanoseconds since 1970.
    let modified: Int64
    /// When the content, a name, the mode or the owner was last changed, in nanoseconds since 1970.
    let changed: Int64

    /// Whether both are the same inode, in whatever state.
    func isSameFile(as other: FileIdentity) -> Bool {
        (device, inode) == (other.device, other.inode)
    }

    /// Whether both are the same inode with the same content; renaming makes no difference.
    func hasSameContent(as other: FileIdentity) -> Bool {
        isSameFile(as: other) && (size, modified) == (other.size, other.modified)
    }

    /// Whether a write after a time may leave the identity unchanged.
    func mayHideWrites(after time: Date) -> Bool {
        // The slowest clocks tick every other second. Timestamps may also be taken some time before the bytes are written, and from the
        // clock of another machine; the modification time can be set to any value.
        time.timeIntervalSince1970 - Double(max(modified, changed)) / 1e9 < 2.05
    }

    /// The number of seconds between the modification of the file and a time; 0 if the file was modified later.
    func age(at time: Date) -> TimeInterval {
        // The modification time of a copy may be in the future, unlike the time of its last change, which some file systems lack.
        max(0, time.timeIntervalSince1970 - Double(changed > 0 ? min(modified, changed) : modified) / 1e9)
    }
}

extension FileIdentity {
    /// The identity of the file with a name in a folder; nil if there is none.
    init?(at path: ResolvedPath, followsLinks: Bool = false, calls: FileSystemCalls = .live) throws(StorageError) {
        let status = try calls.reading(path.path) { () throws(SystemError) in try calls.status(at: path, followsLinks: followsLinks) }
        guard let status else { return nil }
        self = status.identity
    }
}

/// The status of a file, in the same form on every platform.
struct FileStatus: Sendable, Hashable {
    let identity: FileIdentity
    let kind: FileType
    /// The number of names; 0 after the file was removed.
    let links: UInt64
    /// The permission bits, `0o777` at most: a property list is never set-user-ID.
    let permissions: mode_t
    var owner: uid_t
    var group: gid_t
    /// Whether, as a folder, it allows only their owners to rename and remove its files.
    let isSticky: Bool

    /// - Parameter isTimed: whether it has the times; otherwise they are 0.
    init(_ status: stat, isTimed: Bool = true) {
        identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino),
            size: Int64(status.st_size), modified: isTimed ? Self.nanoseconds(status.modificationTime) : 0,
            changed: isTimed ? Self.nanoseconds(status.changeTime) : 0)
        kind = FileType(mode: status.st_mode)
        links = UInt64(status.st_nlink)
        permissions = status.st_mode & 0o777
        owner = status.st_uid
        group = status.st_gid
        isSticky = status.st_mode & S_ISVTX != 0
    }

    /// The reason why the file must not be replaced, regardless of the superuser's permissions; nil if it may. A file without any
    /// permission to write is not supposed to change.
    var writingObjection: String? {
        permissions & 0o222 == 0 ? "is read-only for everyone (mode 0\(String(permissions, radix: 8)))" : nil
    }

    /// Whether this user or the superuser owns it.
    var belongsToThisUser: Bool { owner == geteuid() || owner == 0 }

    /// Whether a user other than this one and the superuser owns it or, unless it is a link, may write it.
    var isOpenToOthers: Bool { !belongsToThisUser || (kind != .link && permissions & 0o022 != 0) }

    func hasSameAccess(as other: FileStatus) -> Bool {
        (owner, group, permissions) == (other.owner, other.group, other.permissions)
    }

    /// Whether this file beside a property list has the owner, the group and the permissions of one that this user would create.
    ///
    /// - Parameter needed: the permissions that it has to have if it belongs to the group of the list.
    func hasAccess(_ needed: mode_t, besides list: FileStatus) -> Bool {
        let isOfGroup = group == list.group
        let attainable = isOfGroup || Self.maySet(list.group) ? needed : Self.commonPermissions(needed)
        let needsGroup = !isOfGroup && attainable & 0o060 != 0 && Self.maySet(list.group)
        guard permissions & attainable == attainable, !needsGroup else { return false }
        return owner == list.owner || geteuid() != 0
    }

    /// Whether this user may set a group on its own files.
    static func maySet(_ group: gid_t) -> Bool {
        guard geteuid() != 0, group != getegid() else { return true }
        return [gid_t](unsafeUninitializedCapacity: Int(max(0, getgroups(0, nil)))) { groups, count in
            count = Int(max(0, getgroups(Int32(groups.count), groups.baseAddress)))
        }.contains(group)
    }

    /// Permissions that grant group and others only what both have, so that no user gains access, whichever group a file gets.
    static func commonPermissions(_ permissions: mode_t) -> mode_t {
        let common = (permissions >> 3) & permissions & 0o7
        return (permissions & 0o700) | common << 3 | common
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        // Wraps around after the year 2262: the number only has to differ when the time does.
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}

extension FileStatus {
    enum FileType: Sendable, Hashable {
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

        /// The reason why it cannot be read or replaced like a file; nil for a file.
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
