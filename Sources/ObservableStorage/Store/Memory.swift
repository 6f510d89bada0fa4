import PropertyListCoding

/// A store's memory: every call is one short critical section, and observers are told after it, in its order.
final class Memory: Sendable {
    typealias Observers = ChangePublisher<StoredChange>

    private struct Contents {
        var state: MemoryState
        var observers = ObserverTable()
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

    /// What is stored, inherited and registered under a name.
    func entry(_ name: EntryName) -> StoredEntry {
        guarded.withLock { $0.state.entry(name) }
    }

    /// Changes the state and queues what observers are to be told about it; ``deliver()`` tells them.
    ///
    /// - Parameters:
    ///   - muted: the subscription that is not told.
    ///   - body: returns the changes that it made.
    /// - Returns: whether there is anything to tell, and whether a flush has to be scheduled.
    func change<Failure: Error>(
        muting muted: UInt64 = 0, _ body: (inout MemoryState) throws(Failure) -> [StoredChange]
    ) throws(Failure) -> (hasNews: Bool, needsFlush: Bool) {
        // The changes leave the lock with the old values, whose release may run code of the user's.
        let outcome = try guarded.withLock { (guarded) throws(Failure) in
            let changes = try body(&guarded.state)
            post(changes, to: guarded, muting: muted)
            return (changes: changes, needsFlush: guarded.state.needsFlushScheduled())
        }
        return (!outcome.changes.isEmpty, outcome.needsFlush)
    }

    private func post(_ changes: [StoredChange], to contents: Contents, muting muted: UInt64) {
        contents.observers.post(changes, muting: muted, state: contents.state)
        for change in changes {
            allObservers.post(change, muting: muted)
            if let signal = contents.signals[change.key] { outbox.append { signal.notify() } }
        }
    }

    /// What Observation tracks for an entry.
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
            for observers in guarded.observers.all { observers.postFinish() }
            guarded.observers = ObserverTable()
            allObservers.postFinish()
        }
        outbox.deliver()
    }
}

extension Memory {
    /// Subscribes to one entry. With `initial`, what is there now comes first, as a change from itself.
    func observe(
        _ name: EntryName, initial: Bool, life: SubscriptionLife = SubscriptionLife(),
        onReceive: @escaping @Sendable (StoredChange) -> Void, onFinish: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        let token = guarded.withLock { guarded in
            let observers = guarded.observers[name] ?? Observers(outbox: outbox)
            if guarded.isFinished {
                observers.postFinish()
            } else {
                guarded.observers[name] = observers
            }
            return observers.add(
                initial: initial ? guarded.state.current(name) : nil, life: life, onReceive: onReceive, onFinish: onFinish,
                onCancel: { [weak self] in self?.forgetIdleObservers(of: name) })
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

    private func forgetIdleObservers(of name: EntryName) {
        guarded.withLock { guarded in
            if guarded.observers[name]?.isIdle == true { guarded.observers[name] = nil }
        }
    }
}
