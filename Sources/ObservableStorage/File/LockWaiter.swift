import Dispatch
import FoundationSubset

/// A thread that waits in the kernel's queue for the lock of an open file: the blocking call has no time limit.
///
/// An abandoned waiter cannot be removed from the queue. The next waiter of this process for the same file takes it over, with its position
/// in the queue; otherwise the lock is released as soon as it is acquired.
final class LockWaiter: Sendable {
    /// The open lock file, which belongs to the waiter, and to the waiting caller after the lock is acquired.
    let file: FileLock.OpenFile
    private let path: String
    private let calls: FileSystemCalls
    /// The result of waiting, nil before its end, and whether the waiter is abandoned.
    private let state = Lock<(result: Result<Bool, SystemError>?, isAbandoned: Bool)>((nil, false))
    private let ended = DispatchSemaphore(value: 0)

    private static let abandoned = Lock<[LockWaiter]>([])
    private static let stackSize = 128 << 10

    private init(_ file: FileLock.OpenFile, path: String, calls: FileSystemCalls) {
        self.file = file
        self.path = path
        self.calls = calls
    }

    /// Starts to wait for the lock of an open file.
    static func start(_ file: FileLock.OpenFile, path: String, calls: FileSystemCalls) -> LockWaiter {
        let waiter = LockWaiter(file, path: path, calls: calls)
        let code = startThread(stackSize: stackSize) { waiter.run() }
        if code != 0 { waiter.end(.failure(SystemError(code))) }
        return waiter
    }

    /// Returns an abandoned waiter for the file, to continue waiting; nil if there is none.
    static func takeOver(path: String) -> LockWaiter? {
        while let waiter = abandoned.withLock({ all in all.lastIndex { $0.path == path }.map { all.remove(at: $0) } }) {
            let isWaiting = waiter.state.withLock { state in
                guard state.result == nil, state.isAbandoned else { return false }
                state.isAbandoned = false
                return true
            }
            if isWaiting { return waiter }
        }
        return nil
    }

    /// Waits up to a time limit; returns true after the lock is acquired.
    func wait(for duration: Duration) throws(SystemError) -> Bool {
        _ = ended.wait(timeout: .after(duration))
        return try state.withLock { $0.result }?.get() ?? false
    }

    /// Stops waiting; returns false if waiting has ended, so that the caller has to close the file.
    func abandon(forGood: Bool) -> Bool {
        // Under both locks, so that one that ends meanwhile is not added afterwards.
        Self.abandoned.withLock { abandoned in
            let isWaiting = state.withLock { state in
                guard state.result == nil else { return false }
                state.isAbandoned = true
                return true
            }
            if isWaiting, !forGood { abandoned.append(self) }
            return isWaiting
        }
    }

    private func run() {
        let result = Result { () throws(SystemError) in
            try calls.uninterrupted { () throws(SystemError) in try calls.awaitLock(file.descriptor) }
            return true
        }
        guard !end(result) else { return }
        Self.abandoned.withLock { $0.removeAll { $0 === self } }
        FileLock.release(file.descriptor, calls: calls)
    }

    /// Records the result; returns false if the waiter was abandoned meanwhile.
    @discardableResult
    private func end(_ result: Result<Bool, SystemError>) -> Bool {
        let isAbandoned = state.withLock { state in
            state.result = result
            return state.isAbandoned
        }
        if !isAbandoned { ended.signal() }
        return !isAbandoned
    }
}
