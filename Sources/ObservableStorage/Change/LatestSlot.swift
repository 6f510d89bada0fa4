import Dispatch

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
class AnyBox: @unchecked Sendable {
    // Sendable because it holds nothing; only a class that is not final may have subclasses, which add a Sendable value.
}

final class Box<Value: Sendable>: AnyBox, @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
