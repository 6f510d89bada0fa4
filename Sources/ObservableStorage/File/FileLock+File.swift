import Foundation

extension FileLock {
    private static let mostAttempts = 100

    /// Opens the lock file, and makes it if there is none.
    func open() throws(StorageError) -> Int32 {
        do throws(SystemError) {
            for _ in 0..<Self.mostAttempts {
                if let descriptor = try openExisting() {
                    return try checked(descriptor)
                }
                if let descriptor = try make() {
                    return descriptor
                }
                // Another process made it in between; unless it is gone again, it can be opened now.
            }
            throw SystemError(EBUSY)
        } catch {
            throw unlockable(objection ?? error.reason)
        }
    }

    /// Whether an open lock file is still the one at its path.
    func isInPlace(_ descriptor: Int32) throws(StorageError) -> Bool {
        try using { () throws(SystemError) in
            guard let there = try calls.status(at: lockPath) else { return false }
            return try calls.status(of: descriptor).identity.isSameFile(as: there.identity)
        }
    }

    /// Puts a new lock file in the place of a held one that does not have the list's owner, group and permissions any more, holds it as well,
    /// and returns it; nil if there is no need, or no way.
    ///
    /// The old one is left as it is: whoever may rename files in the folder may have put any file there.
    func renewed(_ descriptor: Int32) -> Int32? {
        do throws(SystemError) {
            guard let list = try calls.status(at: target.path), list.kind == .file else { return nil }
            let own = try calls.status(of: descriptor)
            guard own.owner == geteuid() || geteuid() == 0, !fits(own, list) else { return nil }
            let path = target.sibling(SideFileName(of: target.name).temporary(process: getpid(), random: calls.random()))
            let new = try make(path, for: list)
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.lock(new) }
                // A file system may have owners and permissions of its own.
                guard try fits(calls.status(of: new), list) else { throw SystemError(EPERM) }
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(path, lockPath) }
            } catch {
                discard(new)
                remove(path)
                return nil
            }
            // Those who wait for it see that it is not the one at its path any more.
            Self.release(descriptor, calls: calls)
            return new
        } catch {
            // The old one is as good for this user.
            return nil
        }
    }

    /// Whether a lock file is as good as a new one would be that this user makes.
    private func fits(_ lock: FileStatus, _ list: FileStatus) -> Bool {
        let isOfGroup = lock.group == list.group
        let needed = permissions(besides: list)
        let attainable = isOfGroup || mayGive(list.group) ? needed : FileStatus.commonPermissions(needed)
        let needsGroup = !isOfGroup && attainable & 0o060 != 0 && mayGive(list.group)
        guard lock.permissions & attainable == attainable, !needsGroup else { return false }
        return lock.owner == list.owner || geteuid() != 0
    }

    private func mayGive(_ group: gid_t) -> Bool {
        guard geteuid() != 0, group != getegid() else { return true }
        return [gid_t](unsafeUninitializedCapacity: Int(max(0, getgroups(0, nil)))) { groups, count in
            count = Int(max(0, getgroups(Int32(groups.count), groups.baseAddress)))
        }.contains(group)
    }

    private func openExisting() throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try openRegistered(lockPath, O_RDWR | O_NONBLOCK)
        } catch let error where error.code == ENOENT {
            return nil
        } catch let error where error.code == EACCES || error.code == EROFS {
            // A lock file that this user may only read can be locked all the same.
            return try openRegistered(lockPath, O_RDONLY | O_NONBLOCK)
        }
    }

    private func openRegistered(_ path: String, _ flags: Int32) throws(SystemError) -> Int32 {
        let descriptor = try calls.openFile(path, flags | O_NOFOLLOW | O_NOCTTY, 0o600)
        LockDescriptors.add(descriptor)
        return descriptor
    }

    private func make() throws(SystemError) -> Int32? {
        calls.discard(try calls.openFolder(target.folder))
        do throws(SystemError) {
            return try make(lockPath, for: calls.status(at: target.path))
        } catch let error where error.code == EEXIST {
            return nil
        }
    }

    /// Makes a lock file that everyone may take who may write the property list.
    private func make(_ path: String, for list: FileStatus?) throws(SystemError) -> Int32 {
        let descriptor = try openRegistered(path, O_RDWR | O_CREAT | O_EXCL)
        do throws(SystemError) {
            try calls.setAccess(of: descriptor, to: permissions(besides: list), successorOf: list)
            return descriptor
        } catch {
            discard(descriptor)
            remove(path)
            throw error
        }
    }

    private func remove(_ path: String) {
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(path) }
        } catch {
            // The error that led here is the one to report.
        }
    }

    private func checked(_ descriptor: Int32) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            guard try objection(to: calls.status(of: descriptor)) == nil else { throw SystemError(EINVAL) }
            return descriptor
        } catch {
            discard(descriptor)
            throw error
        }
    }

    /// Why what stands in the lock file's place is not taken for one; nil if it is.
    ///
    /// Holding it is all that is ever done with it, but that alone would let anyone who may make files in the folder keep all writers out, or
    /// have another program's files held.
    private func objection(to lock: FileStatus) throws(SystemError) -> String? {
        if let objection = lock.kind.objection { return "it \(objection)" }
        if lock.identity.size > 0 { return "it is not empty, so it may be another file that was moved there; move it away" }
        if lock.links > 1 { return "it has \(lock.links) names, so it may be another file that was linked there; remove it" }
        if lock.owner == geteuid() || lock.owner == 0 { return nil }
        if try calls.status(at: target.folder)?.owner == lock.owner { return nil }
        if let list = try calls.status(at: target.path) {
            let isOfGroup = lock.group == list.group && list.permissions & 0o020 != 0
            if lock.owner == list.owner || isOfGroup || list.permissions & 0o002 != 0 { return nil }
        }
        return "it belongs to user \(lock.owner), who may write neither the property list nor its folder; remove it"
    }

    /// Read and write for its owner, and for those who may write the property list.
    private func permissions(besides list: FileStatus?) -> mode_t {
        let writers = (list?.permissions ?? 0) & 0o022
        return 0o600 | writers | writers << 1
    }

    /// Why the lock file cannot be used, where what stands in its place says more than the system does.
    private var objection: String? {
        do throws(SystemError) {
            return try calls.status(at: lockPath).flatMap { status throws(SystemError) in try objection(to: status) }
        } catch {
            // The first error is the one to report.
            return nil
        }
    }

    private func using<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw unlockable(error.reason)
        }
    }
}
