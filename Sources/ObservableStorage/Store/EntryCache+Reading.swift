import PropertyListCoding

// Looking up what keys read, and whether it could be decoded.
extension EntryCache {
    /// The stored, the fallback and the registered value of a name at one moment.
    struct Found: Sendable {
        let entry: StoredEntry
        /// The entry in which the effective value is stored, or else the key's own one.
        let source: EntryVersion
        /// The other entries from which the key may read.
        let others: [EntryVersion]
        /// Whether the value is stored in the source under a present name and no override hides it, so that the source may cache what a
        /// codec makes of it: the key would read that.
        let isPresent: Bool
        /// The revision in which the effective value was set.
        let revision: UInt64
        /// Whether the value has not been recorded as valid yet.
        let isUnconfirmed: Bool
        /// The value under an earlier name that was stored after the present one; nil if there is none.
        let superseded: (name: String, value: PropertyListValue)?

        /// The value in the key's type; see ``StorageKey/decoded(_:in:)``.
        func decoded<Value>(_ stored: PropertyListValue, for key: StorageKey<Value>) throws(StorageError) -> Value {
            try key.decoded(stored, in: isPresent ? source : nil)
        }

        /// Caches a decoded value with the entry from which it was read.
        func keep<Value>(_ value: Value, of key: StorageKey<Value>, _ failure: StorageError?) {
            let definition = key.definition
            let number = definition.traits.codecNumber
            let isOverride = entry.source == .override
            let isDecoded =
                !isOverride && !definition.traits.codec.isNative && source.entry.reading(at: source.version, by: number) != nil
            definition.keep(
                ValueReading(
                    value, of: source, codec: isDecoded ? number : 0, others: others, failure: failure, isOverride: isOverride),
                isPlainEntry: others.isEmpty)
        }
    }

    /// The stored, the fallback and the registered value of a name, and the versions of the entries.
    func read(_ name: EntryName, as type: ObjectIdentifier?, ignoringOverride ignoresOverride: Bool = false) -> Found {
        update { state in
            var entry = state.entry(name)
            let isOverridden = entry.source == .override
            if ignoresOverride { entry.override = nil }
            let location = name.location(of: entry.source) { state.entries[$0] }
            let source = state.entries.ensureEntry(location.own)
            let isStored = entry.source == .stored || entry.source == .fallback
            let layer = isStored ? nil : state.layers.location(of: entry.source, name)
            let history = isStored ? source.content.history : layer.flatMap { state.layers[keyPath: $0.layer].histories[$0.name.own] }
            let others = name.hasOthers ? name.all.filter { $0 != location.own }.map { state.entries.ensureEntry($0) } : []
            return Found(
                entry: entry, source: (source, source.version), others: others.map { ($0, $0.version) },
                isPresent: (isStored || entry.source == .mandatory) && !isOverridden
                    && [location, layer?.name ?? location].allSatisfy { $0.own == name.own || $0.own == name.fallback },
                revision: history?.revision ?? 0,
                isUnconfirmed: type.flatMap { history?.isUnconfirmed($0, of: layer?.name ?? location) } ?? false,
                superseded: name.superseded { state.entries[$0] })
        }
    }

    /// Why the value of a key cannot be modified: what is stored would be overwritten; nil if it is known.
    func unreadError<Value>(of key: StorageKey<Value>) -> StorageError? {
        guard update({ $0.isUnread(key.definition.entryName) }) else { return nil }
        return .unencodable(key: key.name, reason: "it cannot be modified before the storage is read, because what is stored is not known")
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    ///
    /// - Parameter includingPresent: whether the present values are included, for readers of newer ones.
    func earlier(_ name: EntryName, includingPresent: Bool = false) -> EarlierValues {
        update { state in includingPresent ? state.earlier(name).after(state.entry(name)) : state.earlier(name) }
    }

    /// Records that the value in effect in a snapshot or a transaction cannot be decoded, if it is in effect in the store as well.
    ///
    /// - Returns: whether it is.
    @discardableResult
    func recordFailure<Value>(
        _ failure: StorageError, of key: StorageKey<Value>, in entry: StoredEntry, ignoringOverride: Bool = false,
        isReported: Bool = true
    ) -> Bool {
        let name = key.definition.entryName
        let present = read(name, as: nil, ignoringOverride: ignoringOverride)
        guard present.entry.source == entry.source, present.entry.present == entry.present else { return false }
        // The store may have had later valid values than the snapshot.
        let good = key.replacement(in: present.entry, earlier(name))?.good
        recordDecoding(key, present.entry, revision: present.revision, failure, insteadOf: good, isReported: isReported)
        return true
    }

    /// Records whether the value in effect could be decoded, or which one beneath it is used instead: earlier values are kept until one
    /// could, and one that could not is reported once.
    ///
    /// - Parameters:
    ///   - revision: the revision in which the value was set, or a later one.
    ///   - good: the valid value that is used instead, which may be an earlier one.
    ///   - isReported: whether the failure is reported; false if the caller throws it.
    /// - Returns: whether the failure was reported by this call.
    @discardableResult
    func recordDecoding<Value>(
        _ key: StorageKey<Value>, _ entry: StoredEntry, revision: UInt64, _ failure: StorageError?,
        insteadOf good: StoredEntry.ValidValue?, isReported: Bool = true
    ) -> Bool {
        let (name, type) = (key.definition.entryName, key.definition.type)
        guard let source = entry.source, failure != nil || type != nil && source != .override else { return false }
        var (isNew, _) = take { state -> (Bool, [PropertyListValue]) in
            var (isNew, unneeded) = (false, [PropertyListValue]())
            for decoded in failure == nil ? [source] : entry.sources {
                let (isHidden, isUsed) = (decoded != source, decoded == good?.source)
                // Meanwhile, the value of another entry may be in effect, which must not count as valid.
                let valueRevision = isHidden || failure == nil ? nil : revision
                state.updateHistory(of: decoded, in: entry, name, at: valueRevision) { history, location, revision, value in
                    if failure != nil, !(isHidden && isUsed && value == good?.stored) {
                        let found = history.markInvalid(
                            value, of: location, revision: revision, insteadOf: isUsed ? good?.stored : nil, as: type, isHidden: isHidden)
                        isNew = isNew || found.isNew
                        unneeded += found.unneeded
                    } else if let type {
                        unneeded += history.markValid(value, of: location, as: type)
                    }
                }
                if isUsed { break }
            }
            return (isNew, unneeded)
        }
        if source == .override, let failure { isNew = reportedOverrides.withLock { $0.insert(failure).inserted } }
        if let failure, isNew, isReported { reports.report(failure) }
        return isNew
    }
}

extension EntryCacheState {
    /// Changes the history of a source of a key's value; does nothing if a layer has another value now, or the source is an override.
    ///
    /// - Parameter revision: the revision in which a stored value was set, or a later one; nil if another value now is to be ignored.
    fileprivate mutating func updateHistory(
        of source: StoredEntry.Level, in entry: StoredEntry, _ name: EntryName, at revision: UInt64?,
        _ change: (inout EntryHistory, EntryName, _ revision: UInt64, _ value: PropertyListValue) -> Void
    ) {
        guard let value = entry[source] else { return }
        if let (layer, name) = layers.location(of: source, name) {
            guard name.leaf(layers[keyPath: layer][name.own]) == value else { return }
            var history = layers[keyPath: layer].histories[name.own] ?? EntryHistory()
            change(&history, name, history.revision, value)
            layers[keyPath: layer].histories[name.own] = history
        } else {
            let location = name.location(of: source) { entries[$0] }
            let stored = entries.ensureEntry(location.own)
            if revision == nil, location.leaf(stored.content.value) != value { return }
            change(&stored.content.history, location, revision ?? stored.content.history.revision, value)
        }
    }
}

extension StorageKey {
    /// What a backend stores if the key is set to a value; nil if the entry is removed.
    func stored(_ value: Value, in backend: any StorageBackend) throws(StorageError) -> PropertyListValue? {
        guard let encoded = try stored(value) else { return definition.traits.storedNil }
        return isPlain(encoded) ? encoded : try backend.accepted(encoded, for: name)
    }
}
