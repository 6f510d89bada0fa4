/// A slot for one value of any type. Without the type, waiting and handing over cost the same for every one.
final class LatestSlot: Sendable {
    /// A reader that waits, and what it is to get: resuming it may come later, and on another thread.
    struct Wakeup: Sendable {
        fileprivate let reader: UnsafeContinuation<AnyBox?, Never>
        fileprivate let box: AnyBox?

        func callAsFunction() {
            reader.resume(returning: box)
        }
    }

    private struct State: Sendable {
        var box: AnyBox?
        // Readers that wait, hardly ever more than one; there is no value in the slot then.
        var reader: UnsafeContinuation<AnyBox?, Never>?
        var others: [UnsafeContinuation<AnyBox?, Never>] = []
        var isFinished = false

        mutating func nextReader() -> UnsafeContinuation<AnyBox?, Never>? {
            guard let first = reader.take() else { return nil }
            if !others.isEmpty { reader = others.removeFirst() }
            return first
        }
    }

    private let state = Guarded(State())

    /// Puts a value into the slot in place of one that nobody took, or gives it to a reader that waits, which then has to be resumed.
    func put(_ box: AnyBox) -> Wakeup? {
        // What nobody took leaves the lock, since its release may run code of the user's.
        let (reader, _) = state.withLock { state -> (UnsafeContinuation<AnyBox?, Never>?, AnyBox?) in
            if state.isFinished { return (nil, nil) }
            if let reader = state.nextReader() { return (reader, nil) }
            defer { state.box = box }
            return (nil, state.box)
        }
        return reader.map { Wakeup(reader: $0, box: box) }
    }

    /// Ends the values, and drops one that still waits in the slot if it is not to be kept.
    func end(keepingValue: Bool) -> [Wakeup] {
        let (readers, _) = state.withLock { state -> ([UnsafeContinuation<AnyBox?, Never>], AnyBox?) in
            state.isFinished = true
            let dropped = keepingValue ? nil : state.box.take()
            var readers: [UnsafeContinuation<AnyBox?, Never>] = []
            while let reader = state.nextReader() { readers.append(reader) }
            return (readers, dropped)
        }
        return readers.map { Wakeup(reader: $0, box: nil) }
    }

    /// The value in the slot, or the next one that comes, or nil when there will be none.
    func next() async -> AnyBox? {
        if let ready = take(orWait: nil) { return ready }
        return await withUnsafeContinuation { reader in
            if let ready = take(orWait: reader) { reader.resume(returning: ready) }
        }
    }

    private func take(orWait reader: UnsafeContinuation<AnyBox?, Never>?) -> AnyBox?? {
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
class AnyBox: @unchecked Sendable {
    // Sendable because it holds nothing; only a class that is not final may have subclasses, which add a Sendable value.
}

final class Box<Value: Sendable>: AnyBox, @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
