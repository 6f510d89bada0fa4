/// The values of a group of keys at one revision; see ``StoreSnapshot``.
@dynamicMemberLookup
public struct KeyedSnapshot<Keys: KeyGroup>: Sendable {
    /// The snapshot of the store.
    public let snapshot: StoreSnapshot
    let table: KeyTable<Keys>

    init(_ snapshot: StoreSnapshot, _ table: KeyTable<Keys>) {
        self.snapshot = snapshot
        self.table = table
    }

    /// The value of a key; see ``StoreSnapshot/subscript(_:)``.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        snapshot[table.key(path).key()]
    }

    /// The values of a nested group: at the same revision, if they are valid by its own rule.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedSnapshot<Group> {
        let group = table.group(path)
        return KeyedSnapshot<Group>(group.valid(snapshot), group)
    }

    /// Whether a value is stored for a key.
    public func isSet<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> Bool {
        snapshot.isSet(table.key(path).key(Value.self))
    }
}

extension KeyedSnapshot: CustomReflectable {
    /// The revision, and the values of the keys that are stored properties of the group or of a nested group: `<redacted>` for a secret.
    public var customMirror: Mirror {
        func value(_ key: some AnyStorageKey) -> Mirror.Child {
            (key.entryName.text, key.storageKey.isSecret ? SecretNames.placeholder : snapshot[key.storageKey])
        }
        return Mirror(self, children: [("revision", snapshot.revision)] + table.storageKeys.map { value($0) }, displayStyle: .struct)
    }
}

extension KeyedStore {
    /// The values of the group at one revision. Observation does not track them: ``snapshots()`` delivers newer ones.
    public var snapshot: KeyedSnapshot<Keys> {
        KeyedSnapshot(table.valid(store.snapshot), table)
    }

    /// The present values of the group, and the newer ones after each change, as a new stream for each call.
    ///
    /// Each element has the values of one revision. A slow reader receives the newest ones only; the last ones are always delivered.
    /// Only keys that are stored properties of the group or of a nested group are observed. Ends like ``values(of:)``.
    public func snapshots() -> AsyncStream<KeyedSnapshot<Keys>> {
        store.elements(of: table.storageKeys, as: table.valid) { [table] in KeyedSnapshot($0, table) }
    }

    /// Edits several keys in memory, as one revision, without waiting for the disk; see ``ObservableStore/edit(muting:_:)``.
    @discardableResult
    public func edit<Result, Failure: Error>(
        muting token: ObservationToken? = nil, _ body: (inout KeyedTransaction<Keys>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try store.edit(muting: token) { (transaction) throws(Failure) in
            var keyed = KeyedTransaction(checking: transaction, table)
            return try body(&keyed)
        }
    }

    /// The current values of several keys, and each newer combination; see ``ObservableStore/values(of:_:_:)``.
    public func values<First, Second, each Other>(
        of first: KeyPath<Keys, StorageKey<First>>, _ second: KeyPath<Keys, StorageKey<Second>>,
        _ others: repeat KeyPath<Keys, StorageKey<each Other>>
    ) -> AsyncStream<(First, Second, repeat each Other)> {
        store.elements(of: key(first), key(second), repeat key(each others), as: table.valid)
    }
}
