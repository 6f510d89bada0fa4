import Synchronization

/// The keys of a group with their names in a store, found by key path and created once.
final class KeyTable<Keys: KeyGroup>: Sendable {
    let keys: Keys
    let naming: KeyNaming
    private let cache: EntryCache
    private let made = KeyPathTable()

    init(_ keys: Keys, naming: KeyNaming, in cache: EntryCache) {
        self.keys = keys
        self.naming = naming
        self.cache = cache
    }

    /// The key at a key path, with its name in the store.
    func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> TrackedKey {
        withKey(path) { $0 }
    }

    /// Calls a closure with the key at a key path.
    func withKey<Value, Result>(_ path: KeyPath<Keys, StorageKey<Value>>, _ body: (TrackedKey) -> Result) -> Result {
        made.withKey(
            path,
            make: {
                let key = keys[keyPath: path]
                return (key.definition.id, { TrackedKey(self.naming.apply(to: key).definition, in: self.cache) })
            }, body)
    }

    /// The keys of a nested group.
    func group<Group: KeyGroup>(_ path: KeyPath<Keys, Group>) -> KeyTable<Group> {
        // The cached object of a key path has the path's type.
        unsafeDowncast(
            made.group(path) {
                let group = keys[keyPath: path]
                return KeyTable<Group>(group, naming: naming.inside(group), in: cache)
            }, to: KeyTable<Group>.self)
    }
}

/// The objects created for the key paths of a group.
///
/// Not generic over the group: that would make finding a key five times as slow.
private final class KeyPathTable: @unchecked Sendable {
    // Sendable because state that is not locked or atomic is immutable after it is counted.

    private typealias PathKey = (path: AnyKeyPath, made: any AnyObject & Sendable)

    // By the identity of the key path, unique for each location in the source, because reading the property through it takes longer;
    // and by the number of the group's key, so that several paths to one property lead to the same.
    private let keys = Lock<(byPath: [ObjectIdentifier: PathKey], byNumber: [UInt64: TrackedKey])>(([:], [:]))
    // The first few, found without the lock and without hashing: otherwise read.settings takes 1.3 times as long. Each is written once,
    // before it is counted, and lives as long as the complete table.
    private let first = UnsafeMutablePointer<(path: ObjectIdentifier, made: Unmanaged<any AnyObject & Sendable>)>.allocate(capacity: few)
    private let firstCount = Atomic(0)

    // The number of paths created at run time and of computed keys is not limited: later ones are not cached.
    private static let most = 1_000
    private static let few = 32

    deinit {
        first.deallocate()
    }

    func withKey<Result>(
        _ path: AnyKeyPath, make: () -> (number: UInt64, make: () -> TrackedKey), _ body: (TrackedKey) -> Result
    ) -> Result {
        if let first = first(path) { return first._withUnsafeGuaranteedRef { body(unsafeDowncast($0, to: TrackedKey.self)) } }
        if let known = known(path) { return body(unsafeDowncast(known, to: TrackedKey.self)) }
        let (number, make) = make()
        let key = keys.withLock { $0.byNumber[number] } ?? make()
        let shared = keys.withLock { keys in
            // Another thread may have been faster: all use the same one.
            if let known = keys.byNumber[number] { return known }
            if keys.byNumber.count < Self.most { keys.byNumber[number] = key }
            return key
        }
        remember(shared, at: path)
        return body(shared)
    }

    func group(_ path: AnyKeyPath, _ make: () -> any AnyObject & Sendable) -> any AnyObject & Sendable {
        if let known = first(path)?.takeUnretainedValue() ?? known(path) { return known }
        let group = make()
        remember(group, at: path)
        return group
    }

    private func first(_ path: AnyKeyPath) -> Unmanaged<any AnyObject & Sendable>? {
        let identifier = ObjectIdentifier(path)
        for index in 0..<firstCount.load(ordering: .acquiring) where first[index].path == identifier { return first[index].made }
        return nil
    }

    private func known(_ path: AnyKeyPath) -> (any AnyObject & Sendable)? {
        keys.withLock { $0.byPath[ObjectIdentifier(path)]?.made }
    }

    private func remember(_ object: any AnyObject & Sendable, at path: AnyKeyPath) {
        // A key path never changes, and is only kept so that its identity stays its own.
        nonisolated(unsafe) let path = path
        keys.withLock { keys in
            let identifier = ObjectIdentifier(path)
            guard keys.byPath.count < Self.most, keys.byPath[identifier] == nil else { return }
            keys.byPath[identifier] = (path, object)
            let count = firstCount.load(ordering: .relaxed)
            guard count < Self.few else { return }
            first.advanced(by: count).initialize(to: (identifier, .passUnretained(object)))
            firstCount.store(count + 1, ordering: .releasing)
        }
    }
}

/// The names of a group's keys in the property list.
///
/// ```swift
/// settings.keyNames.debug.showConsole    // "debug/showConsole"
/// ```
@dynamicMemberLookup
public struct KeyNames<Keys: KeyGroup>: Sendable {
    let keys: Keys
    let naming: KeyNaming

    /// The name of a key.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> String {
        naming.name(keys[keyPath: path].name)
    }

    /// The names in a nested group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyNames<Group> {
        let group = keys[keyPath: path]
        return KeyNames<Group>(keys: group, naming: naming.inside(group))
    }
}
