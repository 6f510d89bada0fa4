public import PropertyListCoding
import Synchronization

/// The entries inside a transaction: the latest ones, with the transaction's own edits applied.
///
/// Copies are views of the same transaction. Edits made after the transaction has ended have no effect.
public struct StoreTransaction: KeyValueAccess {
    // Shared by all views: a view of a nested group does not copy the entries.
    private final class Contents {
        var latest: StorageEntries
        var failure: StorageError?

        init(_ latest: StorageEntries) {
            self.latest = latest
        }
    }

    private let contents: Contents
    private let registered: [String: PropertyListValue]
    // Not the store, which would isolate the closure's result to it.
    private let backend: any StorageBackend
    private let cache: EntryCache
    private let reports: FailureReports

    init(
        entries: StorageEntries, registered: [String: PropertyListValue], backend: any StorageBackend, cache: EntryCache,
        reports: FailureReports
    ) {
        contents = Contents(entries)
        self.registered = registered
        self.backend = backend
        self.cache = cache
        self.reports = reports
    }

    /// The value of a key, as in a store.
    ///
    /// Setting a value that cannot be encoded makes the whole transaction fail at its end, and so does modifying in place (`+=`, `append`)
    /// a value that cannot be decoded.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        get { read(key).value }
        nonmutating set {
            do {
                try set(newValue, for: key)
            } catch {
                contents.failure = contents.failure ?? error
            }
        }
        nonmutating _modify {
            let (found, failure) = read(key)
            var value = found
            defer {
                if let failure { contents.failure = contents.failure ?? failure } else { self[key] = value }
            }
            yield &value
        }
    }

    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:)`` if the stored value is not of the key's type.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        let (value, failure) = read(key)
        if let failure { throw failure }
        return value
    }

    private func read<Value>(_ key: StorageKey<Value>) -> (value: Value, failure: StorageError?) {
        let entry = entry(key)
        let name = key.definition.entryName
        let (value, failure, _) = key.value(
            of: entry, { stored throws(StorageError) in try decoded(stored, for: key) },
            orLastOf: { cache.earlier(name, includingPresent: true) })
        guard let failure else { return (value, nil) }
        let found = cache.read(name, as: nil)
        if found.entry == entry {
            cache.noteDecoded(key, entry, revision: found.revision, failure, insteadOf: nil, reports)
        } else {
            reports.report(failure)
        }
        return (value, failure)
    }

    // A value that the store also has in memory is decoded once for both.
    private func decoded<Value>(_ stored: PropertyListValue, for key: StorageKey<Value>) throws(StorageError) -> Value {
        guard !key.definition.traits.codec.isNative else { return try key.decoded(stored) }
        let found = cache.read(key.definition.entryName, as: nil)
        guard found.entry.stored ?? found.entry.fallback == stored else { return try key.decoded(stored) }
        let (entry, version) = found.source
        return try key.decoded(stored, in: entry, at: version)
    }

    /// Sets a key's value; nil removes it.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws(StorageError) {
        let stored = try key.stored(value) { stored throws(StorageError) in try backend.storable(stored, for: key.name) }
        apply(key.edits(storing: stored) { contents.latest[$0] })
    }

    /// Removes a key's stored value, under earlier names too.
    public func remove<Value>(_ key: StorageKey<Value>) {
        apply(key.removals)
    }

    /// Whether a value is stored for a key, including under an earlier name, whether it can be decoded or not.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        key.definition.entryName.counting { contents.latest[$0] } != nil
    }

    /// All stored values by name.
    public var entries: [String: PropertyListValue] {
        // The edits are merged once, for repeated access.
        contents.latest.gather()
        return contents.latest.values
    }

    private func entry<Value>(_ key: StorageKey<Value>) -> StoredEntry {
        migrateIfNeeded(key)
        return key.definition.entryName.entry(registered: registered[key.definition.entryName.registered]) { contents.latest[$0] }
    }

    // As when reading from a store, but as a part of the transaction.
    private func migrateIfNeeded<Value>(_ key: StorageKey<Value>) {
        guard key.definition.needsMigration else { return }
        if let fallback = key.fallback { migrateIfNeeded(fallback) }
        let stored = key.migrationNames.reduce(into: [String: PropertyListValue]()) { $0[$1] = contents.latest[$1] }
        if let migration = cache.storable(key.migration(of: stored), in: backend, reports) { apply(migration.edits) }
    }

    private func apply(_ edits: EntryEdits) {
        for (name, value) in edits { contents.latest[name] = value }
    }

    /// The edits of the transaction; throws the first error of a setter.
    func finish() throws(StorageError) -> EntryEdits {
        if let failure = contents.failure { throw failure }
        return contents.latest.editedKeys.reduce(into: [:]) { $0.updateValue(contents.latest[$1], forKey: $1) }
    }
}

/// Identifies the tasks that run or were started inside a transaction, for as long as it is open.
final class TransactionContext: Sendable {
    @TaskLocal private static var current: TransactionContext?

    private let store: ObjectIdentifier
    private let outer: TransactionContext?
    private let hasEnded = Atomic(false)

    private init(of store: ObservableStore) {
        self.store = ObjectIdentifier(store)
        outer = Self.current
    }

    /// Runs a closure inside a transaction of a store.
    static func during<Result>(_ store: ObservableStore, _ body: () throws -> Result) rethrows -> Result {
        let transaction = TransactionContext(of: store)
        defer { transaction.hasEnded.store(true, ordering: .releasing) }
        return try $current.withValue(transaction, operation: body)
    }

    /// Whether the caller runs inside a transaction of a store that has not ended.
    static func isOpen(of store: ObservableStore) -> Bool {
        var transaction = current
        while let open = transaction {
            if open.store == ObjectIdentifier(store), !open.hasEnded.load(ordering: .acquiring) { return true }
            transaction = open.outer
        }
        return false
    }
}
