/// A transaction seen through a group of keys.
@dynamicMemberLookup
public struct KeyedTransaction<Keys: KeyGroup> {
    /// The transaction as the store has it.
    public let transaction: StoreTransaction
    private let keys: Keys
    private let naming: KeyNaming

    init(_ transaction: StoreTransaction, keys: Keys, naming: KeyNaming) {
        self.transaction = transaction
        self.keys = keys
        self.naming = naming
    }

    /// The value of a key, as ``StoreTransaction/subscript(_:)`` has it.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { transaction[naming.apply(to: keys[keyPath: path])] }
        nonmutating set { transaction[naming.apply(to: keys[keyPath: path])] = newValue }
        nonmutating _modify { yield &transaction[naming.apply(to: keys[keyPath: path])] }
    }

    /// The same transaction seen through a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedTransaction<Group> {
        let group = keys[keyPath: path]
        return KeyedTransaction<Group>(transaction, keys: group, naming: naming.inside(group))
    }
}

extension KeyedStore {
    /// Runs a transaction on the group's keys; see ``ObservableStore/update(_:)``.
    public func update<Result: Sendable>(
        _ body: @Sendable (inout KeyedTransaction<Keys>) throws -> Result
    ) async throws -> Result {
        try await store.update { [keys, naming] transaction in
            var keyed = KeyedTransaction(transaction, keys: keys, naming: naming)
            return try body(&keyed)
        }
    }
}
