import FoundationSubset

/// A new file beside the one that it is going to replace, locked while it is in use: other processes remove those that they can lock.
struct TemporaryFile {
    let path: ResolvedPath
    let descriptor: Int32
    /// The random part of the name.
    let random: UInt64
    /// The identity after it was synchronized; nil before.
    private(set) var written: FileIdentity?
    /// The modification time that was set on the file; nil if that failed.
    private(set) var stamp: Int64?

    // A name has 64 random bits, so that several consecutive collisions are not accidental.
    private static let maximumNames = 8

    /// Creates a file.
    ///
    /// - Parameters:
    ///   - old: the file whose owner, group and permissions it gets; nil if there is none.
    ///   - acl: the access control list of that file; nil for none.
    ///   - step: receives the description of the operation that failed if an error is thrown.
    static func make(
        beside target: ResolvedPath, successorOf old: FileStatus?, acl: AccessControlList?, calls: FileSystemCalls, step: inout String
    ) throws(SystemError) -> TemporaryFile {
        var namesLeft = maximumNames
        while true {
            let random = calls.random()
            let path = target.temporaryFile(process: getpid(), random: random)
            // Without its name: an error that is reported once has to be the same each time.
            step = "making a temporary file in \(path.folder)"
            namesLeft -= 1
            do throws(SystemError) {
                let permissions = acl == nil ? firstPermissions(old) : 0o600
                let descriptor = try calls.openFile(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, permissions)
                if try prepare(descriptor, at: path, successorOf: old, acl, calls, &step) {
                    return TemporaryFile(path: path, descriptor: descriptor, random: random)
                }
                calls.discard(descriptor)
                if namesLeft == 0 { throw SystemError(EBUSY) }
            } catch let error where error.code == EEXIST && namesLeft > 0 {
                continue
            }
        }
    }

    /// Locks a new file, and sets its access; returns false if another process has already removed it.
    private static func prepare(
        _ descriptor: Int32, at path: ResolvedPath, successorOf old: FileStatus?, _ acl: AccessControlList?, _ calls: FileSystemCalls,
        _ step: inout String
    ) throws(SystemError) -> Bool {
        guard calls.tryLock(descriptor, otherwise: true) else { return false }
        do throws(SystemError) {
            let own = try calls.status(of: descriptor)
            guard own.links > 0 else { return false }
            step = "setting the owner and permissions of the temporary file"
            try calls.setAccess(of: descriptor, own, to: old?.permissions ?? 0o600, acl: acl, successorOf: old)
            return true
        } catch {
            calls.discard(descriptor)
            calls.discardFile(path)
            throw error
        }
    }

    /// Accessible to this user only until the file has its owner and group, unless the final permissions allow everybody to read it:
    /// permissions that are not changed later cause no event for watchers of the folder.
    private static func firstPermissions(_ old: FileStatus?) -> mode_t {
        guard let old, old.permissions & 0o044 == 0o044 else { return 0o600 }
        return 0o644
    }
}

extension TemporaryFile {
    /// Stamps the file, which was written, and returns when it is on the medium.
    mutating func synchronize(_ calls: FileSystemCalls) throws(SystemError) {
        stamp = setStamp(calls)
        try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
        written = try calls.status(of: descriptor).identity
    }

    /// Sets a modification time between two ticks of the file system's clock, shortly before the current time, and returns it.
    ///
    /// Any later write changes it, even within the same tick: while it is unchanged, the file need not be read again. On a file system that
    /// stores times with a lower resolution, the time that is read later differs.
    private func setStamp(_ calls: FileSystemCalls) -> Int64? {
        calls.ifPossible { () throws(SystemError) in
            let stamp = try calls.status(of: descriptor).identity.modified - 1 - Int64(random % 99_991)
            try calls.uninterrupted { () throws(SystemError) in try calls.setModificationTime(descriptor, stamp) }
            return stamp
        }
    }

    /// The identity after renaming, which has changed the inode's status change time; nil before the file was synchronized.
    ///
    /// If another process has already changed the file, or its status is unavailable, it is the identity before renaming, which no file has
    /// any longer, so that the next comparison finds a difference.
    ///
    /// - Returns: the identity, and whether any later write in place changes it.
    func identityAfterRenaming(_ calls: FileSystemCalls) -> (identity: FileIdentity, isUnmistakable: Bool)? {
        guard let written else { return nil }
        // The content is on the medium, so writing has not failed if that does.
        let current = calls.ifPossible { () throws(SystemError) in try calls.status(of: descriptor).identity }
        let identity = current.flatMap { $0.hasSameContent(as: written) ? $0 : nil } ?? written
        return (identity, identity.modified == stamp)
    }
}
