import FoundationSubset

/// The lock that one writer of a property list holds at a time, among threads and processes alike.
///
/// It is the lock of a separate file beside the property list, `.NAME.lock`, because each write replaces the property list's inode. The
/// lock file remains after the lock is released: removing it would admit two writers, one with the old file and one with a new one. Since
/// it may nevertheless be removed, for example by programs that clean up temporary folders, a holder calls ``isInPlace()`` before relying
/// on it.
///
/// Waiting writers are in the kernel's queue, and acquire the lock in the order of their requests, unless they poll. An ``Interruption``
/// ends their waiting.
final class FileLock {
    /// An open lock file. The device and the inode of an open file do not change.
    typealias OpenFile = (descriptor: Int32, identity: FileIdentity)

    let target: ResolvedPath
    let calls: FileSystemCalls
    let lockFile: ResolvedPath
    /// Whether the lock was held by another writer when it was requested.
    private(set) var wasContended = false
    /// The status of the property list after it was locked; nil if there was none, or it could not be read.
    private(set) var list: FileStatus?
    private let timeout: Duration
    private let isPolling: Bool
    private let start: ContinuousClock.Instant
    /// How often a waiter looks for an interruption, and whether others make progress.
    private let checkInterval: Duration
    /// The identities of the file and its journal, one of which changes if a writer makes progress, since when, and when they were read.
    private var progress: (identities: [FileIdentity?], since: ContinuousClock.Instant, read: ContinuousClock.Instant)
    /// The file that has the lock; nil before.
    private var held: OpenFile?
    private let forks = FileLock.forks

    // Longer than a commit holds the lock, unless the disk is busy.
    private static let firstPause = Duration.microseconds(50)
    private static let pausesBeforeThread = 4
    private static let longestPause = Duration.milliseconds(5)
    // Waiting is limited, even if other writers make progress.
    private static let maximumTimeouts = 30

    /// Runs a closure while no other writer of the path can.
    ///
    /// - Parameters:
    ///   - timeout: how long others may hold the lock without changing the file; while they write, waiting continues.
    ///   - isPolling: whether it waits by polling: a process that the system may suspend must not be in the kernel's queue, which an
    ///     abandoned thread cannot leave.
    /// - Throws: ``StorageError/locked(file:waited:)`` if others hold the lock for that long,
    ///   ``StorageError/suspended(file:edits:)`` if the call is interrupted before it has the lock,
    ///   ``StorageError/unwritable(file:reason:)`` if it cannot be locked, and the error of `body`.
    static func withLock<Result>(
        for target: ResolvedPath, timeout: Duration, isPolling: Bool = false, calls: FileSystemCalls = .live,
        body: (_ lock: FileLock) throws -> Result
    ) throws -> Result {
        let lock = FileLock(target: target, timeout: timeout, isPolling: isPolling, calls: calls)
        try lock.acquire()
        defer { lock.release() }
        return try body(lock)
    }

    private init(target: ResolvedPath, timeout: Duration, isPolling: Bool, calls: FileSystemCalls) {
        // Some centuries, of which a multiple can be counted.
        self.timeout = min(timeout, .seconds(1 << 32))
        checkInterval = min(.milliseconds(100), self.timeout / 4)
        (self.target, self.isPolling, self.calls) = (target, isPolling, calls)
        (lockFile, start) = (target.lockFile, calls.uptime())
        progress = ([], start, start)
    }

    /// Whether the lock file is still the one at its path, so that no other writer can hold another one.
    func isInPlace() throws(StorageError) -> Bool {
        guard let held else { return false }
        return try statusInPlace(of: held) != nil
    }

    private func acquire() throws(StorageError) {
        while true {
            // Also before the lock file is created.
            try requireUninterrupted()
            let file = try lock(open())
            do throws(StorageError) {
                if let status = try statusInPlace(of: file) {
                    list = calls.statusOrNil(at: target)
                    held = renewed(file, status) ?? file
                    return
                }
                // Another process removed the file meanwhile; the next writer creates another one, which has to be locked instead.
                try timeLeft()
            } catch {
                discard(file.descriptor)
                throw error
            }
            discard(file.descriptor)
        }
    }

    private func release() {
        // A child that was forked meanwhile has closed its own descriptors of lock files.
        if let held, Self.forks == forks { Self.release(held.descriptor, calls: calls) }
    }

    /// Locks an open file; returns the one that has the lock, which may have been opened before.
    private func lock(_ file: OpenFile) throws(StorageError) -> OpenFile {
        do throws(StorageError) {
            var pause = Self.firstPause
            for pauses in 0... {
                if try tryLock(file) { return file }
                wasContended = true
                let left = try timeLeft()
                // A writer that is only renaming finishes sooner than a thread is started.
                if pauses == Self.pausesBeforeThread, !isPolling { break }
                // Half of it is random, so that waiting writers do not try at the same time.
                calls.pause(min(left, pause * Double.random(in: 0.5...1)))
                pause = min(pause * 2, Self.longestPause)
            }
        } catch {
            discard(file.descriptor)
            throw error
        }
        return try wait(for: waiter(file))
    }

    private func tryLock(_ file: OpenFile) throws(StorageError) -> Bool {
        do throws(SystemError) {
            return try calls.tryLock(file.descriptor)
        } catch {
            throw unlockable(error)
        }
    }

    /// A waiter in the kernel's queue: an abandoned one, if it waits for the file that is at the path now, and otherwise a new one.
    private func waiter(_ file: OpenFile) throws(StorageError) -> LockWaiter {
        while let waiter = LockWaiter.takeOver(path: lockFile.path) {
            do throws(StorageError) {
                if try statusInPlace(of: waiter.file) != nil {
                    discard(file.descriptor)
                    return waiter
                }
            } catch {
                discard(file.descriptor)
                abandon(waiter)
                throw error
            }
            abandon(waiter, forGood: true)
        }
        return LockWaiter.start(file, path: lockFile.path, calls: calls)
    }

    private func wait(for waiter: LockWaiter) throws(StorageError) -> OpenFile {
        while true {
            let left: Duration
            do throws(StorageError) {
                left = try timeLeft()
            } catch {
                abandon(waiter)
                throw error
            }
            do throws(SystemError) {
                if try waiter.wait(for: min(left, checkInterval)) { return waiter.file }
            } catch {
                discard(waiter.file.descriptor)
                throw unlockable(error)
            }
        }
    }

    /// The time that is left to wait, which starts again when the file changes: writers that make progress release the lock eventually.
    ///
    /// Throws if no time is left, or if waiting is interrupted.
    @discardableResult
    private func timeLeft() throws(StorageError) -> Duration {
        try requireUninterrupted()
        let now = calls.uptime()
        var left = timeToLimit(from: now)
        // Not while others only take their turns: whoever has the lock would write the inode once more, see ``FileSystemCalls/untimedStatus``.
        if timeout > .zero, left <= .zero || progress.read.duration(to: now) >= checkInterval {
            let identities = [target, target.journal].map { calls.statusOrNil(at: $0)?.identity }
            // A waiter that did not run until its limit has nothing to compare with, and waits once more.
            let isUnchanged = identities == progress.identities || progress.identities.isEmpty && left > .zero
            progress = (identities, isUnchanged ? progress.since : now, now)
            left = timeToLimit(from: now)
        }
        guard left > .zero else { throw .locked(file: target.path, waited: timeout) }
        return left
    }

    /// The time until the next of both limits: without progress, and altogether.
    private func timeToLimit(from now: ContinuousClock.Instant) -> Duration {
        min(timeout - progress.since.duration(to: now), timeout * Self.maximumTimeouts - start.duration(to: now))
    }

    private func abandon(_ waiter: LockWaiter, forGood: Bool = false) {
        if !waiter.abandon(forGood: forGood) { Self.release(waiter.file.descriptor, calls: calls) }
    }

    private func requireUninterrupted() throws(StorageError) {
        if Interruption.current?.isRequested == true { throw .suspended(file: target.path) }
    }
}

extension FileLock {
    func unlockable(_ reason: String) -> StorageError {
        .unwritable(file: target.path, reason: "its lock file \(lockFile.path) cannot be used: \(reason)")
    }

    private func unlockable(_ error: SystemError) -> StorageError {
        unlockable(error.isDenied || error.code == ENOLCK ? "its file system has no locks: \(error.reason)" : error.reason)
    }
}
