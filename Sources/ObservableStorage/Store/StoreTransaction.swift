public import PropertyListCoding
import Synchronization

/// The entries inside a transaction: the latest ones, with the transaction's own edits applied. Values are the stored ones also where an
/// ``OverrideSource`` hides them.
///
/// Copies are views of the same transaction. Edits made after the transaction has ended have no effect.
public struct StoreTransaction: KeyValueAccess {
    // Shared by all views: a view of a nested group does not copy the entries.
    private final class Contents {
        private(set) var latest: StorageEntries
        var failure: StorageError?
        var scopes: Set<KeyScope> = []
        var rules: [any ValueRule] = []
        var whenMade: @Sendable () -> Void = {}

        init(_ latest: StorageEntries) {
            self.latest = latest
            self.latest.readKeys = []
        }

        subscript(name: String) -> PropertyListValue? {
            latest.readKeys?.insert(name)
            return latest[name]
        }

        var values: [String: PropertyListValue] {
            latest.readKeys = nil
            // The edits are merged once, for repeated access.
            latest.gather()
            return latest.values
        }

        /// Whether the storage was read, or the transaction has set or removed a value.
        func knows(_ name: EntryName) -> Bool {
            if !latest.isUnread || !latest.editedKeys.contains(name.own) { return !latest.isUnread }
            return latest.editedPaths[name.own]?.contains { name.path.starts(with: $0) } ?? true
        }

        var edits: EntryEdits { latest.values(of: latest.editedKeys) }

        /// Sets or removes values, all or none.
        func set(_ leaves: [(name: EntryName, value: PropertyListValue?)]) throws(StorageError) {
            // The first one throws by itself.
            for case (let name, _?) in leaves.dropFirst() where !name.path.isEmpty { try name.requireDictionaries(in: self[name.own]) }
            // With a copy of the dictionary for each, edits of its values would take quadratic time.
            for (name, value) in leaves { try latest.set(value, at: name) }
        }
    }

    private let contents: Contents
    private var layers: ValueLayers
    // Not the store, which would isolate the closure's result to it.
    private let backend: any StorageBackend
    private let cache: EntryCache

    init(entries: StorageEntries, layers: ValueLayers, backend: any StorageBackend, cache: EntryCache) {
        contents = Contents(entries)
        self.layers = layers.withoutOverrides
        self.backend = backend
        self.cache = cache
    }

    /// The same transaction without other values than the stored ones.
    var withoutLayers: StoreTransaction { with { $0 = ValueLayers() } }

    /// The same transaction without mandatory values, so that all keys can be set.
    var withoutMandatory: StoreTransaction { with { $0.mandatory = ValueLayer() } }

    private func with(_ change: (inout ValueLayers) -> Void) -> StoreTransaction {
        var transaction = self
        change(&transaction.layers)
        return transaction
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
                fail(error)
            }
        }
        nonmutating _modify {
            let (found, invalid) = read(key)
            let failure = contents.knows(key.definition.entryName) ? invalid : cache.unreadError(of: key) ?? invalid
            var value = found
            defer {
                if let failure { fail(failure) } else { self[key] = value }
            }
            yield &value
        }
    }

    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        let (value, failure) = read(key)
        if let failure { throw failure }
        return value
    }

    private func read<Value>(_ key: StorageKey<Value>) -> (value: Value, failure: StorageError?) {
        storeDefaultIfNeeded(of: key)
        let name = key.definition.entryName
        let entry = layers.entry(name) { contents[$0] }
        let (value, failure, _) = key.value(
            of: entry, { stored throws(StorageError) in try cache.decoded(stored, for: key) },
            orLastOf: { cache.earlier(name, includingPresent: true) })
        if let failure, !cache.recordFailure(failure, of: key, in: entry, ignoringOverride: true) { cache.reports.report(failure) }
        return (value, failure)
    }

    /// Sets a key's value; nil removes it, except in a scene.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)``; ``StorageError/mandatory(key:)``;
    ///   ``StorageError/discardedScene(key:)``.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws(StorageError) {
        if key.definition.scope != nil || !layers.mandatory.isEmpty {
            try cache.update { (state) throws(StorageError) in try state.requireSettable(key.definition) }
        }
        if let scope = key.definition.scope { addScope(scope) }
        let stored = try key.stored(value, in: backend)
        for rule in key.definition.traits.rules where rule.cache == cache.id { addRule(rule) }
        try edit(key, stored)
    }

    /// Removes a key's stored value, under earlier names too.
    public func remove<Value>(_ key: StorageKey<Value>) {
        do throws(StorageError) { try edit(key, nil) } catch { fail(error) }
    }

    private func edit<Value>(_ key: StorageKey<Value>, _ stored: PropertyListValue?) throws(StorageError) {
        try contents.set(key.leaves(storing: stored))
    }

    /// Whether a value is stored for a key, including under an earlier name, whether it can be decoded or not.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        key.definition.entryName.isStored { contents[$0] }
    }

    /// All stored values by name.
    public var entries: [String: PropertyListValue] {
        contents.values
    }

    private func storeDefaultIfNeeded<Value>(of key: StorageKey<Value>) {
        guard key.definition.storesDefault else { return }
        if let fallback = key.fallback { storeDefaultIfNeeded(of: fallback) }
        guard layers.allowDefault(of: key.definition.entryName) else { return }
        guard let value = key.defaultToStore({ contents[$0] }), let edits = cache.storable([key.name: value], in: backend) else { return }
        do throws(StorageError) {
            // Not checked by rules: nobody has set it.
            for case let value? in edits.values { try edit(key, value) }
        } catch {
            // A value on the path is not a dictionary. Reading returns the default nevertheless.
        }
    }

    /// Makes the transaction fail if its values are not valid by a rule after it has run.
    func addRule(_ rule: any ValueRule) {
        if !contents.rules.contains(where: { $0 === rule }) { contents.rules.append(rule) }
    }

    /// Removes the entries of the transaction in a scope if that is discarded before they are stored.
    func addScope(_ scope: KeyScope) { contents.scopes.insert(scope) }

    /// Runs the closure of the transaction, and checks its values by the rules that were added.
    mutating func run<Result, Failure: Error>(_ body: (inout StoreTransaction) throws(Failure) -> Result) throws(Failure) -> Result {
        let result = try body(&self)
        if contents.rules.isEmpty || contents.failure != nil { return result }
        let (present, presentLayers, _) = cache.snapshot()
        // The names of its rules, so that it does not depend on all entries.
        let names = contents.rules.reduce(into: contents.latest.editedKeys) { $0.formUnion($1.entryNames) }
        let values = present.applying(names.reduce(into: [:]) { $0.updateValue(contents[$1], forKey: $1) })
        do throws(StorageError) {
            let recordings = try contents.rules.map { (rule) throws(StorageError) in try rule.check(values, presentLayers) }
            contents.whenMade = { for record in recordings { record() } }
        } catch {
            fail(error)
        }
        return result
    }

    /// Records the values as the last ones that were valid by the rules. Called after the edits are made.
    var whenMade: @Sendable () -> Void { contents.whenMade }

    /// Makes the transaction fail at its end.
    func fail(_ error: StorageError) {
        contents.failure = contents.failure ?? error
    }

    /// The edits of the transaction; throws the first error of a setter.
    func finish() throws(StorageError) -> EntryEdits {
        if let failure = contents.failure { throw failure }
        return contents.edits
    }

    /// The paths of the edited values, those of outer ones first, for entries of which not all is edited.
    var editedPaths: EditedPaths { contents.latest.editedPaths.mapValues { $0.sorted { $0.count < $1.count } } }

    var scopes: Set<KeyScope> { contents.scopes }

    /// The names of the entries on which the edits may depend; nil for all.
    var namesRead: Set<String>? { contents.latest.readKeys }
}

/// Marks the tasks that run inside a transaction, or were started there, while it is open.
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

extension StoreTransaction: CustomReflectable {
    /// The names of the edited entries, without values.
    public var customMirror: Mirror {
        Mirror(self, children: ["editedKeys": contents.edits.keys.sorted()])
    }
}
