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
        apply(key.edits(storing: try key.stored(value)) { contents.latest[$0] })
    }

    /// Removes what is stored for a key, under earlier names too.
    public func remove<Value>(_ key: StorageKey<Value>) {
        apply(key.removals)
    }

    /// Whether a value is stored for a key, under an earlier name too, decodable or not.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        key.body.entryName.counting { contents.latest[$0] } != nil
    }

    /// Everything that is stored, by name.
    public var entries: [String: PropertyListValue] {
        // Asked for again and again, they are put together once.
        contents.latest.gather()
        return contents.latest.values
    }

    private func entry<Value>(_ key: StorageKey<Value>) -> StoredEntry {
        keepUp(key)
        return key.body.entryName.entry(registered: registered[key.body.entryName.root]) { contents.latest[$0] }
    }

    // As reading a store does, but as a part of the transaction.
    private func keepUp<Value>(_ key: StorageKey<Value>) {
        guard key.body.needsUpkeep else { return }
        if let shared = key.shared { keepUp(shared) }
        let stored = key.upkeepNames.reduce(into: [String: PropertyListValue]()) { $0[$1] = contents.latest[$1] }
        if let upkeep = key.upkeep(stored) { apply(upkeep.edits) }
    }

    private func apply(_ edits: MemoryState.Edits) {
        for (name, value) in edits { contents.latest[name] = value }
    }

    /// The edits of the transaction, or the first error that a setter met.
    func finish() throws(StorageError) -> MemoryState.Edits {
        if let failure = contents.failure { throw failure }
        return contents.latest.editedKeys.reduce(into: [:]) { $0.updateValue(contents.latest[$1], forKey: $1) }
    }
}
