import FoundationSubset

extension FileLock {
    private static let maximumAttempts = 100

    /// Opens the lock file, and creates it if there is none.
    func open() throws(StorageError) -> OpenFile {
        do throws(SystemError) {
            for _ in 0..<Self.maximumAttempts {
                if let descriptor = try openExisting() {
                    return try checked(descriptor)
                }
                if let file = try create() {
                    return file
                }
                // Another process created it in between; unless it was removed again, it can be opened now.
            }
            throw SystemError(EBUSY)
        } catch {
            if let error = calls.rules.pickedFileError(target.path, error) { throw error }
            // That this user may not write the list either is more specific.
            if error.code == EACCES, let list = calls.statusOrNil(at: target) { try calls.requireWritable(list, at: target) }
            throw unlockable(objection ?? reason(error))
        }
    }

    /// The status of an open lock file; nil if it is no longer the one at its path.
    func statusInPlace(of file: OpenFile) throws(StorageError) -> FileStatus? {
        do throws(SystemError) {
            return try calls.status(at: lockFile).flatMap { $0.identity.isSameFile(as: file.identity) ? $0 : nil }
        } catch {
            throw unlockable(error.reason)
        }
    }

    /// Replaces a held lock file that no longer has the property list's owner, group and permissions with a new one that is held as well;
    /// returns nil if that is not necessary or not possible.
    ///
    /// The old one is not changed: a user who may rename files in the folder may have put any file there.
    ///
    /// - Parameter own: the status of the held one.
    func renewed(_ file: OpenFile, _ own: FileStatus) -> OpenFile? {
        // If that fails, this user can use the old one as well.
        let renewed = calls.ifPossible { () throws(SystemError) -> OpenFile? in
            guard let list, list.kind == .file else { return nil }
            guard own.owner == geteuid() || geteuid() == 0, try !fits(file.descriptor, own, list) else { return nil }
            let path = target.temporaryFile(process: getpid(), random: calls.random())
            let new = try create(path, for: list)
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.lock(new.descriptor) }
                // A file system may determine owners and permissions itself.
                guard try fits(new.descriptor, calls.status(of: new.descriptor), list) else { throw SystemError(EPERM) }
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(path, lockFile) }
            } catch {
                discard(new.descriptor)
                calls.discardFile(path)
                return nil
            }
            // Processes that wait for it detect that it is no longer the one at its path.
            Self.release(file.descriptor, calls: calls)
            return new
        }
        return renewed ?? nil
    }

    /// Whether a lock file has the access permissions of a new one created by this user.
    private func fits(_ descriptor: Int32, _ lock: FileStatus, _ list: FileStatus) throws(SystemError) -> Bool {
        let permissions = permissions(besides: list)
        guard lock.hasAccess(permissions, besides: list) else { return false }
        if permissions == 0o600 { return true }
        return try calls.accessControlList(of: descriptor, lock) == acl(besides: list)?.adapted(to: lock, besides: list)
    }

    /// The access control list of a lock file; nil if it needs none.
    private func acl(besides list: FileStatus?) throws(SystemError) -> AccessControlList? {
        permissions(besides: list) == 0o600 ? nil : try calls.accessControlList(at: target, list)?.ofLock
    }

    private func openExisting() throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try openRegistered(lockFile, O_RDWR | O_NONBLOCK)
        } catch let error where error.code == ENOENT {
            return nil
        } catch let error where [EACCES, EPERM, EROFS].contains(error.code) {
            // A lock file that this user may only read, or nobody may change, can nevertheless be locked.
            return try openRegistered(lockFile, O_RDONLY | O_NONBLOCK)
        }
    }

    private func openRegistered(_ path: ResolvedPath, _ flags: Int32) throws(SystemError) -> Int32 {
        let descriptor = try calls.openFile(path, flags | O_NOFOLLOW | O_NOCTTY, 0o600)
        Self.register(descriptor)
        return descriptor
    }

    private func create() throws(SystemError) -> OpenFile? {
        do throws(SystemError) {
            return try create(lockFile, for: calls.status(at: target))
        } catch let error where error.code == EEXIST {
            return nil
        }
    }

    /// Creates a lock file that may be locked by all users who may write the property list.
    private func create(_ path: ResolvedPath, for list: FileStatus?) throws(SystemError) -> OpenFile {
        let descriptor = try openRegistered(path, O_RDWR | O_CREAT | O_EXCL)
        do throws(SystemError) {
            let own = try calls.status(of: descriptor)
            try calls.setAccess(of: descriptor, own, to: permissions(besides: list), acl: acl(besides: list), successorOf: list)
            // It has no content, and must be usable whenever the property list is. With protection it cannot be opened while the device is
            // locked, which writing then reports.
            calls.ifPossible { () throws(SystemError) in
                try calls.setProtection(of: descriptor, successorOf: nil, orTo: FileProtection.none)
            }
            return (descriptor, own.identity)
        } catch {
            discard(descriptor)
            calls.discardFile(path)
            throw error
        }
    }

    private func checked(_ descriptor: Int32) throws(SystemError) -> OpenFile {
        do throws(SystemError) {
            let status = try calls.status(of: descriptor)
            guard try objection(to: status) == nil else { throw SystemError(EINVAL) }
            return (descriptor, status.identity)
        } catch {
            discard(descriptor)
            throw error
        }
    }

    /// The reason why the file at the lock file's path is rejected; nil if it is accepted.
    ///
    /// The file is only locked, but that would allow anyone who may create files in the folder to block all writers, or to have files of
    /// other programs locked.
    private func objection(to lock: FileStatus) throws(SystemError) -> String? {
        if let objection = lock.kind.objection { return "it \(objection); remove it" }
        if lock.identity.size > 0 { return "it is not empty, so it may be another file that was moved there; move it away" }
        if lock.links > 1 { return "it has \(lock.links) names, so it may be another file that was linked there; remove it" }
        if lock.owner == geteuid() || lock.owner == 0 { return nil }
        if try calls.folderStatus(of: target)?.owner == lock.owner { return nil }
        if try calls.isTrusted(lock, besides: target, calls.status(at: target)) { return nil }
        return "it belongs to user \(lock.owner), who is not known to be allowed to write the property list; remove it"
    }

    /// Read and write permission for its owner, and for those who may write the property list.
    private func permissions(besides list: FileStatus?) -> mode_t {
        let writers = (list?.permissions ?? 0) & 0o022
        return 0o600 | writers | writers << 1
    }

    private func reason(_ error: SystemError) -> String {
        guard error.code == EACCES else { return error.reason }
        guard let lock = calls.statusOrNil(at: lockFile) else { return "\(error.reason) (creating it, which needs a writable folder)" }
        return """
            \(error.reason); its permissions are no longer those of the property list: let user \(lock.owner) or the superuser write the list \
            once, which renews it, or remove it
            """
    }

    /// The objection to the lock file, which is more specific than the system's error; nil if there is none.
    private var objection: String? {
        calls.statusOrNil(at: lockFile).flatMap { lock in
            calls.ifPossible { () throws(SystemError) in try objection(to: lock) } ?? nil
        }
    }
}
