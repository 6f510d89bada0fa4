import FoundationSubset

/// A POSIX access control list, in the form of Linux's attribute `system.posix_acl_access`.
///
/// The group's bits in the mode of a file that has one are the mask of the list, and not what it grants the owning group.
struct AccessControlList: Sendable, Hashable {
    private static let (owner, user, owningGroup, mask, others) = (UInt16(0x01), UInt16(0x02), UInt16(0x04), UInt16(0x10), UInt16(0x20))

    /// The version, and four for each entry: its tag, its permissions, and two halves of the number of a user or group.
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

    /// The list for a file of another group, which gets only what every user has.
    var ofOtherGroup: AccessControlList {
        let common = UInt16(FileStatus.commonPermissions(reducedPermissions) & 0o7)
        return changed { tag, permissions in tag & (Self.owningGroup | Self.others) == 0 ? permissions : common }
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

    /// The access control list of the file at a path, as that of an open one.
    func accessControlList(at path: ResolvedPath, _ status: FileStatus?) -> AccessControlList? {
        guard hasAccessControlLists, status != nil else { return nil }
        let descriptor = ifPossible { () throws(SystemError) in try openForProtection(path) } ?? nil
        defer { if let descriptor { discard(descriptor) } }
        return accessControlList(of: descriptor, status)
    }
}
