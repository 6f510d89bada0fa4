import PropertyListCoding

extension ObservableStore {
    /// Every change of every entry since a revision of the storage, and every later one, in order, without a gap or a repetition.
    ///
    /// ```swift
    /// guard let changes = try await store.changes(since: lastRevision) else { return try await readEverything() }
    /// for await change in changes { }
    /// ```
    ///
    /// The commits that the storage remembers come first, by any writer, with the origin ``ChangeOrigin/external`` and the revision of each
    /// in ``Change/storageRevision``; then the edits of this store that are not stored yet, and then each change when it is made, as by
    /// ``allChanges(bufferingPolicy:)``. ``Change/revision`` of all changes before the live ones is the store's present one.
    /// If the store had to read the storage again, a live change may combine several commits; its storage revision is that of the last one.
    ///
    /// A reader that keeps the storage revision of what it has handled can continue from there, also in a later process. The changes of a
    /// commit follow each other and have the same storage revision, so that a revision may only be kept after a change with another one, or
    /// with none, has arrived. An edit of this store has no storage revision when it is delivered, as it is not stored yet: a reader that returns
    /// before it has kept a later revision receives it once more, from the storage, as external.
    ///
    /// The stream keeps all changes for a slow reader, as ``allChanges(bufferingPolicy:)`` does, and ends like ``values(of:)``. Entries
    /// that ``allChanges(bufferingPolicy:)`` leaves out are left out.
    ///
    /// - Parameter revision: a revision of the storage, from ``Change/storageRevision`` or ``storageRevision``.
    /// - Returns: a new stream; nil if the storage does not know what has happened since the revision: it is one of another history, it is
    ///   too old, or the storage does not remember commits. The current entries have to be read instead.
    /// - Throws: ``StorageError`` if the storage cannot be read.
    public nonisolated(nonsending) func changes(
        since revision: StorageRevision
    ) async throws(StorageError) -> AsyncStream<Change<PropertyListValue?>>? {
        try requireOriginalProcess()
        return try await changes(of: nil, since: revision) { cache, observer, read in cache.observeAll(observer, reading: read) }
    }

    /// Every change of a key since a revision of the storage, and every later one; see ``changes(since:)``.
    ///
    /// The changes are those of ``changes(of:bufferingPolicy:)``: of a value inside a dictionary, or of another entry that is used while the
    /// key has no value. The change to a value that cannot be decoded has the last valid one since the revision, or else the default.
    ///
    /// - Parameters:
    ///   - key: the key.
    ///   - revision: a revision of the storage.
    /// - Returns: a new stream; nil if the storage does not know what has happened since the revision.
    /// - Throws: ``StorageError`` if the storage cannot be read.
    public nonisolated(nonsending) func changes<Value>(
        of key: StorageKey<Value>, since revision: StorageRevision
    ) async throws(StorageError) -> AsyncStream<Change<Value>>? {
        try requireOriginalProcess()
        prepareObservation(of: key)
        return try await changes(of: key.definition.entryName.all, since: revision) { cache, observer, read in
            cache.observe(key, observer, reading: read)
        }
    }

    private nonisolated func changes<Value>(
        of names: [String]?, since revision: StorageRevision, _ observe: @escaping PastEdits.Observe<Value>
    ) async throws(StorageError) -> AsyncStream<Change<Value>>? {
        let (live, continuation) = AsyncStream.makeStream(of: Change<Value>.self)
        let past = try await synchronizer.past(of: names, since: revision) { [cache] read in
            let token = observe(cache, .stream(continuation), read)
            continuation.onTermination = { _ in token.cancel() }
        }
        return past.map { Self.stream(of: $0.changes(observe), then: live) }
    }

    private static func stream<Value>(of past: [Change<Value>], then live: AsyncStream<Change<Value>>) -> AsyncStream<Change<Value>> {
        if past.isEmpty { return live }
        // Each change is released with its delivery.
        let rest = Lock(Array(past.reversed()))
        // The closure is released with the stream, and with it the live one, whose subscription ends then.
        return AsyncStream {
            if let change = rest.withLock({ $0.popLast() }) { return change }
            var iterator = live.makeAsyncIterator()
            return await iterator.next()
        }
    }
}

extension Synchronizer {
    /// Subscribes, and returns the commits and edits between a revision and that moment; nil if the storage does not know them.
    ///
    /// - Parameters:
    ///   - names: the entries whose changes are needed; nil for all.
    ///   - subscribe: subscribes, and calls its argument with the state before the first change.
    fileprivate func past(
        of names: [String]?, since revision: StorageRevision,
        subscribing subscribe: @Sendable ((inout EntryCacheState) -> Void) -> Void
    ) async throws(StorageError) -> PastEdits? {
        // A storage without a revision may have one by now: the first commit of a store that keeps a journal makes it.
        if base.revision.map({ $0.history != revision.history || revision.isNewer(than: $0) }) ?? true {
            if cache.update({ $0.isClosed }) { throw .closed }
            try await read()
        }
        guard let reached = base.revision, reached.history == revision.history, !revision.isNewer(than: reached) else { return nil }
        // The stored entries and their revision change on the actor only, the edits in memory on any thread.
        var found: PastEdits?
        subscribe { [base] in found = PastEdits(in: $0, over: base, of: names) }
        guard var past = found, reached != revision else { return found }
        guard let commits = try await commits(since: revision) else { return nil }
        // Later ones are delivered live.
        past.commits = Array(commits.prefix { !$0.revision.isNewer(than: reached) })
        return past
    }
}

/// Everything between a revision of the storage and the first change that a subscriber receives.
private struct PastEdits: Sendable {
    /// Subscribes to entries, and calls a closure with the state before the first change.
    typealias Observe<Value: Sendable> =
        @Sendable (EntryCache, Observer<Change<Value>>, _ read: (inout EntryCacheState) -> Void) -> ObservationToken

    /// The commits up to the entries that the store has read.
    var commits: [StorageCommit] = []
    // The entries whose changes are needed; nil for all.
    private let names: [String]?
    // The stored values after the commits, of these entries.
    private let stored: [String: PropertyListValue]
    // The edits that are not stored yet.
    private let edits: [String: StorageCommit.Edit]
    private let layers: ValueLayers
    private let revision: UInt64

    /// The edits in memory, before the first change that a subscriber receives.
    init(in state: EntryCacheState, over entries: StorageEntries, of names: [String]?) {
        self.names = names
        stored = (names ?? []).reduce(into: [:]) { $0[$1] = entries[$1] }
        edits = state.entries.pending.reduce(into: [:]) { edits, pending in
            edits[pending.key] = StorageCommit.Edit(from: entries[pending.key], to: pending.value.value)
        }
        (layers, revision) = (state.layers, state.revision)
    }

    /// The changes that an observer receives if the edits are made again, in entries of their own.
    func changes<Value>(_ observe: Observe<Value>) -> [Change<Value>] {
        var steps = commits.map { (edits: $0.edits, revision: StorageRevision?.some($0.revision), origin: ChangeOrigin.external) }
        steps.append((edits, nil, .local))
        if let names { for index in steps.indices { steps[index].edits = steps[index].edits.filter { names.contains($0.key) } } }
        var values = stored
        for step in steps.reversed() { for (name, edit) in step.edits { values[name] = edit.oldValue } }
        // Invalid values were reported when they were stored.
        let cache = EntryCache(
            entries: StoredValues(values), executor: DispatchQueueExecutor(label: "ObservableStore.changes"),
            reports: FailureReports(log: { _ in }, afterGrace: { $0() }))
        cache.update { $0.layers = layers }
        let changes = Lock<[Change<Value>]>([])
        let observer = Observer<Change<Value>>(onReceive: { change in
            var change = change
            change.revision = revision
            changes.withLock { [change] in $0.append(change) }
        })
        let token = observe(cache, observer) { _ in }
        for step in steps {
            // The changes of a key are one; other entries are delivered one by one: many at once would continue on another thread.
            let parts = names == nil ? step.edits.sorted { $0.key < $1.key }.map { [$0.key: $0.value] } : [step.edits]
            for part in parts {
                cache.deliver(
                    cache.change { state in
                        state.storageRevision = step.revision
                        return state.merge(part.mapValues(\.newValue), origin: step.origin)
                    }.deliveries)
            }
        }
        token.cancel()
        cache.finish()
        return changes.withLock { $0 }
    }
}
