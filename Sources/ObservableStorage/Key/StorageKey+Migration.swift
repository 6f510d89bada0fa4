import PropertyListCoding

extension StorageKey {
    /// The same key, which also reads an earlier type of its value.
    ///
    /// A value stored in the earlier type is replaced when the key is first read, with the origin
    /// ``ChangeOrigin/migration``. Declare several of them from the newest type to the oldest; they are tried in that order.
    ///
    /// - Parameters:
    ///   - type: the earlier type.
    ///   - transform: converts an earlier value; if it throws, the stored value is not changed, and reading has the error.
    public func migrating<Old: Storable>(
        from type: Old.Type = Old.self, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        migrating(from: type, codec: .native, transform)
    }

    /// The same key, which also reads an earlier type of its value that was stored with a codec; see ``migrating(from:_:)``.
    public func migrating<Old>(
        from type: Old.Type = Old.self, codec: StorageCodec<Old>, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        with { traits in
            traits.migrations.append { stored in
                let old: Old
                do {
                    old = try codec.decode(stored)
                } catch {
                    return nil
                }
                return try transform(old)
            }
        }
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
        [definition.entryName.own] + definition.traits.earlierNames
    }

    /// The changes caused by reading, given the values stored under the names above; nil if there are none.
    ///
    /// - Parameters:
    ///   - entry: the entry of the key, which caches the decoded value; see ``decoded(_:in:at:)``.
    ///   - version: the version of the entry.
    func migration(of stored: [String: PropertyListValue], in entry: Entry? = nil, at version: UInt64 = 0) -> MigrationOnRead? {
        let entryName = definition.entryName
        guard let current = entryName.leaf(stored[entryName.own]) else {
            if let earlier = definition.traits.earlierNames.first(where: { stored[$0] != nil }), let value = stored[earlier] {
                return changes(of: stored, storing: reshaped(value) ?? value, .migration, removing: earlier)
            }
            return persistsDefault.contains(.whenMissing) ? keptDefault(stored) : nil
        }
        guard !isPresentShape(current, in: entry, at: version) else { return nil }
        if let value = reshaped(current) { return changes(of: stored, storing: value, .migration) }
        return persistsDefault.contains(.onFailure) ? keptDefault(stored) : nil
    }

    private func changes(
        of stored: [String: PropertyListValue], storing value: PropertyListValue, _ origin: ChangeOrigin, removing earlier: String? = nil
    ) -> MigrationOnRead? {
        let entryName = definition.entryName
        do throws(StorageError) {
            var edits: EntryEdits = [entryName.own: try entryName.replacing(value, in: stored[entryName.own])]
            if let earlier { edits.updateValue(nil, forKey: earlier) }
            return (edits, origin)
        } catch {
            // A value that cannot be written is not changed; setting it reports the error.
            return nil
        }
    }

    /// An earlier type converted to the present one.
    private func reshaped(_ stored: PropertyListValue) -> PropertyListValue? {
        do {
            guard !isPresentShape(stored), let value = try migrated(stored) else { return nil }
            return storedOrNil(value)
        } catch {
            // Reading has the same error.
            return nil
        }
    }

    private func keptDefault(_ stored: [String: PropertyListValue]) -> MigrationOnRead? {
        storedOrNil(defaultValue).flatMap { changes(of: stored, storing: $0, .local) }
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
    func edits(
        storing stored: PropertyListValue?, over current: (String) -> PropertyListValue?
    ) throws(StorageError) -> EntryEdits {
        guard let stored else { return removals(over: current) }
        let entryName = definition.entryName
        var edits: EntryEdits = [entryName.own: try entryName.replacing(stored, in: current(entryName.own))]
        if let counting = entryName.counting(current), counting != entryName.own { edits.updateValue(nil, forKey: counting) }
        if definition.traits.writesThrough, let fallback {
            let storedThere = stored == definition.traits.storedNil ? nil : stored
            edits.merge(try fallback.edits(storing: storedThere, over: current)) { $1 }
        }
        return edits
    }

    /// The edits that remove the key's own value: any earlier name that is left would give it one again.
    func removals(over current: (String) -> PropertyListValue?) -> EntryEdits {
        let entryName = definition.entryName
        let left = entryName.path.isEmpty ? nil : entryName.removing(from: current(entryName.own))
        return entryName.earlier.reduce(into: [entryName.own: left]) { $0.updateValue(nil, forKey: $1) }
    }

    /// The paths of the edits above that concern one value in the dictionary of an entry.
    var editedPaths: EditedPaths {
        guard !definition.traits.path.isEmpty else { return [:] }
        let names = [definition.entryName.own, definition.traits.writesThrough ? definition.entryName.fallback : nil]
        return names.reduce(into: [:]) { if let name = $1 { $0[name] = [definition.traits.path] } }
    }
}
