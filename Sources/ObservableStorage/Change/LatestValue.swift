/// A slot for one value: the writer replaces what is in it, a reader takes it out or waits for it.
///
/// Where a stream's buffer grows with a slow reader, this keeps the newest value only; the last one always arrives.
public final class LatestValue<Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value?, Never>

    private struct State {
        var value: Value?
        var waiters: [Waiter] = []
        var isFinished = false
    }

    private let state = Guarded(State())

    /// Makes an empty slot.
    public init() {}

    /// Puts a value into the slot, in place of one that nobody took, or hands it to the reader that waits.
    public func send(_ value: Value) {
        let waiter = state.withLock { state -> Waiter? in
            if state.isFinished { return nil }
            if state.waiters.isEmpty {
                state.value = value
                return nil
            }
            return state.waiters.removeFirst()
        }
        waiter?.resume(returning: value)
    }

    /// Ends the values; one that still waits in the slot can be taken.
    public func finish() {
        end(keepingValue: true)
    }

    /// The values from now on. Each goes to one reader: for several readers make several slots.
    public var values: AsyncStream<Value> {
        stream(onEnd: ObservationToken {})
    }

    /// The values as a stream that keeps a subscription going and ends it when it is cancelled or dropped.
    func stream(onEnd subscription: ObservationToken) -> AsyncStream<Value> {
        // The closure is released when the stream is dropped, and the subscription that it captures with it.
        AsyncStream { [subscription] in
            defer { _ = subscription }
            return await self.next()
        } onCancel: {
            subscription.cancel()
            self.end(keepingValue: false)
        }
    }

    /// The value in the slot, or the next one that comes, or nil when there will be none.
    func next() async -> Value? {
        if let ready = state.withLock({ Self.take(&$0) }) { return ready }
        return await withCheckedContinuation { waiter in
            let ready = state.withLock { state -> Value?? in
                let ready = Self.take(&state)
                if ready == nil { state.waiters.append(waiter) }
                return ready
            }
            if let ready { waiter.resume(returning: ready) }
        }
    }

    private static func take(_ state: inout State) -> Value?? {
        if let value = state.value.take() { return .some(value) }
        return state.isFinished ? .some(nil) : nil
    }

    private func end(keepingValue: Bool) {
        let waiters = state.withLock { state in
            state.isFinished = true
            if !keepingValue { state.value = nil }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: nil) }
    }
}
