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
    ///
    /// What reading writes is written for the shared key.
    func scoped(to scope: KeyScope) -> StorageKey {
        named(scope.naming.name).with { traits in
            traits.shared = [self]
            traits.leavesLastValue = scope.leavesLastValue
            traits.persistsDefault = []
        }
    }

    /// The key whose value this one has while it has none of its own.
    var shared: StorageKey? {
        body.traits.shared.first
    }

    /// Whether what is set becomes the shared key's value too.
    var leavesLastValue: Bool {
        body.traits.leavesLastValue
    }

    /// What has to be edited for a value to be stored, or for the entry to be removed.
    func edits(storing stored: PropertyListValue?) -> [String: PropertyListValue?] {
        var edits: [String: PropertyListValue?] = [name: stored]
        if leavesLastValue, let stored, let shared { edits[shared.name] = .some(stored) }
        return edits
    }

    /// What is stored for what a value was read from.
    func expectation(_ entry: StoredEntry) -> [String: PropertyListValue?] {
        var expected: [String: PropertyListValue?] = [name: entry.stored]
        if let shared { expected.updateValue(entry.inherited, forKey: shared.name) }
        return expected
    }
}
