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

    /// Lets everyone take the lock who may write the property list, also if that was decided after the lock was made.
    func share(_ descriptor: Int32) throws(StorageError) {
        try using { () throws(SystemError) in
            let list = try calls.status(at: target.path)
            let own = try calls.status(of: descriptor).permissions
            let needed = permissions(besides: list)
            guard own & needed != needed else { return }
            try calls.setAccess(of: descriptor, to: own | needed, successorOf: list)
        }
    }

    private func openExisting() throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try calls.openFile(lockPath, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
        } catch let error where error.code == ENOENT {
            return nil
        } catch let error where error.code == EACCES || error.code == EROFS {
            // A lock file that this user may only read can be locked all the same.
            return try calls.openFile(lockPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        }
    }

    private func make() throws(SystemError) -> Int32? {
        calls.discard(try calls.openFolder(target.folder))
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try calls.openFile(lockPath, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        } catch let error where error.code == EEXIST {
            return nil
        }
        do throws(SystemError) {
            let list = try calls.status(at: target.path)
            try calls.setAccess(of: descriptor, to: permissions(besides: list), successorOf: list)
            return descriptor
        } catch {
            calls.discard(descriptor)
            throw error
        }
    }

    private func checked(_ descriptor: Int32) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            guard try calls.status(of: descriptor).kind == .file else { throw SystemError(EINVAL) }
            return descriptor
        } catch {
            calls.discard(descriptor)
            throw error
        }
    }

    /// Read and write for its owner, and for those who may write the property list.
    private func permissions(besides list: FileStatus?) -> mode_t {
        let writers = (list?.permissions ?? 0) & 0o022
        return 0o600 | writers | writers << 1
    }

    /// What stands in the lock file's place, where it is no file.
    private var objection: String? {
        do throws(SystemError) {
            return try calls.status(at: lockPath)?.kind.objection.map { "it \($0)" }
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
