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

    /// Runs the body of a transaction, which fails if the values are not valid by the group's rule afterwards.
    static func run<Result, Failure: Error>(
        _ body: (inout KeyedTransaction) throws(Failure) -> Result, in transaction: StoreTransaction, _ table: KeyTable<Keys>
    ) throws(Failure) -> Result {
        var keyed = KeyedTransaction(transaction, table)
        let result = try body(&keyed)
        table.validate(transaction)
        return result
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
        defer { table.keepLastValid(of: store) }
        return try await store.update { [table] transaction in
            try KeyedTransaction.run(body, in: transaction, table)
        }
    }
}
