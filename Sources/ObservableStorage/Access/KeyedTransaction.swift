/// A transaction seen through a group of keys.
@dynamicMemberLookup
public struct KeyedTransaction<Keys: KeyGroup> {
    /// The transaction as the store has it.
    public let transaction: StoreTransaction
    private let table: KeyTable<Keys>

    init(_ transaction: StoreTransaction, _ table: KeyTable<Keys>) {
        self.transaction = transaction
        self.table = table
    }

    /// The value of a key, as ``StoreTransaction/subscript(_:)`` has it.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { transaction[table.key(path).key] }
        nonmutating set { transaction[table.key(path).key] = newValue }
        nonmutating _modify { yield &transaction[table.key(path).key] }
    }

    /// The same transaction seen through a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedTransaction<Group> {
        KeyedTransaction<Group>(transaction, table.group(path))
    }
}

extension KeyedStore {
    /// Runs a transaction on the group's keys; see ``ObservableStore/update(_:)``.
    public func update<Result: Sendable>(
        _ body: @Sendable (inout KeyedTransaction<Keys>) throws -> Result
    ) async throws -> Result {
        try await store.update { [table] transaction in
            var keyed = KeyedTransaction(transaction, table)
            return try body(&keyed)
        }
    }
}
