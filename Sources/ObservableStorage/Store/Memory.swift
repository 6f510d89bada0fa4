import Dispatch
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
        /// The revision in which the value that counts came.
        let revision: UInt64
        /// Whether nobody has noted yet that it is good.
        let isNews: Bool

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
            let source = entry.stored == nil ? (entry.inherited == nil ? nil : name.inherited) : name.own
            let history = source.map { contents.state.history($0) }
            return Found(
                entry: entry, reading: reading,
                isComplete: name.hasEarlier ? contents.state.stored(name.own) != nil : entry.stored != nil,
                revision: history?.revision ?? 0, isNews: type.flatMap { history?.isNews($0) } ?? false)
        }
    }

    /// What was stored and inherited before, the newest first.
    ///
    /// - Parameter includingPresent: whether what is there now comes too, for those who read something newer.
    func earlier(_ name: EntryName, includingPresent: Bool = false) -> (own: [PropertyListValue], inherited: [PropertyListValue]) {
        guarded.withLock { contents in
            func values(_ name: String) -> [PropertyListValue] {
                let present = includingPresent ? contents.state.stored(name) : nil
                return (present.map { [$0] } ?? []) + (contents.state.earlier(name)?.values ?? [])
            }
            return (values(name.own), name.inherited.map { values($0) } ?? [])
        }
    }

    // That the value that came in a revision is good for those who read the entry as a type.
    private func noteGood(_ name: String, _ type: ObjectIdentifier, revision: UInt64) {
        guarded.take { $0.state.noteGood(name, type, revision: revision) }
    }

    /// Notes whether a value could be decoded: earlier ones are kept until one could, and one that could not is reported, once.
    ///
    /// - Parameters:
    ///   - entry: what was decoded.
    ///   - revision: that in which it came, or a later one.
    ///   - failure: what is wrong with the value.
    ///   - good: the earlier value that counts in its place.
    /// - Returns: whether it has been reported just now.
    @discardableResult
    func noteDecoded<Value>(
        _ key: StorageKey<Value>, _ entry: StoredEntry, revision: UInt64, _ failure: StorageError?,
        insteadOf good: PropertyListValue?, _ reports: FailureReports
    ) -> Bool {
        let name = entry.stored == nil ? key.body.entryName.inherited : key.name
        guard let name, entry.stored ?? entry.inherited != nil else { return false }
        if let failure {
            let noted = guarded.take { $0.state.noteBad(name, revision: revision, insteadOf: good) }
            if noted.isNew { reports.report(failure) }
            return noted.isNew
        }
        if let type = key.body.type { noteGood(name, type, revision: revision) }
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
    func change<Failure: Error>(
        muting muted: UInt64 = 0, _ body: (inout MemoryState) throws(Failure) -> [StoredChange]
    ) throws(Failure) -> Outcome {
        // The changes are taken out of the lock with the old values.
        let taken = try guarded.take { (guarded) throws(Failure) in
            let changes = try body(&guarded.state)
            let removed = changes.compactMap { $0.isRemoval ? guarded.state.watch($0.key) : nil }
            let news = post(changes, to: guarded, muting: muted)
            return (
                changes: changes, removed: removed, outcome: Outcome(news: news, needsFlush: guarded.state.needsFlushScheduled())
            )
        }
        letGo(of: taken.removed)
        return taken.outcome
    }

    /// What a change calls for.
    struct Outcome: Sendable {
        /// What is to be told, if anything.
        let news: Deliveries?
        /// Whether a flush has to be scheduled.
        let needsFlush: Bool
    }

    /// Sets or removes a key's entry; does what ``change(muting:_:)`` does, at less cost where nobody is told.
    ///
    /// - Parameter news: nothing; what is to be told, afterwards.
    /// - Returns: whether a flush has to be scheduled.
    func edit(
        _ key: AnyKeyBody, _ value: PropertyListValue?, muting muted: UInt64, _ news: inout Deliveries
    ) throws(StorageError) -> Bool {
        let name = key.entryName.own
        var hint = key.place.hint
        defer { key.place.hint = hint }
        // Released after unlocking.
        var content = EntrySlot.Content(value: value)
        var removed: EntryWatch?
        let needsFlush = try guarded.withLock { (contents) throws(StorageError) in
            if let exchange = try contents.state.exchange(name, &content, type: key.typeWhenSet, hint: &hint) {
                if exchange.isTracked || contents.isObserved {
                    let change = contents.state.change(
                        name, exchange, from: content, to: value, origin: .local, revision: contents.state.revision)
                    news = post([change], to: contents, muting: muted)
                }
                if value == nil { removed = contents.state.watch(name) }
            }
            return contents.state.needsFlushScheduled()
        }
        withExtendedLifetime(content) {}
        if let removed { letGo(of: [removed]) }
        return needsFlush
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
        letGo(of: watches)
    }

    // What was decoded may run code of the user's when it is released, which the store's queue does not.
    private func letGo(of watches: [EntryWatch]) {
        if watches.isEmpty { return }
        guard executor.isCurrent else { return watches.forEach { $0.letGo() } }
        DispatchQueue.global().async { watches.forEach { $0.letGo() } }
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
        onDecode: @escaping KeyObservers<Value>.OnDecode = { _, _, _ in }, _ observer: Observer<Change<Value>>
    ) -> ObservationToken {
        let (name, identifier) = (key.body.entryName, ObjectIdentifier(key.body))
        let (token, first) = guarded.withLock { guarded in
            var first = Deliveries()
            // What costs little to decode is not kept.
            let watches =
                key.body.traits.codec.id == 0
                ? nil
                : TrackedKey(own: guarded.state.madeWatch(name.own), inherited: name.inherited.map { guarded.state.madeWatch($0) })
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
