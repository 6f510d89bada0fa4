import PropertyListCoding

extension StorageKey {
    /// The same key, which also understands an earlier shape of its value.
    ///
    /// What is stored in the earlier shape is replaced by the new one when the key is first read, with the origin
    /// ``ChangeOrigin/migration``. Several of them stand from the newest shape to the oldest, and are tried in that order.
    ///
    /// - Parameters:
    ///   - type: the earlier type.
    ///   - transform: makes today's value of it; what it throws leaves everything stored as it was.
    public func migrating<Old: Storable>(
        from type: Old.Type = Old.self, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        migrating(from: type, codec: .native, transform)
    }

    /// The same key, which also understands an earlier shape of its value that was stored by a codec; see ``migrating(from:_:)``.
    public func migrating<Old>(
        from type: Old.Type = Old.self, codec: StorageCodec<Old>, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        with { $0.migrations.append { try transform(codec.decode($0)) } }
    }

    /// The same key, whose entry had another name earlier.
    ///
    /// What is stored under the earlier name moves to the new one when the key is first read, unless something is stored there already.
    /// Until then it counts all the same: the key is set, and setting or removing the key removes it.
    /// Several of them stand from the newest name to the oldest.
    public func renamed(from name: String) -> StorageKey {
        with { $0.earlierNames.append(name) }
    }
}

/// What reading a key has to change about what is stored: a new name, a new shape, a default that is to be kept.
typealias MigrationOnRead = (edits: EntryEdits, origin: ChangeOrigin)

extension StorageKey {
    /// The entries that have to be looked at for that.
    var migrationNames: [String] {
        [name] + definition.traits.earlierNames
    }

    /// What reading has to change, given what is stored under the names above; nil if nothing.
    ///
    /// - Parameters:
    ///   - entry: that of the key, which keeps what was decoded; see ``decoded(_:in:at:)``.
    ///   - version: that of the entry.
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

    /// An earlier shape in the present one.
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
            // What cannot be written stays as it is; whoever sets it is told.
            return nil
        }
    }
}

extension StorageKey {
    /// What has to be edited for a value to be stored, or removed: also the entry under an earlier name that the value was read from.
    ///
    /// - Parameter current: what is stored under a name now.
    func edits(storing stored: PropertyListValue?, over current: (String) -> PropertyListValue?) -> EntryEdits {
        guard let stored else { return removals }
        var edits: EntryEdits = [name: stored]
        if let counting = definition.entryName.counting(current), counting != name { edits.updateValue(nil, forKey: counting) }
        if definition.traits.writesThrough, let fallback {
            edits.merge(fallback.edits(storing: stored, over: current)) { $1 }
        }
        return edits
    }

    /// What has to be edited for the key to have no value of its own: any earlier name that is left would give it one again.
    var removals: EntryEdits {
        definition.entryName.earlier.reduce(into: [name: .none]) { $0.updateValue(nil, forKey: $1) }
    }
}
