import FoundationSubset

// Operations on files, each made of a few system calls.

#if canImport(Glibc)
    private let fileSizeLimit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
#else
    private let fileSizeLimit = RLIMIT_FSIZE
#endif

// MARK: - Status

extension FileSystemCalls {
    // Each attempt fails because the link was replaced between two calls.
    private static let maximumLookups = 64

    /// The status of the file at a path; nil if there is none. A link in the last component is only followed on request.
    func status(at path: ResolvedPath, followsLinks: Bool = false) throws(SystemError) -> FileStatus? {
        try ifPresent { () throws(SystemError) in try statusOfPath(path, followsLinks) }
    }

    /// The status of the file at a path, which may just have been found; nil if there is none.
    func status(at path: ResolvedPath, or found: FileStatus?) throws(SystemError) -> FileStatus? {
        if let found { return found }
        return try status(at: path)
    }

    /// The status of the file at a path; nil if there is none, or it is unavailable.
    func statusOrNil(at path: ResolvedPath, followsLinks: Bool = false) -> FileStatus? {
        ifPossible { () throws(SystemError) in try statusOfPath(path, followsLinks) }
    }

    func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
        try uninterrupted { () throws(SystemError) in try statusOfDescriptor(descriptor) }
    }

    /// The status of the file at a path without its times, see ``untimedStatus``; nil if there is none.
    func untimedStatus(at path: ResolvedPath) throws(SystemError) -> FileStatus? {
        try ifPresent { () throws(SystemError) in
            guard let folder = path.openFolder else { return try untimedStatus(AT_FDCWD, path.path) }
            return try untimedStatus(folder.descriptor, path.name)
        }
    }

    func untimedStatus(of descriptor: Int32) throws(SystemError) -> FileStatus {
        try uninterrupted { () throws(SystemError) in try untimedStatus(descriptor, "") }
    }

    func isFile(_ descriptor: Int32, at path: ResolvedPath) throws(SystemError) -> Bool {
        try isFile(descriptor, status(at: path)?.identity)
    }

    /// Whether an open file is one that was examined: another user may put any other in its place, such as one that only this user may write.
    func isFile(_ descriptor: Int32, _ examined: FileIdentity?) throws(SystemError) -> Bool {
        guard let examined else { return false }
        return try status(of: descriptor).identity.isSameFile(as: examined)
    }

    /// The status of the file at a path itself, with the target of a symbolic link; nil if there is none.
    func entry(at path: ResolvedPath) throws(SystemError) -> (status: FileStatus, target: String?)? {
        for _ in 0..<Self.maximumLookups {
            guard let status = try status(at: path) else { return nil }
            guard status.kind == .link else { return (status, nil) }
            do throws(SystemError) {
                return (status, try target(ofLink: path))
            } catch let error where error.code == EINVAL || error.isMissing {
                continue
            }
        }
        throw SystemError(EBUSY)
    }

    private func target(ofLink path: ResolvedPath) throws(SystemError) -> String {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(PATH_MAX), alignment: 1)
        defer { buffer.deallocate() }
        let count = try uninterrupted { () throws(SystemError) in try readLink(path, buffer) }
        // The system truncates without an error, and the beginning of a path leads to another file.
        guard count < buffer.count else { throw SystemError(ENAMETOOLONG) }
        return try Self.text(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }

    /// The text of a path; throws `EILSEQ` if it is not UTF-8, because it must not be confused with another path.
    static func text(_ bytes: UnsafeRawBufferPointer) throws(SystemError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw SystemError(EILSEQ) }
        return text
    }
}

// MARK: - Files

extension FileSystemCalls {
    /// Opens a file, which is closed in programs that this process starts.
    func openFile(_ path: ResolvedPath, _ flags: Int32, _ mode: mode_t = 0) throws(SystemError) -> Int32 {
        try havingRoom { () throws(SystemError) in try openDescriptor(path, flags | O_CLOEXEC, mode) }
    }

    /// Closes a file whose content no longer matters, or has been synchronized.
    func discard(_ descriptor: Int32) {
        do throws(SystemError) {
            try closeDescriptor(descriptor)
        } catch {
            // The system closes the descriptor even if it reports an error.
        }
    }

    /// Removes a file whose removal may fail, because another error is reported or the file does no harm; returns false if it fails.
    @discardableResult
    func discardFile(_ path: ResolvedPath) -> Bool {
        ifPossible { () throws(SystemError) in try removeFile(path) } != nil
    }

    /// Takes the exclusive lock of an open file, or a shared one; returns false if another one excludes it.
    func tryLock(_ descriptor: Int32, isShared: Bool = false) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try isShared ? lockShared(descriptor) : lock(descriptor) }
            return true
        } catch let error where error.code == EWOULDBLOCK {
            return false
        }
    }

    /// Takes the exclusive lock of an open file; returns false if it is held, and `otherwise` if locks are not supported.
    func tryLock(_ descriptor: Int32, otherwise: Bool) -> Bool {
        ifPossible { () throws(SystemError) in try tryLock(descriptor) } ?? otherwise
    }

    /// How often the lock of a file is tried that a writer with another lock file may be writing: for longer than that takes on a busy disk.
    static let pausesForWriters = 2_000

    /// Takes the exclusive lock of an open file, and waits a millisecond between attempts; returns true also if locks are not supported.
    func tryLock(_ descriptor: Int32, pauses: Int) -> Bool {
        for pause in 0...pauses {
            if pause > 0 { self.pause(.milliseconds(1)) }
            if tryLock(descriptor, otherwise: true) { return true }
        }
        return false
    }

    /// Releases the lock of an open file; closing the file releases it as well.
    func releaseLock(_ descriptor: Int32) {
        ifPossible { () throws(SystemError) in try unlock(descriptor) }
    }

    /// Writes all bytes to an open file, from an offset on, or from the beginning.
    func writeAll(_ bytes: Data, to descriptor: Int32, at offset: Int? = nil) throws(SystemError) {
        try Self.requirePermitted(size: (offset ?? 0) + bytes.count)
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(SystemError) in
                var written = 0
                while written < buffer.count {
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[written...])
                    let position = offset.map { $0 + written }
                    let count = try havingRoom { () throws(SystemError) in
                        if let position { try writeBytesAt(descriptor, rest, position) } else { try writeBytes(descriptor, rest) }
                    }
                    // No file returns that for a write of at least one byte; repeating it would never end.
                    guard count > 0 else { throw SystemError(EIO) }
                    written += count
                }
            }
        }
        try result.get()
    }

    /// Throws `EFBIG` if this process may not make a file of a size: the system would end it with a signal, `SIGXFSZ`, unless that is ignored.
    static func requirePermitted(size: Int) throws(SystemError) {
        var limit = rlimit()
        if getrlimit(fileSizeLimit, &limit) == 0, rlim_t(size) > limit.rlim_cur { throw SystemError(EFBIG) }
    }

    /// Replaces the content of a file in place.
    func overwrite(_ descriptor: Int32, with bytes: Data) throws(SystemError) {
        // Not truncated first: that would be another state in which it is not a property list.
        try writeAll(bytes, to: descriptor, at: 0)
        try uninterrupted { () throws(SystemError) in try truncate(descriptor, bytes.count) }
    }

    /// Removes a file, and returns when that has been written to the medium.
    func removeDurably(_ path: ResolvedPath) throws(SystemError) {
        try uninterrupted { () throws(SystemError) in try removeFile(path) }
        try synchronizeFolder(of: path)
    }

    /// Sets the permissions of an empty file that was just created, regardless of the umask.
    ///
    /// As the replacement of another file it also gets that file's owner and group, as far as this user may set them. If the group cannot
    /// be set, group and others get only the permissions that both had, so that no user gains access.
    ///
    /// - Parameters:
    ///   - own: the status of the file.
    ///   - acl: the access control list that it gets instead; nil for none. If it cannot have it, it gets permissions that grant no more.
    ///   - old: the file that it replaces, or belongs to; nil if there is none, so that it keeps what its folder's default list gives it.
    func setAccess(
        of descriptor: Int32, _ own: FileStatus, to permissions: mode_t, acl: AccessControlList? = nil, successorOf old: FileStatus?
    ) throws(SystemError) {
        var kept = acl?.reducedPermissions ?? permissions
        if let old {
            // Sets the permissions as well.
            func isSet(_ list: AccessControlList) -> Bool {
                ifPossible { () throws(SystemError) in try writeAccessControlList(descriptor, list) } != nil
            }
            let owned = try setOwner(of: descriptor, own, like: old)
            if let acl, isSet(acl.adapted(to: owned, besides: old)) { return }
            if owned.group != old.group { kept = FileStatus.commonPermissions(kept) }
            // It has one from its folder, whose mask would be the group's permissions.
            if accessControlList(of: descriptor, own) != nil {
                if isSet(AccessControlList(permissions: kept)) { return }
                kept &= 0o707
            }
        }
        guard own.permissions != kept else { return }
        // A file system without permissions denies this; they were determined when it was mounted.
        try ifAllowed { () throws(SystemError) in try setPermissions(descriptor, kept) }
    }

    /// Sets another file's owner and group, or the group alone, as far as that is permitted; returns the status with those that it has.
    private func setOwner(of descriptor: Int32, _ own: FileStatus, like old: FileStatus) throws(SystemError) -> FileStatus {
        var own = own
        guard (own.owner, own.group) != (old.owner, old.group) else { return own }
        if try ifAllowed({ () throws(SystemError) in try setOwner(descriptor, old.owner, old.group) }) {
            (own.owner, own.group) = (old.owner, old.group)
        } else if own.group != old.group, try ifAllowed({ () throws(SystemError) in try setOwner(descriptor, .max, old.group) }) {
            own.group = old.group
        }
        return own
    }
}
