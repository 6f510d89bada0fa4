import PropertyListCoding

/// Where keys keep values of their own beside those that they share with others: a scene, say.
struct KeyScope: Sendable, Hashable {
    /// What the names begin with.
    let naming: KeyNaming.Prefixes
    /// Whether what is set in the scope is left for other scopes too, to start from.
    let leavesLastValue: Bool
}

extension StorageKey {
    /// The same key with a value of its own in a scope, which is the shared one until it is set there.
    func scoped(to scope: KeyScope) -> StorageKey {
        let shared = self
        return named(scope.naming.name).with { key in
            key.inherit(from: shared, leavingLastValue: scope.leavesLastValue)
        }
    }

    /// What has to be edited for a value to be stored, or for the entry to be removed.
    func edits(storing stored: PropertyListValue?) -> [String: PropertyListValue?] {
        var edits: [String: PropertyListValue?] = [name: stored]
        if leavesLastValue, let stored, let inherited = entryName.inherited { edits[inherited] = .some(stored) }
        return edits
    }

    /// What is stored for what a value was read from.
    func expectation(_ entry: StoredEntry) -> [String: PropertyListValue?] {
        var expected: [String: PropertyListValue?] = [name: entry.stored]
        if let inherited = entryName.inherited { expected.updateValue(entry.inherited, forKey: inherited) }
        return expected
    }
}
