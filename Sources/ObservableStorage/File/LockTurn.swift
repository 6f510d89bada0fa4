import Dispatch
import Foundation

/// A turn in the kernel's queue for the lock of an open file, which a thread of its own waits for: the call that waits knows no limit of time.
///
/// Whoever waits no longer leaves it. It cannot be taken out of the queue, so the next one of this process who waits for that file takes it over,
/// with the place that it has there; if nobody does, the lock is given back as soon as it is there.
final class LockTurn: Sendable {
    private enum State {
        case waiting, left, over
        case taken
        case failed(SystemError)
    }

    /// The open lock file, which is the waiting one's once the lock is taken, and the turn's until then.
    let descriptor: Int32
    private let path: String
    private let calls: FileSystemCalls
    private let state = Guarded(State.waiting)
    private let news = DispatchSemaphore(value: 0)

    private static let left = Guarded<[String: [LockTurn]]>([:])
    private static let stackSize = 128 << 10

    private init(_ descriptor: Int32, path: String, calls: FileSystemCalls) {
        self.descriptor = descriptor
        self.path = path
        self.calls = calls
    }

    /// Begins to wait for the lock of an open file.
    static func begin(_ descriptor: Int32, path: String, calls: FileSystemCalls) -> LockTurn {
        let turn = LockTurn(descriptor, path: path, calls: calls)
        let thread = Thread { turn.run() }
        thread.stackSize = stackSize
        thread.start()
        return turn
    }

    /// A turn that was left, to go on waiting with; nil if there is none.
    static func takeOver(path: String) -> LockTurn? {
        while let turn = left.withLock({ $0[path]?.popLast() }) {
            let isWaiting = turn.state.withLock { state in
                guard case .left = state else { return false }
                state = .waiting
                return true
            }
            if isWaiting { return turn }
        }
        return nil
    }

    /// Waits for some time; true when the lock is taken.
    func wait(for duration: Duration) throws(SystemError) -> Bool {
        _ = news.wait(timeout: .now() + .nanoseconds(max(0, duration.wholeNanoseconds)))
        let result: Result<Bool, SystemError> = state.withLock { state in
            switch state {
            case .taken: .success(true)
            case .failed(let error): .failure(error)
            case .waiting, .left, .over: .success(false)
            }
        }
        return try result.get()
    }

    /// Waits no longer; false if the lock is taken already, or will never be, so that the file is this caller's to close.
    func leave(forGood: Bool) -> Bool {
        let isLeft = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .left
            return true
        }
        if isLeft, !forGood { Self.left.withLock { $0[path, default: []].append(self) } }
        return isLeft
    }

    private func run() {
        let end: State
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.awaitLock(descriptor) }
            end = .taken
        } catch {
            end = .failed(error)
        }
        let isLeft = state.withLock { state in
            if case .left = state {
                state = .over
                return true
            }
            state = end
            return false
        }
        guard isLeft else { return _ = news.signal() }
        Self.left.withLock { turns in
            turns[path]?.removeAll { $0 === self }
            if turns[path]?.isEmpty == true { turns[path] = nil }
        }
        FileLock.release(descriptor, calls: calls)
    }
}
