public import Dispatch

/// Typed access to a store through a group of keys: each key is a property.
///
/// ```swift
/// let settings = KeyedStore<AppKeys>(store)
/// settings.launchCount += 1
/// settings.debug.showConsole = true
/// ```
///
/// The members of this type precede the keys: ``KeyGroup`` lists the names that keys cannot have because of them.
@dynamicMemberLookup
public struct KeyedStore<Keys: KeyGroup>: Sendable {
    /// The store with the values.
    public let store: ObservableStore
    let table: KeyTable<Keys>

    /// Creates access to a store through a group of keys.
    ///
    /// Two keys of the group with the same name are an error, reported in the store's `failures`, and so is the name of a type, which a key
    /// in a stored property has that is created without a name, and that of a scene's value, `scenes/ID/NAME`.
    ///
    /// - Parameters:
    ///   - store: the store with the values.
    ///   - prefix: the prefix of every name, followed by a `/`.
    ///   - transform: transforms each key's name: `{ $0.lowercased() }`.
    public init(_ store: ObservableStore, prefix: String? = nil, naming transform: (@Sendable (String) -> String)? = nil) {
        self.init(store, naming: KeyNaming(prefix: prefix, transform: transform))
    }

    init(_ store: ObservableStore, naming: KeyNaming) {
        let keys = Keys()
        self.init(store, KeyTable(keys, naming: naming.inside(keys.prefix), in: store.cache))
        for failure in table.invalidNames { store.reports.report(failure) }
    }

    init(_ store: ObservableStore, _ table: KeyTable<Keys>) {
        self.store = store
        self.table = table
    }

    /// The value of a key; see ``ObservableStore/subscript(_:)``, and ``KeyGroup/validate(_:)`` for a group with a rule. Observation tracks
    /// reads.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        // Without a `StoredValue`, which would retain the store: that would double the time.
        get {
            if table.hasRule { return table.validValue(path, in: store) }
            guard let bits = table.withKey(path, { $0.plainBits }) else { return store.observed(table.key(path)) }
            return SeqLock.value(of: bits)
        }
        // Inlined: otherwise the setter consumes the key path, which costs a tenth of the time of a write.
        @inlinable nonmutating set { store[key(path)] = newValue }
        nonmutating _modify {
            if table.hasRule, let failure = table.valid(store.snapshot).groupFailure {
                var value = self[dynamicMember: path]
                yield &value
                // What was read is not what is stored.
                store.reports.report(failure)
            } else {
                yield &store[key(path)]
            }
        }
    }

    /// Access to the same store through a nested group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedStore<Group> {
        KeyedStore<Group>(store, table.group(path))
    }

    @usableFromInline package func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> StorageKey<Value> {
        table.withKey(path) { $0.key() }
    }
}

extension KeyedStore: CustomReflectable {
    /// The store and the names of the keys, without values.
    public var customMirror: Mirror {
        Mirror(self, children: ["store": store, "keys": table.storageKeys.map(\.entryName.text)])
    }
}

extension KeyedStore {
    /// The handle to one key, with everything that can be done with it; see ``StoredValue``.
    public func stored<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> StoredValue<Value> {
        StoredValue(table.key(path), in: store)
    }

    /// Removes the values of all keys that are stored properties of the group or of a nested group, in one revision, or in several if the
    /// storage does not take as many in one edit.
    public func reset() {
        func remove(_ key: some AnyStorageKey, in transaction: StoreTransaction) { transaction.remove(key.storageKey) }
        var rest = table.storageKeys[...]
        while !rest.isEmpty {
            let part = store.backend.limits.removable(of: rest, names: \.entryName.all)
            rest = rest.dropFirst(part.count)
            store.edit { transaction in
                for key in part { remove(key, in: transaction) }
            }
        }
    }

    /// A key's current value and each newer one; see ``ObservableStore/values(of:)``.
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
