/// Typed access to a transaction through a group of keys.
@dynamicMemberLookup
public struct KeyedTransaction<Keys: KeyGroup> {
    /// The transaction of the store.
    public let transaction: StoreTransaction
    private let table: KeyTable<Keys>

    init(_ transaction: StoreTransaction, _ table: KeyTable<Keys>) {
        self.transaction = transaction
        self.table = table
    }

    /// A transaction that fails if the values are not valid by the group's rule at its end, whatever it edits.
    init(checking transaction: StoreTransaction, _ table: KeyTable<Keys>) {
        self.init(transaction, table)
        table.addRule(to: transaction)
    }

    /// The value of a key; see ``StoreTransaction/subscript(_:)``.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Value {
        get { transaction[table.key(path).key()] }
        nonmutating set { transaction[table.key(path).key()] = newValue }
        nonmutating _modify { yield &transaction[table.key(path).key()] }
    }

    /// Access to the same transaction through a nested group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyedTransaction<Group> {
        KeyedTransaction<Group>(transaction, table.group(path))
    }
}

extension KeyedStore {
    /// Runs a transaction with the group's keys; see ``ObservableStore/update(_:)``.
    public nonisolated(nonsending) func update<Result: Sendable>(
        _ body: @Sendable (inout KeyedTransaction<Keys>) throws -> Result
    ) async throws -> Result {
        try await store.update { [table] transaction in
            var keyed = KeyedTransaction(checking: transaction, table)
            return try body(&keyed)
        }
    }
}
