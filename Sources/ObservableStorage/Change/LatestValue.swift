/// A slot for one value: the writer replaces what is in it, a reader takes it out or waits for it.
///
/// Where a stream's buffer grows with a slow reader, this keeps the newest value only; the last one always arrives.
public final class LatestValue<Value: Sendable>: Sendable {
    // Holds boxes of this type only.
    private let slot = LatestSlot()

    /// Makes an empty slot.
    public init() {}

    /// Puts a value into the slot, in place of one that nobody took, or hands it to the reader that waits.
    public func send(_ value: Value) {
        slot.put(Box(value))?()
    }

    /// The same; a reader that waits is resumed with others.
    func send(_ value: Value, waking wakeups: Wakeups) {
        if let wakeup = slot.put(Box(value)) { wakeups.add(wakeup) }
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
        AsyncStream { [slot, subscription] in
            defer { _ = subscription }
            guard let box = await slot.next() else { return nil }
            return unsafeDowncast(box, to: Box<Value>.self).value
        } onCancel: {
            subscription.cancel()
            self.end(keepingValue: false)
        }
    }

    private func end(keepingValue: Bool) {
        for wakeup in slot.end(keepingValue: keepingValue) { wakeup() }
    }
}
