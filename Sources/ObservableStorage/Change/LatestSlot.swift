import Dispatch

/// A slot for one boxed value: the writer replaces its value, a reader takes the value or waits for it.
///
/// Unlike the buffer of a stream, it keeps only the newest value for a slow reader; the last one is always delivered. Not generic, because
/// generic code looks up its types in each call.
final class LatestSlot: Sendable {
    /// A reader that waits for a value. It is resumed outside the lock, possibly later and on another thread.
    typealias Reader = UnsafeContinuation<AnyBox?, Never>

    private struct State: Sendable {
        var box: AnyBox?
        // Waiting readers, rarely more than one; the slot has no value then.
        var reader: Reader?
        var others: [Reader] = []
        var isFinished = false

        mutating func nextReader() -> Reader? {
            guard let first = reader.take() else { return nil }
            if !others.isEmpty { reader = others.removeFirst() }
            return first
        }
    }

    private let state = Lock(State())

    /// Puts a value into the slot, replacing one that was not taken.
    ///
    /// - Returns: a waiting reader, which must be resumed with the value instead.
    func put(_ box: AnyBox) -> Reader? {
        let (reader, _) = state.take { state -> (Reader?, AnyBox?) in
            if state.isFinished { return (nil, nil) }
            if let reader = state.nextReader() { return (reader, nil) }
            defer { state.box = box }
            return (nil, state.box)
        }
        return reader
    }

    /// Puts a value into the slot, or passes it to the waiting reader.
    func send(_ box: AnyBox) {
        put(box)?.resume(returning: box)
    }

    /// Ends the values, and removes a value that is still in the slot unless it is to be kept.
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

    /// The value in the slot, or the next one, or nil after the end.
    func next() async -> AnyBox? {
        if let ready = take(orWait: nil) { return ready }
        return await withUnsafeContinuation { reader in
            if let ready = take(orWait: reader) { reader.resume(returning: ready) }
        }
    }

    /// Resumes waiting readers with their value.
    static func resume(_ readers: [Reader], with box: AnyBox) {
        guard readers.count > inlineLimit else {
            for reader in readers { reader.resume(returning: box) }
            return
        }
        // Resuming a reader takes far longer than filling its slot, so the writer does not wait for it. On one thread, which leaves the
        // others to the readers.
        DispatchQueue.global().async {
            for reader in readers { reader.resume(returning: box) }
        }
    }

    /// The values of the slot, which is filled with boxes of the type, each delivered to one reader.
    ///
    /// - Parameter subscription: retained by the stream, and ended when that is cancelled or released.
    func values<Value: Sendable>(of type: Value.Type = Value.self, onEnd subscription: ObservationToken? = nil) -> AsyncStream<Value> {
        // The closure is released with the stream, and with it the subscription that it captures.
        AsyncStream { [self, subscription] in
            defer { _ = subscription }
            guard let box = await next() else { return nil }
            return unsafeDowncast(box, to: Box<Value>.self).value
        } onCancel: {
            subscription?.cancel()
            self.end(keepingValue: false)
        }
    }

    // As many as can be resumed in the time that another thread takes to start.
    private static let inlineLimit = 8

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
