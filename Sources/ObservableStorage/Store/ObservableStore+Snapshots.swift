public import Dispatch

extension ObservableStore {
    /// All entries at one revision.
    public nonisolated var snapshot: StoreSnapshot {
        StoreSnapshot(of: cache, reports)
    }

    /// Edits several keys in memory, as one revision, without waiting for the disk.
    ///
    /// Observers and snapshots have all edits of the closure or none, and they are written together. The closure runs again if a value that
    /// it has read was changed meanwhile; only the last run takes effect. A value that cannot be stored is reported in ``failures``, and
    /// nothing changes; ``StoreTransaction/set(_:for:)`` throws the error instead. See ``update(_:)`` for values that depend on those of
    /// other processes.
    ///
    /// - Parameters:
    ///   - token: the writer's own subscription, which does not receive these changes.
    ///   - body: reads and sets keys.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure, and nothing changes.
    @discardableResult
    public nonisolated func edit<Result, Failure: Error>(
        muting token: ObservationToken? = nil, _ body: (inout StoreTransaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        while true {
            let (found, layers, _) = cache.snapshot()
            var transaction = StoreTransaction(
                entries: StorageEntries(found.values), layers: layers, backend: backend, cache: cache, reports: reports)
            let result = try body(&transaction)
            do throws(StorageError) {
                let edits = try transaction.finish()
                if try edit(edits, from: found, of: transaction, muting: token) { return result }
            } catch {
                reports.report(error)
                return result
            }
        }
    }

    /// Makes the edits of a transaction; returns false if an entry that it has read was changed since, or a scope was discarded.
    private nonisolated func edit(
        _ edits: EntryEdits, from found: EntryValues, of transaction: StoreTransaction, muting token: ObservationToken?
    ) throws(StorageError) -> Bool {
        var isDone = false
        follow(
            try cache.change(muting: token?.subscriptionID ?? 0) { (state) throws(StorageError) in
                guard state.isCurrent(transaction.namesRead, in: found), !transaction.scopes.contains(where: state.discardedScopes.contains)
                else { return [] }
                isDone = true
                return try state.edit(edits, at: transaction.editedPaths)
            })
        return isDone
    }
}

// Several keys as one.
extension ObservableStore {
    /// The current values of several keys, and each newer combination, as a new stream for each call.
    ///
    /// ```swift
    /// for await (host, port) in store.values(of: .host, .port) { }
    /// ```
    ///
    /// The values of an element are those of one revision, so that none is half of a transaction. A slow reader receives the newest ones
    /// only; the last ones are always delivered. For a key whose stored value cannot be decoded, an element has its last valid value. Ends
    /// like ``values(of:)``.
    public nonisolated func values<First, Second, each Other>(
        of first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>
    ) -> AsyncStream<(First, Second, repeat each Other)> {
        elements(of: first, second, repeat each others)
    }

    /// Calls a closure with the values of several keys after each change of one of them, until the token is cancelled or released.
    ///
    /// The values are those of one revision: the closure is called once for a transaction that changes several of the keys, and changes
    /// made while it runs are combined. The last values are always delivered. A change that is made with the listener's own token does not
    /// call it; the next call has its values. See ``addUpdateListener(for:initial:on:_:)``.
    ///
    /// - Parameters:
    ///   - first: a key.
    ///   - second: another key.
    ///   - others: more keys.
    ///   - initial: whether the current values are delivered first.
    ///   - queue: the queue of the calls; by default the thread that makes a change.
    ///   - listener: receives the values, one call at a time.
    public nonisolated func addUpdateListener<First, Second, each Other>(
        for first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>, initial: Bool = false,
        on queue: DispatchQueue? = nil, _ listener: @escaping @Sendable (First, Second, repeat each Other) -> Void
    ) -> ObservationToken {
        addListener(for: Self.list(first, second, repeat each others), initial: initial, on: queue) { snapshot in
            listener(snapshot[first], snapshot[second], repeat snapshot[each others])
        }
    }
}

// The keys are captured one by one: with a type of its own for several keys, which would be generic over any number of types, Swift 6.3
// crashes when it is used in an optimized closure.
extension ObservableStore {
    /// The values of several keys; see ``values(of:_:_:)``.
    ///
    /// - Parameter valid: returns the snapshot, or an earlier one if its values are not valid.
    nonisolated func elements<First, Second, each Other>(
        of first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>,
        as valid: @escaping @Sendable (StoreSnapshot) -> StoreSnapshot = { $0 }
    ) -> AsyncStream<(First, Second, repeat each Other)> {
        elements(of: Self.list(first, second, repeat each others), as: valid) { snapshot in
            (snapshot[first], snapshot[second], repeat snapshot[each others])
        }
    }

    private static func list<First, Second, each Other>(
        _ first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>
    ) -> [any AnyStorageKey] {
        var keys: [any AnyStorageKey] = [first, second]
        func append<Key: AnyStorageKey>(_ key: Key) { keys.append(key) }
        repeat append(each others)
        return keys
    }
}

extension ObservableStore {
    /// An element made from the present entries, and one after each change of some keys.
    ///
    /// - Parameter valid: returns the snapshot, or an earlier one if its values are not valid.
    nonisolated func elements<Element: Sendable>(
        of keys: [any AnyStorageKey], as valid: @escaping @Sendable (StoreSnapshot) -> StoreSnapshot,
        _ makeElement: @escaping @Sendable (StoreSnapshot) -> Element
    ) -> AsyncStream<Element> {
        let slot = LatestSlot()
        // Each change fills the slot, which only wakes the reader; what it reads is the newest snapshot.
        let tokens = keys.map { observe($0, filling: slot) }
        _ = slot.put(Box(()))
        let latest = LatestSnapshot(of: keys, in: cache, reports, valid)
        return AsyncStream {
            defer { withExtendedLifetime(tokens) {} }
            while await slot.next() != nil {
                if let snapshot = latest.next() { return makeElement(snapshot) }
            }
            return nil
        } onCancel: {
            for token in tokens { token.cancel() }
            slot.end(keepingValue: false)
        }
    }

    /// Calls a closure with a snapshot after each change of some keys, one at a time.
    private nonisolated func addListener(
        for keys: [any AnyStorageKey], initial: Bool, on queue: DispatchQueue?, _ listener: @escaping @Sendable (StoreSnapshot) -> Void
    ) -> ObservationToken {
        let changed = ChangePublisher<Void>()
        let latest = LatestSnapshot(of: keys, in: cache, reports) { $0 }
        if !initial { _ = latest.next() }
        let id = UniqueNumber.next()
        let tokens = keys.map { observe($0, for: id) { changed.publish(()) } }
        let serial = queue.map { DispatchQueue(label: "ObservableStore listener", target: $0) }
        var deliveries = Deliveries()
        let token = changed.add(
            .listener(on: serial, of: id) { if let snapshot = latest.next() { listener(snapshot) } }, to: &deliveries,
            onCancel: { for token in tokens { token.cancel() } })
        // The first values, or those of a change before there was a subscriber.
        if latest.isOutdated { changed.post(to: &deliveries) {} }
        deliveries.deliver()
        return token
    }
}

extension ObservableStore {
    private nonisolated func observe(_ key: some AnyStorageKey, filling slot: LatestSlot) -> ObservationToken {
        observe(key.storageKey, Observer(slot: slot, onFinish: { _ in slot.end(keepingValue: true) }))
    }

    private nonisolated func observe(
        _ key: some AnyStorageKey, for tokenID: UInt64, _ onChange: @escaping @Sendable () -> Void
    ) -> ObservationToken {
        observe(key.storageKey, .listener(of: tokenID) { _ in onChange() })
    }
}

/// The newest snapshot for a reader of some keys, unless it has the same values as the one before.
private final class LatestSnapshot: Sendable {
    private let names: [EntryName]
    private let cache: EntryCache
    private let reports: FailureReports
    private let valid: @Sendable (StoreSnapshot) -> StoreSnapshot
    // The number of changes of the entries, and the revision of the snapshot, at the last call.
    private let last = Lock<(changes: UInt64, revision: UInt64)?>(nil)

    init(
        of keys: [any AnyStorageKey], in cache: EntryCache, _ reports: FailureReports,
        _ valid: @escaping @Sendable (StoreSnapshot) -> StoreSnapshot
    ) {
        names = keys.map(\.entryName)
        self.cache = cache
        self.reports = reports
        self.valid = valid
    }

    /// Whether an entry of the keys was changed since the last call of ``next()``, or there was none.
    var isOutdated: Bool {
        let changes = cache.snapshot(countingChangesOf: names).changes
        return last.withLock { $0?.changes != changes }
    }

    /// The present snapshot; nil if no entry of the keys was changed since the last call.
    func next() -> StoreSnapshot? {
        let (values, layers, changes) = cache.snapshot(countingChangesOf: names)
        let before = last.withLock { $0 }
        if before?.changes == changes { return nil }
        let snapshot = valid(StoreSnapshot(values, layers, of: cache, reports))
        last.withLock { $0 = (changes, snapshot.revision) }
        // An earlier snapshot was delivered before.
        let isEarlier = snapshot.revision != values.revision
        return isEarlier && before?.revision == snapshot.revision ? nil : snapshot
    }
}
