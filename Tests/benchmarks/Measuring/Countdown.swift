import Synchronization

/// Counts arrivals from any thread, and notifies a writer when all have arrived.
final class Countdown: Sendable {
    private struct State {
        var waiter: CheckedContinuation<Void, Never>?
        var endedAt: UInt64?
    }

    private let left = Atomic(0)
    private let state = Mutex(State())

    /// Records an arrival.
    func arrive() {
        guard left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return }
        let now = Clock.now
        let waiter = state.withLock { state in
            state.endedAt = now
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Starts the given number of arrivals and waits for them.
    ///
    /// - Returns: the nanoseconds until `start` returned, and until the last arrival.
    func time(_ count: Int, _ start: () throws -> Void) async rethrows -> (start: Double, end: Double) {
        state.withLock { $0.endedAt = nil }
        left.store(count, ordering: .releasing)
        let begin = Clock.now
        try start()
        let started = Clock.now
        await withCheckedContinuation { waiter in
            let isOver = state.withLock { state in
                if state.endedAt == nil { state.waiter = waiter }
                return state.endedAt != nil
            }
            if isOver { waiter.resume() }
        }
        let end = state.withLock { $0.endedAt } ?? started
        return (Double(started - begin), Double(end - begin))
    }
}
