public import Dispatch

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
    public var keys: Keys { table.keys }

    let table: KeyTable<Keys>

    /// Sees a store through a group of keys.
    ///
    /// Two keys of the group with the same name are a mistake that is reported in the store's `failures`.
    ///
    /// - Parameters:
    ///   - store: holds the values.
    ///   - prefix: what every name begins with, before a `/`.
    ///   - transform: transforms each key's name: `{ $0.lowercased() }`.
    public init(_ store: ObservableStore, prefix: String? = nil, naming transform: (@Sendable (String) -> String)? = nil) {
        self.init(store, naming: KeyNaming(prefix: prefix, transform: transform))
    }

    init(_ store: ObservableStore, naming: KeyNaming) {
        let keys = Keys()
        self.init(store, KeyTable(keys, naming: naming.inside(keys), in: store.memory))
        var seen: Set<String> = []
        for name in keys.names(table.naming) where !seen.insert(name).inserted {
            store.reports.report(.repeatedName(key: name, group: String(describing: Keys.self)))
        }
    }

    private init(_ store: ObservableStore, _ table: KeyTable<Keys>) {
        self.store = store
        self.table = table
    }

    /// The value of a key, as ``ObservableStore/subscript(_:)`` has it; reading it is tracked by Observation.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        // Without a `StoredValue`, which would retain the store: that takes as long as all the rest.
        get {
            guard let bits = table.withKey(path, { $0.plainBits }) else { return store.observed(table.key(path)) }
            return PlainCell.value(of: bits)
        }
        // Inlined: another setter would take the path over, which is a tenth of the time of a write.
        @inlinable nonmutating set { store[key(path)] = newValue }
        nonmutating _modify { yield &store[key(path)] }
    }

    /// The same store seen through a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedStore<Group> {
        KeyedStore<Group>(store, table.group(path))
    }

    /// The key at a path, under its name in the store.
    @usableFromInline func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> StorageKey<Value> {
        table.withKey(path) { $0.key() }
    }
}

extension KeyedStore {
    /// The names that the keys have in the store.
    public var keyNames: KeyNames<Keys> {
        KeyNames(keys: keys, naming: table.naming)
    }

    /// The handle to one key; see ``StoredValue``.
    public func stored<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> StoredValue<Value> {
        StoredValue(table.key(path), in: store)
    }

    /// The value of a key; see ``ObservableStore/value(for:)``.
    public func value<Value>(for path: KeyPath<Keys, StorageKey<Value>>) throws(StorageError) -> Value {
        try store.value(for: key(path))
    }

    /// Sets a key's value; see ``ObservableStore/set(_:for:muting:)``.
    public func set<Value>(
        _ value: Value, for path: KeyPath<Keys, StorageKey<Value>>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        try store.set(value, for: key(path), muting: token)
    }

    /// Removes what is stored for a key; see ``ObservableStore/remove(_:muting:)``.
    public func remove<Value>(_ path: KeyPath<Keys, StorageKey<Value>>, muting token: ObservationToken? = nil) {
        store.remove(key(path), muting: token)
    }

    /// Removes what is stored for every key that is a stored property of the group, or of a group inside it, as one revision.
    public func reset() {
        store.reset(keys.names(table.naming, withEarlier: true))
    }

    /// Whether a value is stored for a key.
    public func isSet<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> Bool {
        store.isSet(key(path))
    }
}

extension KeyedStore {
    /// A key's value now and each newer one; see ``ObservableStore/values(of:)``.
    public func values<Value>(of path: KeyPath<Keys, StorageKey<Value>>) -> AsyncStream<Value> {
        store.values(of: key(path))
    }

    /// Every change of a key from now on; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public func changes<Value>(
        of path: KeyPath<Keys, StorageKey<Value>>,
        bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        store.changes(of: key(path), bufferingPolicy: bufferingPolicy)
    }

    /// Calls a closure with each change of a key; see ``ObservableStore/addUpdateListener(for:initial:on:_:)``.
    public func addUpdateListener<Value>(
        for path: KeyPath<Keys, StorageKey<Value>>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        store.addUpdateListener(for: key(path), initial: initial, on: queue, listener)
    }
}
