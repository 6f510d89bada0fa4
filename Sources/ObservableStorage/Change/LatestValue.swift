/// A slot for one value: the writer replaces what is in it, a reader takes it out or waits for it.
///
/// Where a stream's buffer grows with a slow reader, this keeps the newest value only; the last one always arrives.
public final class LatestValue<Value: Sendable>: Sendable {
    // Holds boxes of this type only.
    let slot = LatestSlot()

    /// Makes an empty slot.
    public init() {}

    /// Puts a value into the slot, in place of one that nobody took, or hands it to the reader that waits.
    public func send(_ value: Value) {
        let box = Box(value)
        slot.put(box)?.resume(returning: box)
    }

    /// Ends the values; one that still waits in the slot can be taken.
    public func finish() {
        slot.end(keepingValue: true)
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
            self.slot.end(keepingValue: false)
        }
    }
}
