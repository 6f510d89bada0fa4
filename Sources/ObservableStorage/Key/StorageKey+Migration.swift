import PropertyListCoding

extension StorageKey {
    /// The same key, which also reads an earlier type of its value.
    ///
    /// A value stored in the earlier type is replaced when the key is first read, with the origin
    /// ``ChangeOrigin/migration``. Declare several of them from the newest type to the oldest; they are tried in that order.
    ///
    /// - Parameters:
    ///   - type: the earlier type.
    ///   - transform: converts an earlier value; if it throws, the stored value is not changed.
    public func migrating<Old: Storable>(
        from type: Old.Type = Old.self, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        migrating(from: type, codec: .native, transform)
    }

    /// The same key, which also reads an earlier type of its value that was stored with a codec; see ``migrating(from:_:)``.
    public func migrating<Old>(
        from type: Old.Type = Old.self, codec: StorageCodec<Old>, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        with { $0.migrations.append { try transform(codec.decode($0)) } }
    }

    /// The same key, whose entry had another name earlier.
    ///
    /// The value under the earlier name moves to the new one when the key is first read, unless the new name already has a value.
    /// Until then it is the key's value: `isSet` is true, and setting or removing the key removes it.
    /// Declare several of them from the newest name to the oldest.
    public func renamed(from name: String) -> StorageKey {
        with { $0.earlierNames.append(name) }
    }
}

/// The stored changes that reading a key causes: a new name, a new type, a persisted default.
typealias MigrationOnRead = (edits: EntryEdits, origin: ChangeOrigin)

extension StorageKey {
    /// The entries that have to be checked for that.
    var migrationNames: [String] {
        [name] + definition.traits.earlierNames
    }

    /// The changes caused by reading, given the values stored under the names above; nil if there are none.
    ///
    /// - Parameters:
    ///   - entry: the entry of the key, which caches the decoded value; see ``decoded(_:in:at:)``.
    ///   - version: the version of the entry.
    func migration(of stored: [String: PropertyListValue], in entry: Entry? = nil, at version: UInt64 = 0) -> MigrationOnRead? {
        guard let current = stored[name] else {
            if let earlier = definition.traits.earlierNames.first(where: { stored[$0] != nil }), let value = stored[earlier] {
                return ([name: .some(reshaped(value) ?? value), earlier: PropertyListValue?.none], .migration)
            }
            return persistsDefault.contains(.whenMissing) ? keptDefault : nil
        }
        guard !isPresentShape(current, in: entry, at: version) else { return nil }
        if let value = reshaped(current) { return ([name: .some(value)], .migration) }
        return persistsDefault.contains(.onFailure) ? keptDefault : nil
    }

    /// An earlier type converted to the present one.
    private func reshaped(_ stored: PropertyListValue) -> PropertyListValue? {
        guard !isPresentShape(stored), let value = migrated(stored) else { return nil }
        return storedOrNil(value)
    }

    private var keptDefault: MigrationOnRead? {
        storedOrNil(defaultValue).map { ([name: .some($0)], .local) }
    }

    private func storedOrNil(_ value: Value) -> PropertyListValue? {
        do {
            return try stored(value)
        } catch {
            // A value that cannot be written is not changed; setting it reports the error.
            return nil
        }
    }
}

extension StorageKey {
    /// The edits that store or remove a value, including the entry of an earlier name from which the value was read.
    ///
    /// - Parameter current: the stored value of a name.
    func edits(storing stored: PropertyListValue?, over current: (String) -> PropertyListValue?) -> EntryEdits {
        guard let stored else { return removals }
        var edits: EntryEdits = [name: stored]
        if let counting = definition.entryName.counting(current), counting != name { edits.updateValue(nil, forKey: counting) }
        if definition.traits.writesThrough, let fallback {
            edits.merge(fallback.edits(storing: stored, over: current)) { $1 }
        }
        return edits
    }

    /// The edits that remove the key's own value: any earlier name that is left would give it one again.
    var removals: EntryEdits {
        definition.entryName.earlier.reduce(into: [name: .none]) { $0.updateValue(nil, forKey: $1) }
    }
}
