public import PropertyListCoding

extension ObservableStore: KeyValueAccess {
    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// If the stored value cannot be decoded, this is the last valid value that the store had, or else the value used while none is stored;
    /// ``failures`` reports the error, once for each stored value. Setting the key replaces the stored value. Modifying the value in place
    /// (`+=`, `append`) does not: it is reported instead. Where an override hides the stored value, reading returns the override, and a
    /// modification in place is based on the stored value.
    ///
    /// A value that cannot be encoded changes nothing, and is reported in ``failures``.
    public nonisolated subscript<Value>(key: StorageKey<Value>) -> Value {
        // Inlined, so that the type of the reading is known to the optimizer.
        @inlinable get {
            guard let reading = currentReading(of: key) else { return currentValue(of: key) }
            return reading.value()
        }
        // A setter that is not inlined consumes the key, as would the get and set that `+=` calls without `_modify`. In an endless loop at
        // the top level of a program, Swift 6.3 never finishes optimizing a call that consumes a constant (Tests/UserPrograms).
        @inlinable set { assign(newValue, to: key) }
        // With a getter and a setter alone, a modification could not be distinguished from an assignment.
        _modify { yield &self[key, muting: nil] }
    }

    /// The value of a key, set and modified without a change for the writer's own subscription.
    nonisolated subscript<Value>(key: StorageKey<Value>, muting token: ObservationToken?) -> Value {
        get { self[key] }
        set { assign(newValue, to: key, muting: token) }
        _modify {
            let (found, failure, isReported) = valueToModify(of: key)
            var value = found
            defer {
                if let failure {
                    // What was read is not what is stored.
                    if !isReported { reports.report(failure) }
                } else {
                    assign(value, to: key, muting: token)
                }
            }
            yield &value
        }
    }

    @usableFromInline nonisolated func assign<Value>(_ value: Value, to key: StorageKey<Value>, muting token: ObservationToken? = nil) {
        do { try set(value, for: key, muting: token) } catch { reports.report(error) }
    }

    private nonisolated func valueToModify<Value>(
        of key: StorageKey<Value>
    ) -> (Value, failure: StorageError?, isReported: Bool) {
        if let reading = currentReading(of: key), reading.failure == nil, !reading.isOverride { return (reading.value(), nil, false) }
        let (value, failure, isReported, _) = readStoredValue(of: key)
        return (value, failure, isReported)
    }

    /// Reads the value on which a modification is based: not an override, which would be stored with it.
    nonisolated func readStoredValue<Value>(
        of key: StorageKey<Value>
    ) -> (value: Value, failure: StorageError?, isReported: Bool, entry: StoredEntry) {
        let found = readValue(of: key)
        if found.entry.isUnread {
            // It may have become known meanwhile.
            guard let failure = cache.unreadError(of: key) else { return readStoredValue(of: key) }
            return (found.value, failure, false, found.entry)
        }
        if found.entry.override == nil { return found }
        let stored = readValue(of: key, ignoringOverride: true)
        // A mandatory value is read by both.
        let isReported = stored.isReported || found.isReported && found.entry.source == .mandatory
        return (stored.value, stored.failure, isReported, stored.entry)
    }

    @usableFromInline nonisolated func currentReading<Value>(of key: StorageKey<Value>) -> Reading? {
        key.definition.readings.reading(in: cache.id)
    }

    @usableFromInline nonisolated func currentValue<Value>(of key: StorageKey<Value>) -> Value {
        readValue(of: key).value
    }

    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// A stored value that could not be decoded is decoded again by each call, whereas other ways of reading try again when it changes.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public nonisolated func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        // A failure is tried again: the codec may depend on something that was missing.
        if let reading = currentReading(of: key), reading.failure == nil { return reading.value() }
        let (value, failure, _, _) = readValue(of: key)
        if let failure { throw failure }
        return value
    }

    /// Reads a value from the entries, and caches it.
    ///
    /// - Parameter ignoresOverride: whether the value is read that an override hides, which is not cached.
    /// - Returns: the value; the reason if the stored value cannot be decoded, and whether it was reported by this call; and the entry
    ///   read.
    nonisolated func readValue<Value>(
        of key: StorageKey<Value>, ignoringOverride ignoresOverride: Bool = false
    ) -> (value: Value, failure: StorageError?, isReported: Bool, entry: StoredEntry) {
        storeDefaultIfNeeded(of: key)
        let definition = key.definition
        let name = definition.entryName
        let found = cache.read(name, as: definition.type, ignoringOverride: ignoresOverride)
        if let superseded = found.superseded { reportSuperseded(superseded, of: key) }
        let (value, failure, good) = key.value(
            of: found.entry, { stored throws(StorageError) in try found.decoded(stored, for: key) }, orLastOf: { cache.earlier(name) })
        let isKnown = failure == nil && !found.isUnconfirmed
        let isReported =
            isKnown ? false : cache.recordDecoding(key, found.entry, revision: found.revision, failure, insteadOf: good)
        // Not cached if the default could not be stored, so that the next read tries again, or is evaluated by each read. Beside the value of
        // a layer it is not stored.
        let hasDynamicDefault = definition.traits.hasDynamicDefault
        let mayBeDefault = found.entry.mandatory == nil && found.entry.stored == nil || failure != nil && hasDynamicDefault
        let mayBeStored = definition.storesDefault && found.entry.registered == nil
        let isKept = (!mayBeDefault || !mayBeStored && !hasDynamicDefault) && !found.entry.isUnread
        if isKept, !ignoresOverride { found.keep(value, of: key, failure) }
        return (value, failure, isReported, found.entry)
    }

    private nonisolated func reportSuperseded<Value>(_ superseded: (name: String, value: PropertyListValue), of key: StorageKey<Value>) {
        let known = cache.reportedSuperseded.take { $0.remember(superseded.value, for: superseded.name) }
        if known != superseded.value { reports.report(.superseded(key: key.name, earlierName: superseded.name)) }
    }

    /// Sets a key's value, immediately for all readers in this process; it is written soon after. Setting nil removes the entry, except in
    /// a scene; see ``SceneStore``.
    ///
    /// Setting a value equal to the stored one is not a change.
    ///
    /// - Parameters:
    ///   - value: the new value.
    ///   - key: the key.
    ///   - token: the writer's own subscription, which does not receive this change.
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``, ``StorageError/mandatory(key:)``,
    ///   ``StorageError/discardedScene(key:)``, ``StorageError/invalidGroup(group:reason:)``, ``StorageError/nestedEdit(key:)`` or
    ///   ``StorageError/closed``; nothing changes then.
    public nonisolated func set<Value>(
        _ value: Value, for key: StorageKey<Value>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        try edit(key, try key.stored(value, in: backend), isRemoval: false, muting: token)
    }

    /// Removes a key's stored value, under earlier names too, so that the key has its default again. In a closed store, this is only
    /// reported in ``failures``.
    public nonisolated func remove<Value>(_ key: StorageKey<Value>, muting token: ObservationToken? = nil) {
        reporting { () throws(StorageError) in try edit(key, nil, isRemoval: true, muting: token) }
    }

    private nonisolated func edit<Value>(
        _ key: StorageKey<Value>, _ stored: PropertyListValue?, isRemoval: Bool, muting token: ObservationToken?
    ) throws(StorageError) {
        let definition = key.definition
        if definition.editsSeveral {
            var checks = 0
            while !(try edit(key, storing: stored, isRemoval: isRemoval, after: &checks, muting: token)) {}
            return
        }
        var deliveries: Deliveries?
        let needsFlush = try cache.edit(definition, stored, muting: token?.subscriptionID ?? 0, &deliveries)
        if needsFlush { synchronizer.scheduleFlush() }
        // After the flush is scheduled, because a listener may be slow.
        if let deliveries { cache.deliver(deliveries) }
    }

    /// Removes all entries, as one revision, so that every key has its default again. Migrations and imports that were made are not repeated.
    ///
    /// If the storage does not take as many entries in one edit, they are removed as several revisions.
    public nonisolated func reset() {
        reset(under: KeyPrefix([]))
    }

    /// Removes the entries whose names begin with the components, as ``reset()`` does.
    nonisolated func reset(under prefix: KeyPrefix) {
        reporting { () throws(StorageError) in
            try synchronizer.change { (state) throws(StorageError) in
                try state.remove { prefix.contains($0) && !Self.records.contains($0) }
            }
        }
    }

    /// Removes the entries of scopes and the records of imports into them; see ``EntryCacheState/discard(_:_:)``.
    nonisolated func discard(_ known: KeyPrefix? = nil, _ scope: @escaping @Sendable (String) -> KeyPrefix?) {
        reporting { () throws(StorageError) in
            try synchronizer.change { (state) throws(StorageError) in
                try state.forgetImports { scope($0) != nil } + state.discard(known, scope)
            }
        }
    }

    /// Whether a value is stored for a key, including under an earlier name, whether it can be decoded or not.
    public nonisolated func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        cache.update { state in key.definition.entryName.isStored { state.entries[$0] } }
    }

    /// Sets the value of a key while none is stored, which precedes the key's own default. It is not written, and observers are not
    /// notified.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``.
    public nonisolated func register<Value>(_ value: Value, for key: StorageKey<Value>) throws(StorageError) {
        let stored = try key.stored(value)
        let name = key.definition.entryName.registered
        try cache.take { (state) throws(StorageError) in
            let value = try name.replacing(stored, in: state.layers.registered[name.own])
            return state.register(value, for: name.own)
        }
    }

    /// Sets the values of names while none are stored, as ``register(_:for:)`` does for a key. Readers have all of them or none.
    ///
    /// ```swift
    /// try store.register(["port": 8080, "hosts": ["localhost"]])
    /// ```
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)`` if a property list cannot represent a value; none is registered then.
    public nonisolated func register(_ values: [String: PropertyListValue]) throws(StorageError) {
        for (name, value) in values {
            do {
                // In the dictionary of the list, as for a key.
                try value.validate(inside: 1)
            } catch {
                throw StorageError.unencodable(key: name, because: error)
            }
        }
        cache.take { state in values.map { state.register($0.value, for: $0.key) } }
    }

    /// All stored values by name, at one moment.
    package nonisolated var entries: [String: PropertyListValue] {
        cache.update { $0.entries.values }
    }

    /// The number of changes in memory since the store was opened; a transaction counts as one.
    package nonisolated var revision: UInt64 {
        cache.update { $0.revision }
    }

    private nonisolated func reporting(_ body: () throws(StorageError) -> Void) {
        do {
            try body()
        } catch {
            reports.report(error)
        }
    }
}
