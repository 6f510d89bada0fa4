public import PropertyListCoding

/// The entries inside a transaction: the latest ones, with the transaction's own edits over them.
///
/// Copies are views of the same transaction. Nothing that is done to one once the transaction has ended counts.
public struct StoreTransaction: ValueAccess {
    // One for all views: a view of a group inside a group costs no copy of the entries.
    private final class Contents {
        var latest: StorageEntries
        var failure: StorageError?

        init(_ latest: StorageEntries) {
            self.latest = latest
        }
    }

    private let contents: Contents
    private let registered: [String: PropertyListValue]

    init(entries: StorageEntries, registered: [String: PropertyListValue]) {
        contents = Contents(entries)
        self.registered = registered
    }

    /// The value of a key, as a store has it. A value that cannot be encoded makes the whole transaction fail at its end.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        get { key.valueOrDefault(of: entry(key)) }
        nonmutating set {
            do {
                try set(newValue, for: key)
            } catch {
                contents.failure = contents.failure ?? error
            }
        }
    }

    /// The value of a key: what is stored, or else registered, or else the key's default.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:)`` when what is stored is not a value of the key's type.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        try key.value(of: entry(key))
    }

    /// Sets a key's value; nil removes it.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws(StorageError) {
        for (name, stored) in key.edits(storing: try key.stored(value)) { contents.latest[name] = stored }
    }

    /// Removes what is stored for a key.
    public func remove<Value>(_ key: StorageKey<Value>) {
        contents.latest[key.name] = nil
    }

    /// Whether a value is stored for a key, decodable or not.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        contents.latest[key.name] != nil
    }

    /// Everything that is stored, by name.
    public var entries: [String: PropertyListValue] {
        // Asked for again and again, they are put together once.
        contents.latest.gather()
        return contents.latest.values
    }

    private func entry<Value>(_ key: StorageKey<Value>) -> StoredEntry {
        let name = key.body.entryName
        return StoredEntry(
            stored: contents.latest[name.own], inherited: name.inherited.flatMap { contents.latest[$0] }, registered: registered[name.root])
    }

    /// The edits of the transaction, or the first error that a setter met.
    func finish() throws(StorageError) -> MemoryState.Edits {
        if let failure = contents.failure { throw failure }
        return contents.latest.editedKeys.reduce(into: [:]) { $0.updateValue(contents.latest[$1], forKey: $1) }
    }
}
