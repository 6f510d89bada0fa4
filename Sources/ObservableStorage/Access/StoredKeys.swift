/// The application's keys, which extensions declare in one place or in many.
///
/// ```swift
/// extension StoredKeys {
///     var volume: StorageKey<Double> { StorageKey(default: 0.8) }
/// }
/// ```
///
/// A view has them by their key paths: `@Stored(\.volume)`; other code through a ``KeyedStore``: `KeyedStore<StoredKeys>(.standard)`.
public struct StoredKeys: KeyGroup {
    /// Creates the keys.
    public init() {}
}

extension ObservableStore {
    /// Access to the store through a group of keys; one for each type of group.
    nonisolated func keyedStore<Keys: KeyGroup>(_ type: Keys.Type = Keys.self) -> KeyedStore<Keys> {
        let table = tables.object(of: ObjectIdentifier(type)) { KeyedStore<Keys>(self).table }
        // The table of a type of group has its type.
        return KeyedStore(self, unsafeDowncast(table, to: KeyTable<Keys>.self))
    }
}
