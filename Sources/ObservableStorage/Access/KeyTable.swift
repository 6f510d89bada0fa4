import Synchronization

/// The keys of a group with their names in a store, found by key path and created once.
final class KeyTable<Keys: KeyGroup>: Sendable {
    let keys: Keys
    let naming: KeyNaming
    /// The keys of the group and of nested groups that are stored properties.
    let storageKeys: [any AnyStorageKey]
    // By the number of the group's key: a key path does not reveal the nested groups on its way, whose prefixes the name has.
    private let byNumber: [UInt64: any AnyStorageKey]
    let cache: EntryCache
    private let rule: GroupRule<Keys>?
    // Of this group, of nested ones, and of those around it.
    private let rules: [any ValueRule]
    // The entries on which the rule may depend; none without a rule.
    private let ruleEntries: [Entry]
    // The version in which the values were last found valid, so that they are not checked at each read.
    private let validVersion = Atomic(UInt64.max)
    private let isChecked: Bool
    /// Whether ``check(_:)`` has called the default implementation of ``KeyGroup/validate(_:)``, which accepts all values.
    let calledDefaultRule = Atomic(false)
    private let paths = KeyPathTable()
    // By the number of the group's key, so that all paths to one property share an object.
    private let trackedKeys = Lock<[UInt64: TrackedKey]>([:])

    /// Creates the keys of a group.
    ///
    /// - Parameters:
    ///   - outer: the keys of the group around it by their numbers, and its rules, among which are those of nested groups; nil if there is
    ///     none.
    ///   - isChecked: whether the rules of the group and of nested groups replace invalid values; false for keys with which the values
    ///     themselves are checked.
    init(
        _ keys: Keys, naming: KeyNaming, in cache: EntryCache,
        inside outer: (keys: [UInt64: any AnyStorageKey], rules: [any ValueRule])? = nil, isChecked: Bool = true
    ) {
        let named = keys.storageKeys(naming)
        (self.keys, self.naming, self.cache, self.isChecked) = (keys, naming, cache, isChecked)
        storageKeys = named.map(\.named)
        byNumber = Dictionary(named.map { ($0.original.number, $0.named) }) { first, _ in first }
        // Those of a computed group are not among the rules.
        let isKnown = !named.isEmpty && named.allSatisfy { outer?.keys[$0.original.number] != nil }
        let known = isKnown ? outer?.rules : nil
        rules = isChecked ? known ?? keys.rules(naming, in: cache) : []
        let names = rules.isEmpty ? [] : Set(storageKeys.map(\.entryName.text))
        rule = rules.lazy.compactMap { $0 as? GroupRule<Keys> }.first { $0.keyNames == names }
        ruleEntries = rule == nil ? [] : named.flatMap { $0.named.entryName.all }.map(cache.entry)
    }

    // Inlined: read.settings 1.4.
    /// Whether the group has a rule for values that depend on each other.
    @inline(__always)
    var hasRule: Bool { rule != nil }

    /// Throws an error if the values of a snapshot are not valid by the group's rule.
    func check(_ snapshot: StoreSnapshot) throws(StorageError) {
        do {
            try keys.validate(KeyedSnapshot(snapshot, self))
        } catch {
            // The text of the error may have any of the values.
            let reason = "\(error)"
            let isTold = !storageKeys.contains { isSecret($0, toldIn: reason, of: snapshot) }
            throw .invalidGroup(group: "\(Keys.self)", reason: isTold ? reason : "\(type(of: error)) \(SecretNames.placeholder)")
        }
    }

    private func isSecret(_ key: some AnyStorageKey, toldIn reason: String, of snapshot: StoreSnapshot) -> Bool {
        guard key.isSecret else { return false }
        do throws(StorageError) {
            let text = try key.storageKey.text(of: snapshot[key.storageKey]) ?? ""
            return !text.isEmpty && reason.contains(text)
        } catch {
            return true
        }
    }

    /// The value of a key in the valid snapshot of a group with a rule, tracked.
    func validValue<Value>(_ path: KeyPath<Keys, StorageKey<Value>>, in store: ObservableStore) -> Value {
        let key: StorageKey<Value> = key(path).key()
        for entry in ruleEntries + key.definition.entryName.all.map(cache.entry) { entry.access() }
        store.storeDefaultIfNeeded(of: key)
        let version = ruleVersion(in: store)
        if validVersion.load(ordering: .acquiring) == version {
            let value = store[key]
            // Otherwise it may belong to values that are not valid.
            if ruleVersion(in: store) == version { return value }
        }
        let snapshot = valid(store.snapshot)
        if snapshot.groupFailure == nil, ruleVersion(in: store) == version { validVersion.store(version, ordering: .releasing) }
        return snapshot[key]
    }

    /// The number of changes of everything on which the rule may depend: of any entry, because keys may be computed, and of defaults, which are
    /// counted by their entries.
    private func ruleVersion(in store: ObservableStore) -> UInt64 {
        ruleEntries.reduce(store.revision) { $0 &+ $1.version }
    }

    /// The snapshot, or the last one that was valid by the group's rule.
    func valid(_ snapshot: StoreSnapshot) -> StoreSnapshot {
        rule?.valid(snapshot) ?? snapshot
    }

    /// Makes a transaction fail if its values are not valid by the group's rule at its end.
    func addRule(to transaction: StoreTransaction) {
        if let rule { transaction.addRule(rule) }
    }

    func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> TrackedKey {
        withKey(path) { $0 }
    }

    func withKey<Value, Result>(_ path: KeyPath<Keys, StorageKey<Value>>, _ body: (TrackedKey) -> Result) -> Result {
        if let first = paths.first(path) { return first._withUnsafeGuaranteedRef { body(unsafeDowncast($0, to: TrackedKey.self)) } }
        return body(
            paths.object(at: path) {
                let key = keys[keyPath: path]
                return trackedKeys.object(of: key.number, limit: KeyPathTable.limit) {
                    let named = byNumber[key.number] as? StorageKey<Value> ?? keys.naming(at: path, in: naming).apply(to: key)
                    return TrackedKey(checked(named).definition, in: cache)
                }
            })
    }

    /// A key of the group, or of a nested one, whose setter checks the rules of all groups that have it.
    func checked<Value>(_ key: StorageKey<Value>) -> StorageKey<Value> {
        let rules = rules.filter { $0 === rule || $0.keyNames.contains(key.name) }
        return rules.isEmpty ? key : key.with { $0.rules = rules }
    }

    func group<Group: KeyGroup>(_ path: KeyPath<Keys, Group>) -> KeyTable<Group> {
        paths.object(at: path) {
            let group = keys[keyPath: path]
            let naming = keys.naming(at: path, in: naming).inside(group.prefix)
            return KeyTable<Group>(group, naming: naming, in: cache, inside: (byNumber, rules), isChecked: isChecked)
        }
    }
}

/// The objects created for the key paths of a group.
///
/// Not generic over the group: that would make finding a key five times as slow.
private final class KeyPathTable: @unchecked Sendable {
    // Sendable because state that is not locked or atomic is immutable after it is counted.

    private typealias FirstKey = (path: ObjectIdentifier, object: Unmanaged<any AnyObject & Sendable>)

    // By the identity of the key path, one for each location in the source, because reading the property through the path takes longer. The
    // paths are only kept so that their identities stay their own.
    private let known = Lock<(objects: [ObjectIdentifier: any AnyObject & Sendable], paths: [AnyKeyPath])>(([:], []))
    // The first few, found without the lock and without hashing: otherwise read.settings takes 1.3 times as long. Each is written once,
    // before it is counted, and lives as long as the complete table.
    private let first = UnsafeMutablePointer<FirstKey>.allocate(capacity: firstLimit)
    private let firstCount = Atomic(0)

    // The number of paths created at run time and of computed keys is not limited: later ones are not cached.
    static let limit = 1_000
    private static let firstLimit = 32

    deinit {
        first.deallocate()
    }

    /// The object of a key path, which has the path's type, created if there is none.
    func object<Object: AnyObject & Sendable>(at path: AnyKeyPath, or make: () -> Object) -> Object {
        if let known = first(path)?.takeUnretainedValue() ?? known.withLock({ $0.objects[ObjectIdentifier(path)] }) {
            return unsafeDowncast(known, to: Object.self)
        }
        let object = make()
        remember(object, at: path)
        return object
    }

    /// The object of one of the first key paths.
    func first(_ path: AnyKeyPath) -> Unmanaged<any AnyObject & Sendable>? {
        let identifier = ObjectIdentifier(path)
        for index in 0..<firstCount.load(ordering: .acquiring) where first[index].path == identifier { return first[index].object }
        return nil
    }

    private func remember(_ object: any AnyObject & Sendable, at path: AnyKeyPath) {
        // A key path never changes.
        nonisolated(unsafe) let path = path
        known.withLock { known in
            let identifier = ObjectIdentifier(path)
            guard known.paths.count < Self.limit, known.objects[identifier] == nil else { return }
            known.objects[identifier] = object
            known.paths.append(path)
            let count = firstCount.load(ordering: .relaxed)
            guard count < Self.firstLimit else { return }
            first.advanced(by: count).initialize(to: (identifier, .passUnretained(object)))
            firstCount.store(count + 1, ordering: .releasing)
        }
    }
}
