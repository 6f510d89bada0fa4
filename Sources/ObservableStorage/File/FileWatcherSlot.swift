/// Holds what has not been read yet: how changes are noticed since the last news of that, what is never noticed, and whether to look.
final class FileWatcherSlot: Sendable {
    private typealias Waiter = CheckedContinuation<FileWatcher.Event?, Never>

    private struct State {
        var mechanism: FileWatcher.Event?
        var limit: FileWatcher.Event?
        var look: FileWatcher.Event?
        var waiters: [Waiter] = []
        var isFinished = false

        mutating func take() -> FileWatcher.Event? {
            mechanism.take() ?? limit.take() ?? look.take()
        }
    }

    private let state = Guarded(State())

    /// Adds an event, unless the same is waiting already.
    func put(_ event: FileWatcher.Event) {
        let waiter = state.withLock { state -> Waiter? in
            guard !state.isFinished else { return nil }
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            switch event {
            case .lookAgain: state.look = event
            case .fallback, .recovered: state.mechanism = event
            case .incomplete: state.limit = event
            }
            return nil
        }
        waiter?.resume(returning: event)
    }

    /// The next event, as soon as there is one; nil once finished.
    func next() async -> FileWatcher.Event? {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> FileWatcher.Event?? in
                if state.isFinished { return .some(nil) }
                if let event = state.take() { return event }
                state.waiters.append(continuation)
                return nil
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// Ends every wait, now and later.
    func finish() {
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
