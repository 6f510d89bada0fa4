/// A store seen through a group of keys: each key is a property.
///
/// ```swift
/// let settings = KeyedStore<AppKeys>(store)
/// settings.launchCount += 1
/// settings.debug.showConsole = true
/// ```
@dynamicMemberLookup
public struct KeyedStore<Keys: KeyGroup>: Sendable {
    /// The store that holds the values.
    public let store: ObservableStore
    /// The keys.
    public let keys: Keys

    /// Sees a store through a group of keys.
    public init(_ store: ObservableStore) {
        self.init(store, keys: Keys())
    }

    init(_ store: ObservableStore, keys: Keys) {
        self.store = store
        self.keys = keys
    }

    /// The value of a key, as ``ObservableStore/subscript(_:)`` has it.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { store[keys[keyPath: path]] }
        nonmutating set { store[keys[keyPath: path]] = newValue }
    }

    /// The same store seen through a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedStore<Group> {
        KeyedStore<Group>(store, keys: keys[keyPath: path])
    }
}

extension KeyedStore {
    /// The value of a key; see ``ObservableStore/value(for:)``.
    public func value<Value>(for path: KeyPath<Keys, StorageKey<Value>>) throws(StorageError) -> Value {
        try store.value(for: keys[keyPath: path])
    }

    /// Sets a key's value; see ``ObservableStore/set(_:for:muting:)``.
    public func set<Value>(
        _ value: Value, for path: KeyPath<Keys, StorageKey<Value>>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        try store.set(value, for: keys[keyPath: path], muting: token)
    }

    /// Removes what is stored for a key; see ``ObservableStore/remove(_:muting:)``.
    public func remove<Value>(_ path: KeyPath<Keys, StorageKey<Value>>, muting token: ObservationToken? = nil) {
        store.remove(keys[keyPath: path], muting: token)
    }

    /// Whether a value is stored for a key.
    public func isSet<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> Bool {
        store.isSet(keys[keyPath: path])
    }
}
