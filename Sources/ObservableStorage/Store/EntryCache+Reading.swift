import PropertyListCoding

// Looking up what keys read, and whether it could be decoded.
extension EntryCache {
    /// The stored, the fallback and the registered value of a name at one moment.
    struct Found: Sendable {
        let entry: StoredEntry
        /// The entry in which the effective value is stored, or else the key's own one, and its version.
        let source: Entry
        let version: UInt64
        /// The other entries from which the key may read.
        let others: EntryVersions
        /// Whether the value is stored in the source under a present name and no override hides it, so that the source may cache what a
        /// codec makes of it: the key would read that.
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
            let isOverride = entry.source == .override
            let isDecoded = !isOverride && !definition.traits.codec.isNative && source.reading(at: version, by: number) != nil
            definition.keep(
                ValueReading(
                    value, of: source, at: version, codec: isDecoded ? number : 0, others: others, failure: failure, isOverride: isOverride),
                isPlainEntry: others.isEmpty)
        }
    }

    /// The stored, the fallback and the registered value of a name, and the versions of the entries.
    func read(_ name: EntryName, as type: ObjectIdentifier?, ignoringOverride ignoresOverride: Bool = false) -> Found {
        update { state in
            var entry = state.entry(name)
            let isOverridden = entry.source == .override
            if ignoresOverride { entry.override = nil }
            let location = name.location(of: entry) { state.entries[$0] }
            let source = state.entries.ensureEntry(location.own)
            let isStored = entry.source == .stored || entry.source == .fallback
            let layer = isStored ? nil : state.layers.location(of: entry.source, name)
            let history = isStored ? source.content.history : layer.flatMap { state.layers[keyPath: $0.layer].histories[$0.name.own] }
            let others = name.hasOthers ? name.all.filter { $0 != location.own }.map { state.entries.ensureEntry($0) } : []
            return Found(
                entry: entry, source: source, version: source.version, others: others.map { ($0, $0.version) },
                isPresent: (isStored || entry.source == .mandatory) && !isOverridden
                    && (location.own == name.own || location.own == name.fallback),
                revision: history?.revision ?? 0,
                isUnconfirmed: type.flatMap { history?.isUnconfirmed($0, of: layer?.name ?? location) } ?? false,
                superseded: name.superseded { state.entries[$0] })
        }
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    ///
    /// - Parameter includingPresent: whether the present values are included, for readers of newer ones.
    func earlier(_ name: EntryName, includingPresent: Bool = false) -> EarlierValues {
        update { state in includingPresent ? state.earlier(name).after(state.entry(name)) : state.earlier(name) }
    }

    /// Records whether a value could be decoded: earlier values are kept until one could, and one that could not is reported once.
    ///
    /// - Parameters:
    ///   - revision: the revision in which the value was set, or a later one.
    ///   - good: the earlier valid value that is used instead.
    ///   - isReported: whether the failure is reported; false if the caller throws it.
    /// - Returns: whether the failure was reported by this call.
    @discardableResult
    func recordDecoding<Value>(
        _ key: StorageKey<Value>, _ entry: StoredEntry, revision: UInt64, _ failure: StorageError?,
        insteadOf good: PropertyListValue?, isReported: Bool = true
    ) -> Bool {
        let name = key.definition.entryName
        if entry.source == .override {
            guard let failure, reportedOverrides.withLock({ $0.insert(failure).inserted }) else { return false }
            if isReported { reports.report(failure) }
            return true
        }
        guard let stored = entry.present else { return false }
        if failure == nil, key.definition.type == nil { return false }
        let (isNew, _) = take { state -> (Bool, [PropertyListValue]) in
            state.updateHistory(of: entry, name, at: revision) { history, location, revision in
                guard failure == nil, let type = key.definition.type else {
                    return history.markInvalid(stored, of: location, revision: revision, insteadOf: good)
                }
                return (false, history.markValid(stored, of: location, as: type, revision: revision))
            } ?? (false, [])
        }
        if let failure, isNew, isReported { reports.report(failure) }
        return isNew
    }
}

extension EntryCacheState {
    /// Changes the history of the source of a key's value; returns nil if a layer has another value now.
    fileprivate mutating func updateHistory<Result>(
        of entry: StoredEntry, _ name: EntryName, at revision: UInt64, _ change: (inout EntryHistory, EntryName, UInt64) -> Result
    ) -> Result? {
        if let (layer, name) = layers.location(of: entry.source, name) {
            guard name.leaf(layers[keyPath: layer][name.own]) == entry.present else { return nil }
            var history = layers[keyPath: layer].histories[name.own] ?? EntryHistory()
            defer { layers[keyPath: layer].histories[name.own] = history }
            return change(&history, name, history.revision)
        }
        guard entry.source == .stored || entry.source == .fallback else { return nil }
        let location = name.location(of: entry) { entries[$0] }
        return change(&entries.ensureEntry(location.own).content.history, location, revision)
    }
}
