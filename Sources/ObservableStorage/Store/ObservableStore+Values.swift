public import PropertyListCoding

extension ObservableStore: KeyValueAccess {
    /// The value of a key: what is stored, or else registered, or else the key's default.
    ///
    /// Where what is stored cannot be decoded, it is the last good value that the store has had, or else what counts while nothing is stored;
    /// ``failures`` has the error, once for each stored value. Setting the key replaces what is stored. What modifies the value in place
    /// (`+=`, `append`) does not: it is reported instead.
    ///
    /// A value that cannot be encoded changes nothing and is reported in ``failures``.
    public nonisolated subscript<Value>(key: StorageKey<Value>) -> Value {
        // Inlined into its users, who know the type, which a key's reading is of.
        @inlinable get {
            guard let reading = currentReading(of: key) else { return currentValue(of: key) }
            return reading.value()
        }
        // A setter that is not inlined takes the key over, and so would the get and set that `+=` is without `_modify`. In a loop without end
        // at the top level of a program, Swift 6.3 never ends to optimize a call that takes a constant over (Tests/UserPrograms).
        @inlinable set { assign(newValue, to: key) }
        // Tells a modification from an assignment: a getter and a setter alone would not.
        _modify {
            let (found, failure, isReported) = valueToModify(of: key)
            var value = found
            defer { endModification(of: key, value, failure, isReported) }
            yield &value
        }
    }

    @usableFromInline nonisolated func assign<Value>(_ value: Value, to key: StorageKey<Value>) {
        do { try set(value, for: key) } catch { reports.report(error) }
    }

    private nonisolated func valueToModify<Value>(
        of key: StorageKey<Value>
    ) -> (Value, failure: StorageError?, isReported: Bool) {
        if let reading = currentReading(of: key) { return (reading.value(), reading.failure, false) }
        let (value, failure, isReported, _) = readValue(of: key)
        return (value, failure, isReported)
    }

    /// Stores what a modification has made, unless it was made in place of a value that cannot be decoded.
    private nonisolated func endModification<Value>(
        of key: StorageKey<Value>, _ value: Value, _ failure: StorageError?, _ isReported: Bool
    ) {
        guard let failure else { return assign(value, to: key) }
        if !isReported { reports.report(failure) }
    }

    @usableFromInline nonisolated func currentReading<Value>(of key: StorageKey<Value>) -> Reading? {
        key.definition.readings.reading(in: cache.id)
    }

    @usableFromInline nonisolated func currentValue<Value>(of key: StorageKey<Value>) -> Value {
        readValue(of: key).value
    }

    /// The value of a key: what is stored, or else registered, or else the key's default.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:)`` when what is stored is not a value of the key's type.
    public nonisolated func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        if let reading = currentReading(of: key) {
            if let failure = reading.failure { throw failure }
            return reading.value()
        }
        let (value, failure, _, _) = readValue(of: key)
        if let failure { throw failure }
        return value
    }

    /// Reads a value anew, and remembers it.
    ///
    /// - Returns: the value; what is wrong with what is stored, and whether that was reported just now; and what there was.
    nonisolated func readValue<Value>(
        of key: StorageKey<Value>
    ) -> (value: Value, failure: StorageError?, isReported: Bool, entry: StoredEntry) {
        migrateIfNeeded(key)
        let definition = key.definition
        let name = definition.entryName
        let found = cache.read(name, as: definition.type)
        let (source, version) = found.source
        let (value, failure, good) = key.value(
            of: found.entry, { stored throws(StorageError) in try key.decoded(stored, in: source, at: version) },
            orLastOf: { cache.earlier(name) })
        let isNoted = failure == nil && !found.isUnconfirmed
        let isReported =
            isNoted ? false : cache.noteDecoded(key, found.entry, revision: found.revision, failure, insteadOf: good, reports)
        if found.isComplete || !definition.needsMigration {
            found.keep(value, of: key, failure)
        }
        return (value, failure, isReported, found.entry)
    }

    /// Sets a key's value, at once for every reader in this process; it is stored soon after. Setting nil removes it.
    ///
    /// Setting what is stored already is no change.
    ///
    /// - Parameters:
    ///   - value: the new value.
    ///   - key: the key.
    ///   - token: the writer's own subscription, which is not told about this change.
    /// - Throws: ``StorageError/unencodable(key:reason:)`` or ``StorageError/closed``; nothing changes then.
    public nonisolated func set<Value>(
        _ value: Value, for key: StorageKey<Value>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        let stored = try key.stored(value) { stored throws(StorageError) in try backend.storable(stored, for: key.name) }
        try edit(key, stored, muting: token)
    }

    /// Removes what is stored for a key, under earlier names too, so that it has its default again. Does nothing in a closed store but report
    /// it in ``failures``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>, muting token: ObservationToken? = nil) {
        reporting { () throws(StorageError) in try edit(key, nil, muting: token) }
    }

    private nonisolated func edit<Value>(
        _ key: StorageKey<Value>, _ stored: PropertyListValue?, muting token: ObservationToken?
    ) throws(StorageError) {
        let definition = key.definition
        if definition.editsSeveral { return try editSeveral(key, stored, muting: token) }
        var deliveries: Deliveries?
        if try cache.edit(definition, stored, muting: token?.subscription ?? 0, &deliveries) { scheduleFlush() }
        // Not before: a listener may take long.
        if let deliveries { cache.deliver(deliveries) }
    }

    private nonisolated func editSeveral<Value>(
        _ key: StorageKey<Value>, _ stored: PropertyListValue?, muting token: ObservationToken?
    ) throws(StorageError) {
        try edit(muting: token) { (state) throws(StorageError) in
            let edits = key.edits(storing: stored) { state.entries[$0] }
            return try state.edit(edits, of: key.name)
        }
    }

    /// Removes everything that is stored, as one revision, so that every key has its default again.
    public nonisolated func reset() {
        reset(under: KeyPrefix([]))
    }

    /// Removes what is stored under some names, as one revision.
    nonisolated func reset(_ keys: [String]) {
        removeAll { _ in keys.reduce(into: EntryEdits()) { $0.updateValue(nil, forKey: $1) } }
    }

    /// Removes what is stored under every name that begins with some components, as one revision.
    nonisolated func reset(under prefix: KeyPrefix) {
        removeAll { $0.removals(under: prefix) }
    }

    /// Whether a value is stored for a key, under an earlier name too, decodable or not.
    public nonisolated func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        cache.update { state in key.definition.entryName.counting { state.entries[$0] } != nil }
    }

    /// Sets what a key's value is while none is stored, before the key's own default. Never written, and nobody is change.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)``.
    public nonisolated func register<Value>(_ value: Value, for key: StorageKey<Value>) throws(StorageError) {
        let stored = try key.stored(value)
        cache.register(stored, for: key.definition.entryName.registered)
    }

    /// Everything that is stored, by name, as it is at one moment.
    public nonisolated var entries: [String: PropertyListValue] {
        cache.update { $0.entries.values }
    }

    /// Counts the changes in memory since the store was opened, a transaction as one.
    public nonisolated var revision: UInt64 {
        cache.update { $0.revision }
    }

    private nonisolated func reporting(_ body: () throws(StorageError) -> Void) {
        do {
            try body()
        } catch {
            reports.report(error)
        }
    }

    private nonisolated func removeAll(_ removals: (EntryCacheState) -> EntryEdits) {
        reporting { () throws(StorageError) in
            try edit { (state) throws(StorageError) in try state.edit(removals(state)) }
        }
    }

    private nonisolated func edit(
        muting token: ObservationToken? = nil, _ body: (inout EntryCacheState) throws(StorageError) -> [EntryChange]
    ) throws(StorageError) {
        follow(try cache.change(muting: token?.subscription ?? 0, body))
    }
}
