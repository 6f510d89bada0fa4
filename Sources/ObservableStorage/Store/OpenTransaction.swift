/// Marks the tasks that run or were started inside a transaction, for as long as it is open.
final class OpenTransaction: Sendable {
    @TaskLocal private static var current: OpenTransaction?

    private let store: ObjectIdentifier
    private let outer: OpenTransaction?
    private let gate = Gate()

    private init(of store: ObservableStore) {
        self.store = ObjectIdentifier(store)
        outer = Self.current
    }

    /// Runs a closure inside a transaction of a store.
    static func during<Result>(_ store: ObservableStore, _ body: () throws -> Result) rethrows -> Result {
        let transaction = OpenTransaction(of: store)
        defer { transaction.gate.shut() }
        return try $current.withValue(transaction, operation: body)
    }

    /// Whether the caller runs inside a transaction of a store that has not ended.
    static func isOpen(of store: ObservableStore) -> Bool {
        var transaction = current
        while let open = transaction {
            if open.store == ObjectIdentifier(store), !open.gate.isShut { return true }
            transaction = open.outer
        }
        return false
    }
}
