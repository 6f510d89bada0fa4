/// The keys of a group with their names in a store, found by key path and created once.
final class KeyTable<Keys: KeyGroup>: Sendable {
    let keys: Keys
    let naming: KeyNaming
    private let memory: Memory
    private let made = MadeKeys()

    init(_ keys: Keys, naming: KeyNaming, in memory: Memory) {
        self.keys = keys
        self.naming = naming
        self.memory = memory
    }

    /// The key at a key path, with its name in the store.
    func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> TrackedKey {
        made.key(path) {
            let key = keys[keyPath: path]
            return (key.definition.id, { TrackedKey(self.naming.apply(to: key).definition, in: self.memory) })
        }
    }

    /// The keys of a nested group.
    func group<Group: KeyGroup>(_ path: KeyPath<Keys, Group>) -> KeyTable<Group> {
        // The cached object of a key path has the path's type.
        unsafeDowncast(
            made.group(path) {
                let group = keys[keyPath: path]
                return KeyTable<Group>(group, naming: naming.inside(group), in: memory)
            }, to: KeyTable<Group>.self)
    }
}

/// The objects created for the key paths of a group.
///
/// Not generic over the group: that would make finding a key five times as slow.
private final class MadeKeys: Sendable {
    // Sendable because a key path is immutable and only compared by identity.
    private struct Known: @unchecked Sendable {
        let path: AnyKeyPath
        let made: any AnyObject & Sendable
    }

    private struct Keys {
        /// By the identity of the key path, unique for each location in the source: reading the property takes longer.
        var byPath: [ObjectIdentifier: Known] = [:]
        /// The first few of them, found without hashing, which would double the time.
        var firstPaths: [ObjectIdentifier] = []
        var first: [any AnyObject & Sendable] = []
        /// By the identity of the group's key, so that several paths to one property lead to the same.
        var byNumber: [UInt64: TrackedKey] = [:]
    }

    // The number of paths created at run time and of computed keys is not limited: later ones are not cached.
    private static let most = 1_000
    private static let few = 32

    private let keys = Guarded(Keys())

    func key(_ path: AnyKeyPath, _ make: () -> (number: UInt64, make: () -> TrackedKey)) -> TrackedKey {
        if let known = known(path) { return unsafeDowncast(known, to: TrackedKey.self) }
        let (number, make) = make()
        let key = keys.withLock { $0.byNumber[number] } ?? make()
        let shared = keys.withLock { keys in
            // Another thread may have been faster: all use the same one.
            if let known = keys.byNumber[number] { return known }
            if keys.byNumber.count < Self.most { keys.byNumber[number] = key }
            return key
        }
        remember(shared, at: path)
        return shared
    }

    func group(_ path: AnyKeyPath, _ make: () -> any AnyObject & Sendable) -> any AnyObject & Sendable {
        if let known = known(path) { return known }
        let group = make()
        remember(group, at: path)
        return group
    }

    private func known(_ path: AnyKeyPath) -> (any AnyObject & Sendable)? {
        let identifier = ObjectIdentifier(path)
        return keys.withLock { keys in
            if let index = keys.firstPaths.firstIndex(of: identifier) { return keys.first[index] }
            return keys.byPath[identifier]?.made
        }
    }

    private func remember(_ object: any AnyObject & Sendable, at path: AnyKeyPath) {
        let known = Known(path: path, made: object)
        keys.withLock { keys in
            guard keys.byPath.count < Self.most, keys.byPath.updateValue(known, forKey: ObjectIdentifier(known.path)) == nil,
                keys.first.count < Self.few
            else { return }
            keys.firstPaths.append(ObjectIdentifier(known.path))
            keys.first.append(known.made)
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
