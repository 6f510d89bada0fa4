import FoundationSubset

/// A POSIX access control list, in the form of Linux's attribute `system.posix_acl_access`.
///
/// The group's bits in the mode of a file that has one are the mask of the list, and not what it grants the owning group.
struct AccessControlList: Sendable, Hashable {
    private static let (owner, user, owningGroup) = (UInt16(0x01), UInt16(0x02), UInt16(0x04))
    private static let (group, mask, others) = (UInt16(0x08), UInt16(0x10), UInt16(0x20))

    /// The version, and four for each entry, by rising tags: its tag, its permissions, and two halves of the number of a user or group.
    private var words: [UInt16]

    private var entries: StrideTo<Int> { stride(from: 2, to: words.count, by: 4) }

    /// - Returns: nil if it is of another version, or lacks an entry that each list has.
    init?(_ bytes: Data) {
        words = stride(from: 0, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
        guard bytes.count % 8 == 4, words.starts(with: [2, 0]) else { return nil }
        guard Set(entries.map { words[$0] }).isSuperset(of: [Self.owner, Self.owningGroup, Self.others]) else { return nil }
    }

    /// The list that is equivalent to a mode.
    init(permissions: mode_t) {
        let entries = [(Self.owner, permissions >> 6), (Self.owningGroup, permissions >> 3), (Self.others, permissions)]
        words = [2, 0] + entries.flatMap { [$0, UInt16($1 & 0o7), .max, .max] }
    }

    var bytes: Data { Data(words.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }) }

    /// A mode that grants no user more than this list, not even one whom the list grants less than the group or others.
    var reducedPermissions: mode_t {
        common(Self.owner) << 6 | common(Self.owningGroup | Self.user | Self.mask) << 3 | common(~(Self.owner | Self.owningGroup))
    }

    /// The permissions that all entries with some tags have.
    private func common(_ tags: UInt16) -> mode_t {
        entries.reduce(0o7) { words[$1] & tags == 0 ? $0 : $0 & mode_t(words[$1 + 1]) }
    }

    private func identifier(_ entry: Int) -> UInt32 {
        UInt32(words[entry + 2]) | UInt32(words[entry + 3]) << 16
    }

    private func entry(of user: uid_t) -> Int? {
        entries.first { words[$0] == Self.user && identifier($0) == user }
    }

    /// The list for a file beside the one that has this list, or in its place: another owning group gets only what every user has, and
    /// the owner of the list keeps access to the file of another owner.
    func adapted(to file: FileStatus, besides list: FileStatus) -> AccessControlList {
        let common = UInt16(FileStatus.commonPermissions(reducedPermissions) & 0o7)
        var adapted = changed { tag, permissions in
            file.group == list.group || tag & (Self.owningGroup | Self.others) == 0 ? permissions : common
        }
        // Without a mask it may name no user.
        guard file.owner != list.owner, entry(of: list.owner) == nil, entries.contains(where: { words[$0] == Self.mask }) else {
            return adapted
        }
        let next = entries.first { words[$0] > Self.user || words[$0] == Self.user && identifier($0) > list.owner }
        let owner = [Self.user, words[3], UInt16(truncatingIfNeeded: list.owner), UInt16(list.owner >> 16)]
        adapted.words.insert(contentsOf: owner, at: next ?? words.count)
        return adapted
    }

    /// Whether it grants writing to the owner of another file, as far as the owner and the group of that file show.
    ///
    /// - Parameters:
    ///   - list: the status of the file that has this list.
    ///   - isMember: whether the owner of the other file is known to belong to its group.
    func grantsWriting(toOwnerOf file: FileStatus, besides list: FileStatus, isMember: Bool) -> Bool {
        let mask = common(Self.mask)
        func isWriter(_ entry: Int) -> Bool { mode_t(words[entry + 1]) & mask & 0o2 != 0 }
        if let own = entry(of: file.owner) { return isWriter(own) }
        if reducedPermissions & 0o002 != 0 { return true }
        return isMember
            && entries.contains { entry in
                let group = words[entry] == Self.owningGroup ? list.group : identifier(entry)
                return words[entry] & (Self.owningGroup | Self.group) != 0 && group == file.group && isWriter(entry)
            }
    }

    /// The list for a lock file: those who may write may lock.
    var ofLock: AccessControlList {
        changed { tag, permissions in tag == Self.owner || permissions & 0o2 != 0 ? 0o6 : 0 }
    }

    private func changed(_ permissions: (_ tag: UInt16, _ permissions: UInt16) -> UInt16) -> AccessControlList {
        var list = self
        for index in entries { list.words[index + 1] = permissions(words[index], words[index + 1]) }
        return list
    }
}

extension FileSystemCalls {
    /// The access control list of an open file; nil if it has none beyond its mode.
    ///
    /// If that cannot be determined, it is a list that grants group and others only what both have according to the mode.
    func accessControlList(of descriptor: Int32?, _ status: FileStatus?) -> AccessControlList? {
        guard hasAccessControlLists, let status else { return nil }
        do throws(SystemError) {
            guard let descriptor else { throw SystemError(EBADF) }
            // As many bytes as Linux allows.
            let block = MemoryBlock(size: 65_536)
            let buffer = UnsafeMutableRawBufferPointer(start: block.start, count: block.size)
            let count = try uninterrupted { () throws(SystemError) in try readAccessControlList(descriptor, buffer) }
            if let list = AccessControlList(block.data(count: count)) { return list }
        } catch let error where [ENODATA, ENOTSUP, ENOSYS].contains(error.code) {
            return nil
        } catch {}
        return AccessControlList(permissions: FileStatus.commonPermissions(status.permissions))
    }

    /// The access control list of the file at a path, as that of an open one; throws if it cannot be opened.
    func accessControlList(at path: ResolvedPath, _ status: FileStatus?) throws(SystemError) -> AccessControlList? {
        guard hasAccessControlLists, status != nil else { return nil }
        let descriptor = try openForProtection(path)
        defer { if let descriptor { discard(descriptor) } }
        return try accessControlList(ofOpened: descriptor, status)
    }

    /// The access control list of a file that was opened at its path after it was examined. That of another one, which another user may have
    /// put there meanwhile, is not used.
    func accessControlList(ofOpened descriptor: Int32?, _ status: FileStatus?) throws(SystemError) -> AccessControlList? {
        guard let descriptor, try isFile(descriptor, status?.identity) else { return accessControlList(of: nil, status) }
        return accessControlList(of: descriptor, status)
    }

    /// Whether only a user who may write a property list can have made a file beside it, judged by the file's owner and group.
    func isTrusted(_ file: FileStatus, besides list: ResolvedPath, _ status: FileStatus?) throws(SystemError) -> Bool {
        if file.belongsToThisUser { return true }
        guard let status else { return false }
        if file.owner == status.owner { return true }
        let acl = try accessControlList(at: list, status) ?? AccessControlList(permissions: status.permissions)
        var isMember = false
        // In a folder that others may write as well, a file may have its group from the folder.
        if let folder = try folderStatus(of: list), folder.permissions & 0o002 == 0 {
            try ifAllowed { () throws(SystemError) in isMember = try accessControlList(at: list.sibling("."), folder) == nil }
        }
        return acl.grantsWriting(toOwnerOf: file, besides: status, isMember: isMember)
    }
}
