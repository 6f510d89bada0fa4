import PropertyListCoding

/// A store's memory: every call is one short critical section, and observers are told after it, each key's in its order.
final class Memory: Sendable {
    private struct Contents {
        var state: MemoryState
        var observers = ObserverTable()
        // Whether anybody observes all entries.
        var hasAllObservers = false
        var isFinished = false

        var isObserved: Bool { hasAllObservers || !observers.isEmpty }
    }

    /// Tells this memory from every other one that the process ever had.
    let id = UniqueNumber.next()
    private let guarded: Guarded<Contents>
    private let allObservers: ChangePublisher<StoredChange>
    // Where nothing is delivered that runs user code.
    private let executor: DispatchQueueExecutor

    init(entries: [String: PropertyListValue], executor: DispatchQueueExecutor) {
        guarded = Guarded(Contents(state: MemoryState(entries: entries)))
        allObservers = ChangePublisher(group: id)
        self.executor = executor
    }

    /// Whether anybody observes any entry, which costs every write.
    var isObserved: Bool {
        guarded.withLock { $0.isObserved }
    }

    /// What is stored, inherited and registered under a name at one moment.
    struct Found: Sendable {
        let entry: StoredEntry
        /// How old it is.
        let reading: Reading
        /// Whether its age tells all: a value that has no entry of its own yet may come from others.
        let isComplete: Bool
        /// The revision of a value of which nobody has noted yet that it is good.
        let newsRevision: UInt64?

        /// What keeps the value that counts once it is decoded, and how often it had changed.
        var source: (watch: EntryWatch?, changes: UInt64) {
            if entry.stored != nil { return (reading.own, reading.ownChanges) }
            return entry.inherited == nil ? (nil, 0) : (reading.inherited, reading.inheritedChanges)
        }
    }

    /// What is stored, inherited and registered under a name, and how old it is.
    ///
    /// - Parameter type: what the entry is read as.
    func read(_ name: EntryName, as type: ObjectIdentifier?) -> Found {
        guarded.withLock { contents in
            let inherited = name.inherited.map { contents.state.madeWatch($0) }
            let reading = Reading(store: id, own: contents.state.madeWatch(name.own), inherited: inherited)
            let entry = contents.state.entry(name)
            let history = type == nil || entry.stored == nil ? nil : contents.state.history(name.own)
            return Found(
                entry: entry, reading: reading,
                isComplete: name.hasEarlier ? contents.state.stored(name.own) != nil : entry.stored != nil,
                newsRevision: history.flatMap { history in type.flatMap { history.isNews($0) ? history.revision : nil } })
        }
    }

    /// What was stored and inherited before, the newest first.
    ///
    /// - Parameter includingPresent: whether what is there now comes too, for those who read something newer.
    func earlier(_ name: EntryName, includingPresent: Bool = false) -> (own: [PropertyListValue], inherited: [PropertyListValue]) {
        guarded.withLock { contents in
            func values(_ name: String) -> [PropertyListValue] {
                let present = includingPresent ? contents.state.stored(name) : nil
                return (present.map { [$0] } ?? []) + contents.state.earlier(name).values
            }
            return (values(name.own), name.inherited.map { values($0) } ?? [])
        }
    }

    // That the value that came in a revision is good for those who read the entry as a type.
    private func noteGood(_ name: String, _ type: ObjectIdentifier, revision: UInt64) {
        guarded.take { $0.state.noteGood(name, type, revision: revision) }
    }

    // Whether a bad value is to be reported: once for each.
    private func noteBad(_ name: String, _ stored: PropertyListValue) -> Bool {
        let hash = stored.hashValue
        return guarded.withLock { $0.state.noteBad(name, hash: hash) }
    }

    /// Notes whether a value could be decoded: earlier ones are kept until one could, and one that could not is reported, once.
    ///
    /// - Parameters:
    ///   - entry: what was decoded.
    ///   - revision: the revision in which it came; nil if all is known of it.
    /// - Returns: whether it has been reported just now.
    @discardableResult
    func noteDecoded<Value>(
        _ key: StorageKey<Value>, _ entry: StoredEntry, revision: UInt64?, _ failure: StorageError?, _ reports: FailureReports
    ) -> Bool {
        let name = entry.stored == nil ? key.body.entryName.inherited : key.name
        guard let name, let stored = entry.stored ?? entry.inherited else { return false }
        if let failure {
            guard noteBad(name, stored) else { return false }
            reports.report(failure)
            return true
        }
        if let revision, let type = key.body.type { noteGood(name, type, revision: revision) }
        return false
    }

    /// What readers of an entry hold on to.
    func watch(_ name: String) -> EntryWatch {
        guarded.withLock { $0.state.madeWatch(name) }
    }

    /// Sets the value that stands in for one that is not stored. Nobody is told.
    func register(_ value: PropertyListValue?, for name: String) {
        guarded.take { contents in
            defer { contents.state.watch(name)?.noteChange() }
            return contents.state.register(value, for: name)
        }
    }

    /// Changes the state and queues what observers are to be told about it; ``deliver(_:)`` tells them.
    ///
    /// - Parameters:
    ///   - muted: the subscription that is not told.
    ///   - body: returns the changes that it made.
    /// - Returns: what is to be told, and whether a flush has to be scheduled.
    func change<Failure: Error>(
        muting muted: UInt64 = 0, _ body: (inout MemoryState) throws(Failure) -> [StoredChange]
    ) throws(Failure) -> (news: Deliveries, needsFlush: Bool) {
        // The changes are taken out of the lock with the old values.
        let outcome = try guarded.take { (guarded) throws(Failure) in
            let changes = try body(&guarded.state)
            let removed = changes.compactMap { $0.isRemoval ? guarded.state.watch($0.key) : nil }
            return (
                changes: changes, removed: removed, news: post(changes, to: guarded, muting: muted),
                needsFlush: guarded.state.needsFlushScheduled()
            )
        }
        for watch in outcome.removed { watch.letGo() }
        return (outcome.news, outcome.needsFlush)
    }

    /// Sets or removes a key's entry; does what ``change(muting:_:)`` does, at less cost where nobody is told.
    func edit(
        _ key: AnyKeyBody, _ value: PropertyListValue?, muting muted: UInt64
    ) throws(StorageError) -> (news: Deliveries, needsFlush: Bool) {
        let name = key.entryName.own
        var hint = key.place.hint
        defer { key.place.hint = hint }
        let outcome = try guarded.take { (contents) throws(StorageError) in
            let exchange = try contents.state.exchange(name, value, hint: &hint)
            var news = Deliveries()
            if let exchange, exchange.isTracked || contents.isObserved {
                let change = contents.state.change(
                    name, exchange, to: value, origin: .local, revision: contents.state.revision)
                news = post([change], to: contents, muting: muted)
            }
            let removed = value == nil && exchange != nil ? contents.state.watch(name) : nil
            return (old: exchange, removed: removed, news: news, needsFlush: contents.state.needsFlushScheduled())
        }
        outcome.removed?.letGo()
        return (outcome.news, outcome.needsFlush)
    }

    private func post(_ changes: [StoredChange], to contents: Contents, muting muted: UInt64) -> Deliveries {
        var deliveries = Deliveries()
        contents.observers.post(changes, muting: muted, state: contents.state, to: &deliveries)
        if contents.hasAllObservers {
            for change in changes { allObservers.post(muting: muted, to: &deliveries) { change } }
        }
        for change in changes { contents.state.watch(change.key)?.signal?.post(to: &deliveries, group: id) }
        return deliveries
    }

    /// Changes what observers are not told about.
    func update<Result: Sendable>(_ body: (inout MemoryState) -> Result) -> Result {
        guarded.withLock { body(&$0.state) }
    }

    /// Tells observers what has been queued for them, on this thread unless it belongs to the store or another one is telling them.
    func deliver(_ deliveries: Deliveries) {
        // Whoever is not told leaves the queue alone: asking for it takes longer than writing.
        if deliveries.isEmpty { return }
        if executor.isCurrent { deliveries.handOver() } else { deliveries.deliver() }
    }

    /// Ends every observation, now and from now on.
    func finish() {
        let (ends, watches) = guarded.withLock { guarded in
            var ends = Deliveries()
            guarded.isFinished = true
            guarded.observers.finish(to: &ends)
            allObservers.postFinish(to: &ends)
            return (ends, guarded.state.watches)
        }
        deliver(ends)
        for watch in watches { watch.letGo() }
    }
}

extension Memory {
    /// Subscribes to one entry. With `initial`, what is there now comes first, as a change from itself.
    ///
    /// - Parameters:
    ///   - others: subscriptions that last as long as this one.
    ///   - onDecode: called with each value that is decoded for observers.
    func observe<Value>(
        _ key: StorageKey<Value>, initial: Bool, with others: [ObservationToken] = [],
        onDecode: @escaping KeyObservers<Value>.OnDecode = { _, _ in }, _ observer: Observer<Change<Value>>
    ) -> ObservationToken {
        let (name, identifier) = (key.body.entryName, ObjectIdentifier(key.body))
        let (token, first) = guarded.withLock { guarded in
            var first = Deliveries()
            let watches = TrackedKey(
                own: guarded.state.madeWatch(name.own), inherited: name.inherited.map { guarded.state.madeWatch($0) })
            let made = { KeyObservers(key, watches, group: self.id, onDecode: onDecode) }
            let observers = guarded.isFinished ? made() : guarded.observers.observers(of: key, made)
            if guarded.isFinished { observers.finish() }
            let token = observers.add(
                initial: initial ? guarded.state.current(name) : nil, observer, to: &first,
                onCancel: { [weak self] in
                    for other in others { other.cancel() }
                    self?.forgetIdleObservers(of: name, identifier)
                })
            return (token, first)
        }
        deliver(first)
        return token
    }

    /// Subscribes to every entry.
    func observeAll(_ observer: Observer<StoredChange>) -> ObservationToken {
        let (token, first) = guarded.withLock { contents in
            var first = Deliveries()
            contents.hasAllObservers = true
            let token = allObservers.add(observer, to: &first, onCancel: { [weak self] in self?.forgetIdleObserversOfAll() })
            return (token, first)
        }
        deliver(first)
        return token
    }

    private func forgetIdleObservers(of name: EntryName, _ identifier: ObjectIdentifier) {
        guarded.withLock { $0.observers.forgetIdle(name, identifier) }
    }

    private func forgetIdleObserversOfAll() {
        guarded.withLock { $0.hasAllObservers = !allObservers.isIdle }
    }
}
