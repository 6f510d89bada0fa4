import Dispatch
import PropertyListCoding

/// The entries of a store in memory: every call is one short critical section, after which observers are notified, in order for each key.
final class EntryCache: Sendable {
    /// Identifies this cache among all caches that the process has had.
    let id = uniqueNumber()
    private let state: Lock<EntryCacheState>
    let allObservers: BoxPublisher
    let reports: FailureReports
    /// Values under earlier names of keys that are not used, and were reported, by that name.
    let reportedSuperseded = Lock<[String: PropertyListValue]>([:])
    static let maximumReported = 1_000
    let reportedOverrides = Lock<Set<StorageError>>([])
    /// The last records of migrations and imports that the storage had; see ``keepRecords(of:)``.
    let records = Lock<[String: PropertyListValue]>([:])
    // The store's executor, on which no delivery that may run user code is made.
    let executor: DispatchQueueExecutor
    /// Requested by the first observer; nil if nothing is watched.
    let watchStart: WatchStart?
    /// Makes a file for the log of edits; nil if the store has no log.
    let makeLog: (@Sendable (_ halfSize: Int) throws(EditLogRefusal) -> EditLogFile)?
    /// Held while a file is made for the log.
    let logMaking = Lock(())
    /// Held while a file is made that no edit waits for.
    let logGrowing = Lock(())

    init(
        entries: StoredValues, executor: DispatchQueueExecutor, watchStart: WatchStart? = nil,
        reports: FailureReports = FailureReports(), log: EditLog = EditLog(),
        makeLog: (@Sendable (_ halfSize: Int) throws(EditLogRefusal) -> EditLogFile)? = nil
    ) {
        self.makeLog = makeLog
        self.reports = reports
        self.watchStart = watchStart
        state = Lock(EntryCacheState(entries: entries, store: id, log: log))
        allObservers = AllObservers(group: id)
        self.executor = executor
    }

    deinit {
        // Keys may retain the entries, but not the values stored in them.
        let state = state.withLock { state in
            state.entries.touched.map { entry in
                defer { entry.content = Entry.Content() }
                return entry.content
            }
        }
        withExtendedLifetime(state) {}
    }

    func entry(_ name: String) -> Entry {
        state.withLock { $0.entries.ensureEntry(name) }
    }

    /// Changes the state and queues the changes for observers; ``deliver(_:)`` delivers them.
    ///
    /// - Returns: the queued deliveries, and whether a flush has to be scheduled.
    func change<Failure: Error>(
        muting muted: UInt64 = 0, _ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]
    ) throws(Failure) -> (deliveries: Deliveries, needsFlush: Bool) {
        // The changes are moved out of the lock together with the old values.
        let taken = try state.take { (state) throws(Failure) in
            let changes = try body(&state)
            var (deliveries, removed) = (Deliveries(), [Entry]())
            var all = changes.count > 1 ? ChangesByKey(changes) : nil
            for change in changes {
                post(change, among: &all, to: &state, muting: muted, &deliveries)
                if change.isRemoval { removed.append(change.entry) }
            }
            return (
                changes: changes, removed: removed, deliveries: deliveries, needsFlush: state.needsFlushScheduled(),
                demand: state.log.takeDemand()
            )
        }
        let isUnlogged = taken.demand != .none && follow(taken.demand)
        releaseReadings(of: taken.removed)
        return (taken.deliveries, taken.needsFlush || isUnlogged)
    }

    /// Sets or removes a key's entry, as ``change(muting:_:)`` does, at less cost without observers.
    ///
    /// - Parameter deliveries: set to the deliveries that the caller has to make afterwards.
    /// - Returns: whether a flush has to be scheduled.
    func edit(
        _ key: KeyReference, _ value: PropertyListValue?, muting muted: UInt64, _ deliveries: inout Deliveries?
    ) throws(StorageError) -> Bool {
        // Released after unlocking.
        var replaced: Entry.Replaced = (value, nil)
        var removed: Entry?
        let (needsFlush, demand) = try state.withLock { (state) throws(StorageError) in
            try state.requireEditable()
            // The value is compared with nil last, and below by a pattern, because `==` copies it: see `isEqual` of entries.
            if !state.layers.mandatory.isEmpty || key.scope != nil, value != nil { try state.requireSettable(key) }
            // Not retained, as the table retains it: that would take a sixth of the time of a write (write.key).
            state.entries.unretainedEntry(key.entryName.own, at: key.entryIndex)._withUnsafeGuaranteedRef { entry in
                let revision = state.revision + 1
                guard state.entries.exchange(entry, &replaced, in: revision, isEdit: true, type: key.typeWhenSet) else { return }
                state.revision = revision
                if state.log.isOn { state.log.append(entry.name, over: replaced.value, value, sequence: revision) }
                if case nil = value { removed = entry }
                // Not if nothing is removed that is known.
                if case (nil, nil) = (replaced.value, value) { return }
                if state.postsAllChanges || !entry.content.observers.isEmpty || entry.isTracked {
                    let change = state.change(entry, from: replaced, to: value, origin: .local, revision: revision)
                    var (all, posted): (ChangesByKey?, Deliveries) = (nil, Deliveries())
                    post(change, among: &all, to: &state, muting: muted, &posted)
                    deliveries = posted
                }
            }
            return (state.needsFlushScheduled(), state.log.takeDemand())
        }
        let isUnlogged = demand != .none && follow(demand)
        withExtendedLifetime(replaced) {}
        if let removed { releaseReadings(of: [removed]) }
        return needsFlush || isUnlogged
    }

    /// Makes changes that are not reported to observers.
    func update<Result: Sendable, Failure: Error>(
        _ body: (inout EntryCacheState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.withLock { (state) throws(Failure) in try body(&state) }
    }

    /// Makes changes that are not reported to observers, and moves something out of the state, which is released after unlocking.
    @discardableResult
    func take<Result: Sendable, Failure: Error>(
        _ body: (inout EntryCacheState) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try state.take { (state) throws(Failure) in try body(&state) }
    }

    /// Runs the closure of an edit.
    ///
    /// - Parameters:
    ///   - runs: the number of earlier runs, to which this one is added. Changes are not recorded in the first ones, because each edit would
    ///     take longer.
    ///   - name: what the closure reads; by default, any whole entries.
    /// - Returns: the result, and the names of the entries in which this thread has meanwhile changed such a value in the store.
    func recordingChanges<Result, Failure: Error>(
        after runs: inout Int, of name: EntryName = EntryName(own: ""), _ body: () throws(Failure) -> Result
    ) throws(Failure) -> (result: Result, changed: Set<String>) {
        runs += 1
        if runs <= 16 { return (try body(), []) }
        let thread = DeliveryThread.current.number
        take { $0.ownChanges[thread, default: []].append((name, [])) }
        defer {
            take { state in
                state.ownChanges[thread]?.removeLast()
                if state.ownChanges[thread]?.isEmpty == true { state.ownChanges[thread] = nil }
            }
        }
        return (try body(), update { $0.ownChanges[thread]?.last?.changed ?? [] })
    }

    /// Makes queued deliveries, on this thread unless it is the store's queue or another thread is delivering.
    func deliver(_ deliveries: Deliveries) {
        // Without deliveries the queue is not queried: that takes longer than writing.
        if deliveries.isEmpty { return }
        if executor.isCurrent { deliveries.handOver() } else { deliveries.deliver() }
    }

    /// Delivers changes to observers on the thread pool, and waits until they are delivered: listeners must not block the store's queue, nor
    /// wait for the caller's actor, which may be busy.
    func deliverConcurrently(_ deliveries: Deliveries) async {
        deliver(deliveries)
        await deliveries.wait()
    }

    // Releasing a decoded value may run a user-defined deinit, which must not run on the store's queue.
    func releaseReadings(of entries: [Entry]) {
        if entries.isEmpty { return }
        guard executor.isCurrent else { return entries.forEach { $0.releaseReadings() } }
        DispatchQueue.global().async { entries.forEach { $0.releaseReadings() } }
    }
}

extension Dictionary {
    /// Remembers a value, and returns the one that was remembered for the key. Of too many, all are forgotten: any number of names may be used.
    mutating func remember(_ value: Value, for key: Key) -> Value? {
        if count >= EntryCache.maximumReported, self[key] == nil { self = [:] }
        return updateValue(value, forKey: key)
    }
}
