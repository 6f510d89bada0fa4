import Dispatch
import PropertyListCoding

/// The entries of a store in memory: every call is one short critical section, after which observers are notified, in order for each key.
final class EntryCache: Sendable {
    /// Identifies this cache among all caches that the process has had.
    let id: UInt64
    private let state: Lock<EntryCacheState>
    private let allObservers: ChangePublisher<EntryChange>
    // The store's executor, on which no delivery that may run user code is made.
    private let executor: DispatchQueueExecutor
    /// Makes a file for the log of edits; nil if the store has no log.
    let makeLog: (@Sendable (_ halfSize: Int) throws(EditLogRefusal) -> EditLogFile)?
    /// Held while a file is made for the log.
    let logMaking = Lock(())
    /// Held while a file is made that no edit waits for.
    let logGrowing = Lock(())

    /// - Parameters:
    ///   - log: the log of edits, without a file.
    ///   - makeLog: makes a file for it.
    init(
        entries: [String: PropertyListValue], executor: DispatchQueueExecutor, log: EditLog = EditLog(),
        makeLog: (@Sendable (_ halfSize: Int) throws(EditLogRefusal) -> EditLogFile)? = nil
    ) {
        id = UniqueNumber.next()
        self.makeLog = makeLog
        state = Lock(EntryCacheState(entries: entries, store: id, log: log))
        allObservers = ChangePublisher(group: id)
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

    /// The entry of a name.
    func entry(_ name: String) -> Entry {
        state.withLock { $0.entries.ensureEntry(name) }
    }

    /// The stored, the fallback and the registered value of a name at one moment.
    struct Found: Sendable {
        let entry: StoredEntry
        /// The entry in which the effective value is stored, or else the key's own one, and its version.
        let source: Entry
        let version: UInt64
        /// The other entries from which the key may read; nil if there are none.
        let others: EntryVersions?
        /// Whether the value is stored in the source under a present name, so that the source may cache what a codec makes of it.
        let isPresent: Bool
        /// The revision in which the effective value was set.
        let revision: UInt64
        /// Whether the value has not been recorded as valid yet.
        let isUnconfirmed: Bool
        /// The value under an earlier name that was stored after the present one; nil if there is none.
        let superseded: (name: String, value: PropertyListValue)?

        /// The value in the key's type; see ``StorageKey/decoded(_:in:at:)``.
        func decoded<Value>(_ stored: PropertyListValue, for key: StorageKey<Value>) throws(StorageError) -> Value {
            try key.decoded(stored, in: isPresent ? source : nil, at: version)
        }

        /// Caches a decoded value with the entry from which it was read.
        func keep<Value>(_ value: Value, of key: StorageKey<Value>, _ failure: StorageError?) {
            let definition = key.definition
            let number = definition.traits.codecNumber
            let isDecoded = !definition.traits.codec.isNative && source.reading(at: version, by: number) != nil
            definition.keep(
                ValueReading(value, of: source, at: version, codec: isDecoded ? number : 0, others: others, failure: failure),
                isPlainEntry: others == nil)
        }
    }

    /// The stored, the fallback and the registered value of a name, and the versions of the entries.
    ///
    /// - Parameter type: the type as which the entry is read.
    func read(_ name: EntryName, as type: ObjectIdentifier?) -> Found {
        state.withLock { state in
            let entry = state.entry(name)
            let place = name.place(of: entry) { state.entries[$0] }
            let source = state.entries.ensureEntry(place.own)
            let isStored = entry.stored != nil || entry.fallback != nil
            let history = isStored ? source.content.history : nil
            let others = name.hasOthers ? name.all.filter { $0 != place.own }.map { state.entries.ensureEntry($0) } : []
            return Found(
                entry: entry, source: source, version: source.version, others: others.isEmpty ? nil : EntryVersions(of: others),
                isPresent: isStored && (place.own == name.own || place.own == name.fallback), revision: history?.revision ?? 0,
                isUnconfirmed: type.flatMap { history?.isUnconfirmed($0, of: place) } ?? false,
                superseded: name.superseded { state.entries[$0] })
        }
    }

    /// The previous stored and fallback values, the newest first.
    ///
    /// - Parameter includingPresent: whether the present values are included, for readers of newer ones.
    func earlier(_ name: EntryName, includingPresent: Bool = false) -> (own: [PropertyListValue], fallback: [PropertyListValue]) {
        state.withLock { state in
            var (own, fallback) = state.earlier(name)
            if includingPresent {
                let present = name.entry(registered: nil) { state.entries[$0] }
                if let present = present.stored { own.insert(present, at: 0) }
                if let present = present.fallback { fallback.insert(present, at: 0) }
            }
            return (own, fallback)
        }
    }

    /// Records whether a value could be decoded: earlier values are kept until one could, and one that could not is reported once.
    ///
    /// - Parameters:
    ///   - entry: the decoded entry.
    ///   - revision: the revision in which the value was set, or a later one.
    ///   - failure: the reason why the value could not be decoded; nil if it could.
    ///   - good: the earlier valid value that is used instead.
    /// - Returns: whether the failure was reported by this call.
    @discardableResult
    func noteDecoded<Value>(
        _ key: StorageKey<Value>, _ entry: StoredEntry, revision: UInt64, _ failure: StorageError?,
        insteadOf good: PropertyListValue?, _ reports: FailureReports
    ) -> Bool {
        let name = key.definition.entryName
        guard let stored = entry.stored ?? entry.fallback else { return false }
        if let failure {
            let noted = state.take { state in
                let place = name.place(of: entry) { state.entries[$0] }
                let entry = state.entries.ensureEntry(place.own)
                return entry.content.history.noteBad(stored, of: place, revision: revision, insteadOf: good)
            }
            if noted.isNew { reports.report(failure) }
            return noted.isNew
        }
        if let type = key.definition.type {
            state.take { state in
                let place = name.place(of: entry) { state.entries[$0] }
                return state.entries.entry(place.own)?.content.history.noteGood(stored, of: place, as: type, revision: revision)
            }
        }
        return false
    }

    /// Sets the value that is used while none is stored. Observers are not notified.
    func register(_ value: PropertyListValue?, for name: String) {
        state.take { $0.register(value, for: name) }
    }

    /// Changes the state and queues the changes for observers; ``deliver(_:)`` delivers them.
    ///
    /// - Parameters:
    ///   - muted: the token whose subscriptions do not receive the changes.
    ///   - body: returns the changes that it made.
    /// - Returns: the queued deliveries, and whether a flush has to be scheduled.
    func change<Failure: Error>(
        muting muted: UInt64 = 0, _ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]
    ) throws(Failure) -> (deliveries: Deliveries, needsFlush: Bool) {
        // The changes are moved out of the lock together with the old values.
        let taken = try state.take { (state) throws(Failure) in
            let changes = try body(&state)
            var (deliveries, removed) = (Deliveries(), [Entry]())
            for change in changes {
                post(change, among: changes, to: state, muting: muted, &deliveries)
                if change.isRemoval { removed.append(change.entry) }
            }
            return (
                changes: changes, removed: removed, deliveries: deliveries, needsFlush: state.needsFlushScheduled(),
                demand: state.log.takeDemand()
            )
        }
        if taken.demand != .none { follow(taken.demand) }
        releaseReadings(of: taken.removed)
        return (taken.deliveries, taken.needsFlush)
    }

    /// Sets or removes a key's entry, as ``change(muting:_:)`` does, at less cost without observers.
    ///
    /// - Parameter deliveries: set to the deliveries that the caller has to make afterwards.
    /// - Returns: whether a flush has to be scheduled.
    func edit(
        _ key: KeyReference, _ value: PropertyListValue?, muting muted: UInt64, _ deliveries: inout Deliveries?
    ) throws(StorageError) -> Bool {
        // Released after unlocking.
        var replaced: Entry.Replaced = (value, [])
        var removed: Entry?
        let (needsFlush, demand) = try state.withLock { (state) throws(StorageError) in
            try state.requireEditable()
            if value != nil, !state.layers.mandatory.isEmpty || key.scope != nil { try state.requireSettable(key) }
            let entry = state.entries.ensureEntry(key.entryName.own, at: key.entryIndex)
            let revision = state.revision + 1
            if state.entries.exchange(entry, &replaced, edit: revision, revision: revision, type: key.typeWhenSet) {
                state.revision = revision
                state.log.append(entry.name, over: replaced.value, value, sequence: revision)
                if value == nil { removed = entry }
                if state.hasAllObservers || !entry.content.observers.isEmpty || entry.isTracked {
                    let change = state.change(entry, from: replaced, to: value, origin: .local, revision: revision)
                    var posted = Deliveries()
                    post(change, among: [change], to: state, muting: muted, &posted)
                    deliveries = posted
                }
            }
            return (state.needsFlushScheduled(), state.log.takeDemand())
        }
        if demand != .none { follow(demand) }
        withExtendedLifetime(replaced) {}
        if let removed { releaseReadings(of: [removed]) }
        return needsFlush
    }

    /// Makes changes that are not reported to observers.
    func update<Result: Sendable>(_ body: (inout EntryCacheState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// Makes changes that are not reported to observers, and moves something out of the state, which is released after unlocking.
    func take<Result: Sendable>(_ body: (inout EntryCacheState) -> Result) -> Result {
        state.take { body(&$0) }
    }

    /// Makes queued deliveries, on this thread unless it is the store's queue or another thread is delivering.
    func deliver(_ deliveries: Deliveries) {
        // Without deliveries the queue is not queried: that takes longer than writing.
        if deliveries.isEmpty { return }
        if executor.isCurrent { deliveries.handOver() } else { deliveries.deliver() }
    }

    // Releasing a decoded value may run a user-defined deinit, which must not run on the store's queue.
    private func releaseReadings(of entries: [Entry]) {
        if entries.isEmpty { return }
        guard executor.isCurrent else { return entries.forEach { $0.releaseReadings() } }
        DispatchQueue.global().async { entries.forEach { $0.releaseReadings() } }
    }
}

// Notifying observers.
extension EntryCache {
    private func post(
        _ change: EntryChange, among changes: [EntryChange], to state: EntryCacheState, muting muted: UInt64,
        _ deliveries: inout Deliveries
    ) {
        for observers in change.entry.content.observers {
            guard let seen = Self.change(change, among: changes, asSeenBy: observers.name, state) else { continue }
            observers.post(seen, muting: muted, to: &deliveries)
        }
        if state.hasAllObservers, !change.key.hasPrefix(EntryName.hiddenPrefix) {
            allObservers.post(muting: muted, to: &deliveries) { change }
        }
        if change.entry.isTracked { change.entry.postMutation(to: &deliveries) }
    }

    /// A change as it appears to observers of the entry, of a value inside it, or of an entry that falls back to it; nil if it does not
    /// affect them.
    private static func change(
        _ change: EntryChange, among changes: [EntryChange], asSeenBy name: EntryName, _ state: EntryCacheState
    ) -> EntryChange? {
        if !state.layers.mandatory.isEmpty, state.layers.mandatory(name) != nil { return nil }
        guard name.hasOthers else { return name.path.isEmpty ? change : change.inside(name, change.entry.content.history) }
        let all = name.all
        let parts = changes.filter { all.contains($0.key) }
        func part(_ entry: String) -> EntryChange? { parts.first { $0.key == entry } }
        // What changes in one step is told once.
        guard (part(name.own) ?? parts.first)?.key == change.key else { return nil }
        // Of an entry of which one value was edited, a change may have that value only, before and after.
        let before: (String) -> PropertyListValue? = { name in part(name).map(\.old.stored) ?? state.entries[name] }
        let after: (String) -> PropertyListValue? = { name in part(name).map(\.new.stored) ?? state.entries[name] }
        let (old, new) = (state.layers.entry(name, before), state.layers.entry(name, after))
        guard let (isOwn, isRemoval) = old.change(to: new) else { return nil }
        func previous(_ place: EntryName) -> [PropertyListValue] {
            guard let history = state.entries.entry(place.own)?.content.history else { return [] }
            return part(place.own).map { history.values(of: place, in: $0.earlier) } ?? history.earlier(place)
        }
        let source = part(name.place(of: new) { state.entries[$0] }.own) ?? change
        return EntryChange(
            key: name.text, old: old, new: new, earlier: previous(name.place(before)),
            // A fallback that is used from now on may have become invalid while it was hidden, or just now.
            earlierFallback: isOwn ? state.earlier(name).fallback : name.placeOfFallback(before).map(previous) ?? [],
            isRemoval: isRemoval, origin: change.origin, revision: change.revision,
            storageRevision: change.storageRevision, entry: source.entry, version: source.version)
    }

    /// Whether any entry is observed.
    var isObserved: Bool {
        state.withLock { $0.hasAllObservers || $0.entries.touched.contains { !$0.content.observers.isEmpty } }
    }

    /// Ends every observation; later ones end immediately.
    func finish() {
        let (ends, entries, _) = state.take { state in
            var ends = Deliveries()
            state.isFinished = true
            let entries = Array(state.entries.touched)
            let ended = entries.flatMap { entry in
                defer { entry.content.observers = [] }
                return entry.content.observers.filter { $0.name.own == entry.name }
            }
            for observers in ended { observers.postFinish(to: &ends) }
            allObservers.postFinish(to: &ends)
            return (ends, entries, ended)
        }
        deliver(ends)
        releaseReadings(of: entries)
    }

    /// Subscribes to one key. With `initial`, the current value is delivered first, as a change from itself.
    ///
    /// - Parameter onDecode: called with each value that is decoded for observers.
    func observe<Value>(
        _ key: StorageKey<Value>, initial: Bool, onDecode: @escaping KeyObservers<Value>.OnDecode = { _, _, _ in },
        _ observer: Observer<Change<Value>>
    ) -> ObservationToken {
        observe(key, initial: initial, onDecode: onDecode, observer) { _ in }.token
    }

    /// Subscribes to one key, and returns what a closure finds in the state before the first change.
    func observe<Value, Found: Sendable>(
        _ key: StorageKey<Value>, initial: Bool = false, onDecode: @escaping KeyObservers<Value>.OnDecode,
        _ observer: Observer<Change<Value>>, finding find: (EntryCacheState) -> Found
    ) -> (token: ObservationToken, found: Found) {
        let (token, first, found) = state.withLock { state in
            var first = Deliveries()
            let observers = observers(of: key, in: &state, onDecode)
            let token = observers.add(
                initial: initial ? state.current(observers.name) : nil, observer, to: &first,
                onCancel: { [weak self, weak observers] in
                    if let observers { self?.forgetIfIdle(observers) }
                })
            return (token, first, find(state))
        }
        deliver(first)
        return (token, found)
    }

    private func observers<Value>(
        of key: StorageKey<Value>, in state: inout EntryCacheState, _ onDecode: @escaping KeyObservers<Value>.OnDecode
    ) -> KeyObservers<Value> {
        let name = key.definition.entryName
        let own = state.entries.ensureEntry(name.own)
        if let known = own.content.observers.first(where: { $0.key == key.definition.id }) as? KeyObservers<Value> { return known }
        let made = KeyObservers(key, group: id, onDecode: onDecode)
        guard !state.isFinished else {
            made.finish()
            return made
        }
        for entry in name.all { state.entries.ensureEntry(entry).content.observers.append(made) }
        return made
    }

    private func forgetIfIdle<Value>(_ observers: KeyObservers<Value>) {
        state.take { state -> [Entry] in
            guard observers.isIdle else { return [] }
            let names = observers.name.all
            for name in names { state.entries.entry(name)?.content.observers.removeAll { $0 === observers } }
            return names.compactMap { state.entries.forgetIfVacant($0) }
        }
    }

    /// Subscribes to every entry.
    func observeAll(_ observer: Observer<EntryChange>) -> ObservationToken {
        observeAll(observer) { _ in }.token
    }

    /// Subscribes to every entry, and returns what a closure finds in the state before the first change.
    func observeAll<Found: Sendable>(
        _ observer: Observer<EntryChange>, finding find: (EntryCacheState) -> Found
    ) -> (token: ObservationToken, found: Found) {
        let (token, first, found) = state.withLock { state in
            var first = Deliveries()
            state.hasAllObservers = true
            let token = allObservers.add(
                observer, to: &first,
                onCancel: { [weak self] in
                    guard let self else { return }
                    self.state.withLock { $0.hasAllObservers = !allObservers.isIdle }
                })
            return (token, first, find(state))
        }
        deliver(first)
        return (token, found)
    }
}
