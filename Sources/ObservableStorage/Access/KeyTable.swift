/// The keys of a group as they are called in a store, each found by its path and made once.
final class KeyTable<Keys: KeyGroup>: Sendable {
    // Sendable because a key path never changes, and is only compared by identity.
    private struct Path: @unchecked Sendable {
        let path: AnyKeyPath
    }

    private struct Made {
        /// By the identity of the path, which each place in the source has one of: finding the property by it takes longer.
        var byPath: [ObjectIdentifier: (path: Path, made: any Sendable & AnyObject)] = [:]
        /// Keys by the number of the group's key, so that several paths to one property lead to the same.
        var byKey: [UInt64: any Sendable & AnyObject] = [:]
    }

    // Paths that are put together while the program runs, and computed keys, may be made without end: later ones are not kept.
    private static var mostPaths: Int { 1_000 }

    let keys: Keys
    let naming: KeyNaming
    private let memory: Memory
    private let made = Guarded(Made())

    init(_ keys: Keys, naming: KeyNaming, in memory: Memory) {
        self.keys = keys
        self.naming = naming
        self.memory = memory
    }

    /// The key at a path, under its name in the store.
    func key<Value>(_ path: KeyPath<Keys, StorageKey<Value>>) -> TrackedKey<Value> {
        // What is kept for a path is of the path's type.
        if let known = known(path) { return unsafeDowncast(known, to: TrackedKey<Value>.self) }
        let key = keys[keyPath: path]
        let id = key.definition.id
        let tracked = TrackedKey(naming.apply(to: key), in: memory)
        let shared = made.withLock { made in
            // Somebody else may have been faster: there is one for all.
            if let known = made.byKey[id] { return unsafeDowncast(known, to: TrackedKey<Value>.self) }
            if made.byKey.count < Self.mostPaths { made.byKey[id] = tracked }
            return tracked
        }
        remember(shared, at: path)
        return shared
    }

    /// The keys of a group inside the group.
    func group<Group: KeyGroup>(_ path: KeyPath<Keys, Group>) -> KeyTable<Group> {
        if let known = known(path) { return unsafeDowncast(known, to: KeyTable<Group>.self) }
        let group = keys[keyPath: path]
        let table = KeyTable<Group>(group, naming: naming.inside(group), in: memory)
        remember(table, at: path)
        return table
    }

    private func known(_ path: AnyKeyPath) -> (any Sendable & AnyObject)? {
        let identifier = ObjectIdentifier(path)
        return made.withLock { $0.byPath[identifier]?.made }
    }

    private func remember(_ object: any Sendable & AnyObject, at path: AnyKeyPath) {
        let path = Path(path: path)
        made.withLock { made in
            if made.byPath.count < Self.mostPaths { made.byPath[ObjectIdentifier(path.path)] = (path, object) }
        }
    }
}
