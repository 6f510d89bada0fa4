import Foundation

/// The lock that the writers of a property list hold one at a time, threads and processes alike.
///
/// It is on a file of its own beside the property list, `.NAME.lock`, because a property list's inode is replaced by each
/// write. The lock file stays when the lock is gone: removing it would let two writers in, one by the old file, one by a
/// new one. Since others may remove it all the same, as those do who clean up temporary folders, whoever holds it asks
/// ``isInPlace()`` before relying on it.
///
/// Those who wait stand in the kernel's queue, and have their turn in the order in which they came.
struct FileLock {
    let target: ResolvedPath
    let calls: FileSystemCalls
    let lockPath: String
    /// Whether others were inside when it was asked for.
    private(set) var wasContended = false
    private let timeout: Duration
    private let start = ContinuousClock.now
    private var descriptor: Int32 = -1
    private let forks = LockDescriptors.forks

    // A commit holds it for less than that, unless somebody else keeps the disk busy.
    private static let firstPause = Duration.microseconds(50)
    private static let mostPauses = 4
    private static let longestLook = Duration.milliseconds(100)
    // However much others do meanwhile, nobody waits for ever.
    private static let mostTimeouts = 30

    /// Does something while no other writer of the path can.
    ///
    /// - Parameter timeout: how long others may keep it without anything becoming of the file; while they write, it is waited for.
    /// - Throws: ``StorageError/locked(file:waited:)`` when others kept the lock for that long,
    ///   ``StorageError/unwritable(file:reason:)`` when there is no locking it, and what `body` throws.
    static func withLock<Result>(
        for target: ResolvedPath, timeout: Duration, calls: FileSystemCalls = .live, body: (_ lock: FileLock) throws -> Result
    ) throws -> Result {
        var lock = FileLock(target: target, timeout: timeout, calls: calls)
        try lock.acquire()
        defer { lock.release() }
        return try body(lock)
    }

    private init(target: ResolvedPath, timeout: Duration, calls: FileSystemCalls) {
        self.target = target
        self.timeout = timeout
        self.calls = calls
        lockPath = target.sibling(SideFileName(of: target.name).lock)
    }

    /// Whether the lock file is still the one at its path, so that nobody else can hold another one.
    func isInPlace() throws(StorageError) -> Bool {
        try isInPlace(descriptor)
    }

    private mutating func acquire() throws(StorageError) {
        while true {
            let opened = try open()
            descriptor = try wait(for: opened)
            do throws(StorageError) {
                if try isInPlace(descriptor) {
                    descriptor = renewed(descriptor) ?? descriptor
                    return
                }
                // Someone removed the file meanwhile, and the next writer makes another: that is the one to hold.
                try checkTime()
            } catch {
                discard(descriptor)
                throw error
            }
            discard(descriptor)
        }
    }

    private func release() {
        // A child that was forked meanwhile has closed its own descriptors of lock files.
        if LockDescriptors.forks == forks { Self.release(descriptor, calls: calls) }
    }

    /// Lets go of the lock of an open file, and closes it.
    static func release(_ descriptor: Int32, calls: FileSystemCalls) {
        do throws(SystemError) {
            // Closing alone would leave it locked while a child process that is just being started has it open.
            try calls.uninterrupted { () throws(SystemError) in try calls.unlock(descriptor) }
        } catch {
            // Closing lets go of it as well.
        }
        LockDescriptors.remove(descriptor)
        calls.discard(descriptor)
    }

    /// Closes a lock file that is not held, or not the right one.
    func discard(_ descriptor: Int32) {
        LockDescriptors.remove(descriptor)
        calls.discard(descriptor)
    }

    /// Takes the lock of an open file; returns the descriptor that has it, which may be another one.
    private mutating func wait(for descriptor: Int32) throws(StorageError) -> Int32 {
        do throws(StorageError) {
            // A thread is not worth its while for those who are just renaming.
            var pause = Self.firstPause
            for _ in 0..<Self.mostPauses {
                if try take(descriptor) { return descriptor }
                wasContended = true
                // Half of it by chance, so that those who wait do not all come at once.
                calls.pause(min(try checkTime(), pause * Double.random(in: 0.5...1)))
                pause = pause * 2
            }
            if try take(descriptor) { return descriptor }
            try checkTime()
        } catch {
            discard(descriptor)
            throw error
        }
        return try wait(for: turn(descriptor))
    }

    private func take(_ descriptor: Int32) throws(StorageError) -> Bool {
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.lock(descriptor) }
            return true
        } catch let error where error.code == EWOULDBLOCK {
            return false
        } catch {
            throw unlockable(error)
        }
    }

    /// A turn in the queue: one that this process left before if it is for the file that is there now, or else a new one.
    private func turn(_ descriptor: Int32) throws(StorageError) -> LockTurn {
        while let turn = LockTurn.takeOver(path: lockPath) {
            do throws(StorageError) {
                if try isInPlace(turn.descriptor) {
                    discard(descriptor)
                    return turn
                }
            } catch {
                discard(descriptor)
                leave(turn)
                throw error
            }
            leave(turn, forGood: true)
        }
        return LockTurn.begin(descriptor, path: lockPath, calls: calls)
    }

    private func wait(for turn: LockTurn) throws(StorageError) -> Int32 {
        var (known, since) = (state, ContinuousClock.now)
        while true {
            let now = ContinuousClock.now
            let left = min(timeout - since.duration(to: now), timeout * Self.mostTimeouts - start.duration(to: now))
            guard left > .zero else {
                leave(turn)
                throw .locked(file: target.path, waited: timeout)
            }
            do throws(SystemError) {
                if try turn.wait(for: min(left, Self.longestLook)) { return turn.descriptor }
            } catch {
                discard(turn.descriptor)
                throw unlockable(error)
            }
            // Those before who make progress let go in the end.
            let state = state
            if state != known { (known, since) = (state, .now) }
        }
    }

    private func leave(_ turn: LockTurn, forGood: Bool = false) {
        if !turn.leave(forGood: forGood) { Self.release(turn.descriptor, calls: calls) }
    }

    /// What a writer's progress changes.
    private var state: FileIdentity? {
        do throws(SystemError) {
            return try calls.status(at: target.path)?.identity
        } catch {
            return nil
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

    private func unlockable(_ error: SystemError) -> StorageError {
        unlockable(error.isDenied || error.code == ENOLCK ? "its file system has no locks: \(error.reason)" : error.reason)
    }
}
