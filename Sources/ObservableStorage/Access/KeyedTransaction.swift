/// A transaction seen through a group of keys.
@dynamicMemberLookup
public struct KeyedTransaction<Keys: KeyGroup> {
    /// The transaction as the store has it.
    public let transaction: StoreTransaction
    private let keys: Keys

    init(_ transaction: StoreTransaction, keys: Keys) {
        self.transaction = transaction
        self.keys = keys
    }

    /// The value of a key, as ``StoreTransaction/subscript(_:)`` has it.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { transaction[keys[keyPath: path]] }
        nonmutating set { transaction[keys[keyPath: path]] = newValue }
    }

    /// The same transaction seen through a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedTransaction<Group> {
        KeyedTransaction<Group>(transaction, keys: keys[keyPath: path])
    }
}

extension KeyedStore {
    /// Runs a transaction on the group's keys; see ``ObservableStore/update(_:)``.
    public func update<Result: Sendable>(
        _ body: @Sendable (inout KeyedTransaction<Keys>) throws -> Result
    ) async throws -> Result {
        try await store.update { [keys] transaction in
            var keyed = KeyedTransaction(transaction, keys: keys)
            return try body(&keyed)
        }
    }
}
