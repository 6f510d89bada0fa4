/// The keys of a group as they are called in a store, each found by its path and made once.
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

    /// The key at a path, under its name in the store.
    func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> TrackedKey {
        made.key(path) {
            let key = keys[keyPath: path]
            return (key.definition.id, { TrackedKey(self.naming.apply(to: key).definition, in: self.memory) })
        }
    }

    /// The keys of a group inside the group.
    func group<Group: KeyGroup>(_ path: KeyPath<Keys, Group>) -> KeyTable<Group> {
        // What is kept for a path is of the path's type.
        unsafeDowncast(
            made.group(path) {
                let group = keys[keyPath: path]
                return KeyTable<Group>(group, naming: naming.inside(group), in: memory)
            }, to: KeyTable<Group>.self)
    }
}

/// What has been made for the paths of a group.
///
/// Not generic as the group is: that would make finding a key five times as long.
private final class MadeKeys: Sendable {
    // Sendable because a key path never changes, and is only compared by identity.
    private struct Known: @unchecked Sendable {
        let path: AnyKeyPath
        let made: any AnyObject & Sendable
    }

    private struct Keys {
        /// By the identity of the path, of which there is one for each place in the source: finding the property by it takes longer.
        var byPath: [ObjectIdentifier: Known] = [:]
        /// The first few of them, found without hashing, which would take as long as all the rest.
        var firstPaths: [ObjectIdentifier] = []
        var first: [any AnyObject & Sendable] = []
        /// By the number of the group's key, so that several paths to one property lead to the same.
        var byNumber: [UInt64: TrackedKey] = [:]
    }

    // Paths that are made while the program runs, and computed keys, may be made without end: later ones are not kept.
    private static let most = 1_000
    private static let few = 32

    private let keys = Guarded(Keys())

    func key(_ path: AnyKeyPath, _ make: () -> (number: UInt64, make: () -> TrackedKey)) -> TrackedKey {
        if let known = known(path) { return unsafeDowncast(known, to: TrackedKey.self) }
        let (number, make) = make()
        let key = keys.withLock { $0.byNumber[number] } ?? make()
        let shared = keys.withLock { keys in
            // Somebody else may have been faster: there is one for all.
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

/// The names that the keys of a group have in the property list.
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

    /// The names in a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyNames<Group> {
        let group = keys[keyPath: path]
        return KeyNames<Group>(keys: group, naming: naming.inside(group))
    }
}
