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

    /// What has to be edited for a value to be stored, or removed: also the entry under an earlier name that the value was read from.
    ///
    /// - Parameter current: what is stored under a name now.
    func edits(storing stored: PropertyListValue?, over current: (String) -> PropertyListValue?) -> [String: PropertyListValue?] {
        guard let stored else { return removals }
        var edits: [String: PropertyListValue?] = [name: stored]
        if let counting = body.entryName.counting(current), counting != name { edits.updateValue(nil, forKey: counting) }
        if body.traits.leavesLastValue, let shared {
            edits.merge(shared.edits(storing: stored, over: current)) { $1 }
        }
        return edits
    }

    /// What has to be edited for the key to have no value of its own: any earlier name that were left would give it one again.
    var removals: [String: PropertyListValue?] {
        body.entryName.earlier.reduce(into: [name: .none]) { $0.updateValue(nil, forKey: $1) }
    }
}
