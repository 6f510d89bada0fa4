/// Deliveries in the order in which they were decided, made by one thread at a time and under no lock.
///
/// What is appended while a delivery runs, also by that delivery itself, is delivered after it.
final class Outbox: Sendable {
    typealias Delivery = @Sendable () -> Void

    private struct State {
        var deliveries: [Delivery] = []
        var isDelivering = false
    }

    /// Readers that a delivery has given a value, and that are resumed after it.
    let wakeups = Wakeups()
    private let state = Guarded(State())

    /// Appends a delivery. May be called under the lock that decides the order; runs nothing.
    func append(_ delivery: @escaping Delivery) {
        state.withLock { $0.deliveries.append(delivery) }
    }

    /// Delivers what was appended, or leaves it to the thread that is delivering already.
    func deliver() {
        guard var batch = begin() else { return }
        while !batch.isEmpty {
            for delivery in batch {
                delivery()
                wakeups.wake()
            }
            batch = take()
        }
    }

    private func begin() -> [Delivery]? {
        state.withLock { state in
            guard !state.isDelivering, !state.deliveries.isEmpty else { return nil }
            state.isDelivering = true
            return Self.empty(&state)
        }
    }

    private func take() -> [Delivery] {
        state.withLock { state in
            state.isDelivering = !state.deliveries.isEmpty
            return Self.empty(&state)
        }
    }

    private static func empty(_ state: inout State) -> [Delivery] {
        let batch = state.deliveries
        state.deliveries = []
        return batch
    }
}
