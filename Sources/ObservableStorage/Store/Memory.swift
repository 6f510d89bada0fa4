import PropertyListCoding

/// A store's memory: every call is one short critical section, and observers are told after it, in its order.
final class Memory: Sendable {
    typealias Observers = ChangePublisher<StoredChange>

    private struct Contents {
        var state: MemoryState
        var observers: [String: Observers] = [:]
        var signals: [String: KeySignal] = [:]
        var isFinished = false
    }

    private let guarded: Guarded<Contents>
    private let outbox = Outbox()
    private let allObservers: Observers

    init(entries: [String: PropertyListValue]) {
        guarded = Guarded(Contents(state: MemoryState(entries: entries)))
        allObservers = Observers(outbox: outbox)
    }

    /// What is stored and what is registered for a key.
    func entry(_ key: String) -> StoredEntry {
        guarded.withLock { $0.state.entry(key) }
    }

    /// Edits an entry, and queues what observers are to be told about it; ``deliver()`` tells them.
    ///
    /// - Returns: whether there is anything to tell, and whether a flush has to be scheduled.
    func edit(
        _ key: String, _ value: PropertyListValue?, muting muted: UInt64
    ) throws(StorageError) -> (hasNews: Bool, needsFlush: Bool) {
        // The change leaves the lock with the old value, whose release may run code of the user's.
        let outcome = try guarded.withLock { (guarded) throws(StorageError) in
            let change = try guarded.state.edit(key, value)
            if let change { post(change, to: guarded, muting: muted) }
            return (change: change, needsFlush: guarded.state.needsFlushScheduled())
        }
        return (outcome.change != nil, outcome.needsFlush)
    }

    /// Changes the state and queues what observers are to be told about it; ``deliver()`` tells them.
    ///
    /// - Returns: whether there is anything to tell, and whether a flush has to be scheduled.
    func change<Failure: Error>(
        _ body: (inout MemoryState) throws(Failure) -> [StoredChange]
    ) throws(Failure) -> (hasNews: Bool, needsFlush: Bool) {
        let outcome = try guarded.withLock { (guarded) throws(Failure) in
            let changes = try body(&guarded.state)
            for change in changes { post(change, to: guarded, muting: 0) }
            return (changes: changes, needsFlush: guarded.state.needsFlushScheduled())
        }
        return (!outcome.changes.isEmpty, outcome.needsFlush)
    }

    private func post(_ change: StoredChange, to contents: Contents, muting muted: UInt64) {
        contents.observers[change.key]?.post(change, muting: muted)
        allObservers.post(change, muting: muted)
        if let signal = contents.signals[change.key] { outbox.append { signal.notify() } }
    }

    /// What Observation tracks for a key.
    func signal(_ key: String) -> KeySignal {
        guarded.withLock { contents in
            if let signal = contents.signals[key] { return signal }
            let signal = KeySignal()
            contents.signals[key] = signal
            return signal
        }
    }

    /// Changes what observers are not told about.
    func update<Result: Sendable>(_ body: (inout MemoryState) -> Result) -> Result {
        guarded.withLock { body(&$0.state) }
    }

    /// Tells observers what has been queued, or leaves that to the thread that is telling them already.
    func deliver() {
        outbox.deliver()
    }

    /// Ends every observation, now and from now on.
    func finish() {
        guarded.withLock { guarded in
            guarded.isFinished = true
            for observers in guarded.observers.values { observers.postFinish() }
            guarded.observers = [:]
            allObservers.postFinish()
        }
        outbox.deliver()
    }
}

extension Memory {
    /// Subscribes to one entry. With `initial`, what is stored now comes first, as a change from itself.
    func observe(
        _ key: String, initial: Bool, onReceive: @escaping @Sendable (StoredChange) -> Void,
        onFinish: @escaping @Sendable () -> Void = {}
    ) -> ObservationToken {
        let token = guarded.withLock { guarded in
            let observers = guarded.observers[key] ?? Observers(outbox: outbox)
            if guarded.isFinished {
                observers.postFinish()
            } else {
                guarded.observers[key] = observers
            }
            return observers.add(
                initial: initial ? guarded.state.current(key) : nil, onReceive: onReceive, onFinish: onFinish,
                onCancel: { [weak self] in self?.forgetIdleObservers(of: key) })
        }
        outbox.deliver()
        return token
    }

    /// Subscribes to every entry.
    func observeAll(
        onReceive: @escaping @Sendable (StoredChange) -> Void, onFinish: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        let token = guarded.withLock { _ in allObservers.add(onReceive: onReceive, onFinish: onFinish) }
        outbox.deliver()
        return token
    }

    private func forgetIdleObservers(of key: String) {
        guarded.withLock { guarded in
            if guarded.observers[key]?.isIdle == true { guarded.observers[key] = nil }
        }
    }
}
