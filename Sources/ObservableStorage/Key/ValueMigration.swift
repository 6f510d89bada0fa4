import PropertyListCoding

/// Makes a key's value of an earlier shape of it.
struct ValueMigration<Value: Sendable>: Sendable {
    let migrate: @Sendable (PropertyListValue) throws -> Value
}

extension StorageKey {
    /// The same key, which also understands an earlier shape of its value.
    ///
    /// What is stored in the earlier shape is replaced by the new one when the key is first read, with the origin
    /// ``ChangeOrigin/migration``. Several of them stand from the newest shape to the oldest, and are tried in that order.
    ///
    /// - Parameters:
    ///   - type: the earlier type.
    ///   - transform: makes today's value of it; what it throws leaves everything stored as it was.
    public func migrating<Old: StorageValue>(
        from type: Old.Type = Old.self, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        migrating(from: type, codec: .native, transform)
    }

    /// The same key, which also understands an earlier shape of its value that was stored by a codec; see ``migrating(from:_:)``.
    public func migrating<Old>(
        from type: Old.Type = Old.self, codec: StorageCodec<Old>, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        with { $0.migrations.append(ValueMigration { try transform(codec.decode($0)) }) }
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
