import Foundation

/// The lock that the writers of a property list hold one at a time, threads and processes alike.
///
/// It is on a file of its own beside the property list, `.NAME.lock`, because a property list's inode is replaced by each
/// write. The lock file stays when the lock is gone: removing it would let two writers in, one by the old file, one by a
/// new one.
struct FileLock {
    let target: ResolvedPath
    let calls: FileSystemCalls
    let lockPath: String
    private let timeout: Duration
    private let start = ContinuousClock.now

    private static let shortestPause = Duration.microseconds(200)
    private static let longestPause = Duration.milliseconds(5)

    /// Does something while no other writer of the path can.
    ///
    /// - Throws: ``StorageError/locked(file:waited:)`` when others kept the lock for that long,
    ///   ``StorageError/unwritable(file:reason:)`` when there is no locking it, and what `body` throws.
    static func withLock<Result>(
        for target: ResolvedPath, timeout: Duration, calls: FileSystemCalls = .live, body: () throws -> Result
    ) throws -> Result {
        let lock = FileLock(target: target, timeout: timeout, calls: calls)
        let descriptor = try lock.acquire()
        defer { lock.release(descriptor) }
        return try body()
    }

    private init(target: ResolvedPath, timeout: Duration, calls: FileSystemCalls) {
        self.target = target
        self.timeout = timeout
        self.calls = calls
        lockPath = target.sibling(SideFileName(of: target.name).lock)
    }

    private func acquire() throws(StorageError) -> Int32 {
        var pause = Self.shortestPause
        while true {
            let descriptor = try open()
            do throws(StorageError) {
                try wait(for: descriptor, pause: &pause)
                if try isInPlace(descriptor) { return renewed(descriptor) ?? descriptor }
                // Someone removed the file meanwhile, and the next writer makes another: that is the one to hold.
                try checkTime()
            } catch {
                calls.discard(descriptor)
                throw error
            }
            calls.discard(descriptor)
        }
    }

    func release(_ descriptor: Int32) {
        do throws(SystemError) {
            // Closing alone would leave it locked while a child process that is just being started has it open.
            try calls.uninterrupted { () throws(SystemError) in try calls.unlock(descriptor) }
        } catch {
            // Closing lets go of it as well.
        }
        calls.discard(descriptor)
    }

    private func wait(for descriptor: Int32, pause: inout Duration) throws(StorageError) {
        while true {
            do throws(SystemError) {
                return try calls.uninterrupted { () throws(SystemError) in try calls.lock(descriptor) }
            } catch let error where error.code == EWOULDBLOCK {
                let left = try checkTime()
                // Half of it by chance, so that those who wait do not all come at once.
                calls.pause(min(left, pause * Double.random(in: 0.5...1)))
                pause = min(pause * 2, Self.longestPause)
            } catch {
                throw unlockable(error.isDenied || error.code == ENOLCK ? "its file system has no locks: \(error.reason)" : error.reason)
            }
        }
    }

    /// The time left to wait.
    @discardableResult
    private func checkTime() throws(StorageError) -> Duration {
        let left = timeout - start.duration(to: .now)
        guard left > .zero else { throw .locked(file: target.path, waited: timeout) }
        return left
    }
}

extension FileLock {
    func unlockable(_ reason: String) -> StorageError {
        .unwritable(file: target.path, reason: "its lock file \(lockPath) cannot be used: \(reason)")
    }
}
