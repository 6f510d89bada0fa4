import Dispatch

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

/// A slot for one value of any type. Without the type, waiting and handing over cost the same for every one.
final class LatestSlot: Sendable {
    /// Somebody who waits for a value: resuming comes after the lock, and may come later and on another thread.
    typealias Reader = UnsafeContinuation<AnyBox?, Never>

    private struct State: Sendable {
        var box: AnyBox?
        // Readers that wait, hardly ever more than one; there is no value in the slot then.
        var reader: Reader?
        var others: [Reader] = []
        var isFinished = false

        mutating func nextReader() -> Reader? {
            guard let first = reader.take() else { return nil }
            if !others.isEmpty { reader = others.removeFirst() }
            return first
        }
    }

    private let state = Guarded(State())

    /// Puts a value into the slot in place of one that nobody took.
    ///
    /// - Returns: a reader that waits, who has to be resumed with the value instead.
    func put(_ box: AnyBox) -> Reader? {
        let (reader, _) = state.take { state -> (Reader?, AnyBox?) in
            if state.isFinished { return (nil, nil) }
            if let reader = state.nextReader() { return (reader, nil) }
            defer { state.box = box }
            return (nil, state.box)
        }
        return reader
    }

    /// Ends the values, and drops one that still waits in the slot if it is not to be kept.
    func end(keepingValue: Bool) {
        let (readers, _) = state.take { state -> ([Reader], AnyBox?) in
            state.isFinished = true
            let dropped = keepingValue ? nil : state.box.take()
            var readers: [Reader] = []
            while let reader = state.nextReader() { readers.append(reader) }
            return (readers, dropped)
        }
        for reader in readers { reader.resume(returning: nil) }
    }

    /// The value in the slot, or the next one that comes, or nil when there will be none.
    func next() async -> AnyBox? {
        if let ready = take(orWait: nil) { return ready }
        return await withUnsafeContinuation { reader in
            if let ready = take(orWait: reader) { reader.resume(returning: ready) }
        }
    }

    /// Resumes readers that waited with the value that they got.
    static func resume(_ readers: [Reader], with box: AnyBox) {
        guard readers.count > few else {
            for reader in readers { reader.resume(returning: box) }
            return
        }
        // Resuming a reader costs far more than handing it the value, so the writer goes on meanwhile. One thread, so that readers run on the
        // others.
        DispatchQueue.global().async {
            for reader in readers { reader.resume(returning: box) }
        }
    }

    // As many as the writer resumes itself in less time than another thread would take to begin.
    private static let few = 8

    private func take(orWait reader: Reader?) -> AnyBox?? {
        state.withLock { state in
            if let box = state.box.take() { return .some(box) }
            if state.isFinished { return .some(nil) }
            if state.reader == nil {
                state.reader = reader
            } else if let reader {
                state.others.append(reader)
            }
            return nil
        }
    }
}

/// A value behind a reference, its type known to whoever put it there.
typealias AnyBox = any AnyObject & Sendable

final class Box<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
