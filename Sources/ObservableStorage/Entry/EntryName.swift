import PropertyListCoding

/// What a key's value is stored under, and what it falls back to while nothing is stored there.
struct EntryName: Sendable, Hashable {
    /// The entry that the key reads and writes.
    let own: String
    /// Earlier names of the entry, the newest first: the first of them that has a value counts while the own one has none.
    var earlier: [String] = []
    /// The entry whose value counts while none of those has one.
    var fallback: String?
    /// Earlier names of that one.
    var earlierFallback: [String] = []

    /// The entry that values are registered for.
    var registered: String {
        fallback ?? own
    }

    /// Whether the key may read its value from an entry under an earlier name.
    var hasEarlier: Bool {
        !earlier.isEmpty || !earlierFallback.isEmpty
    }

    /// The name under which the key's own value is stored; nil if there is none.
    func counting(_ stored: (String) -> PropertyListValue?) -> String? {
        Self.counting(own, earlier, stored)
    }

    /// What there is for the key.
    func entry(registered: PropertyListValue?, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        StoredEntry(
            stored: Self.value(own, earlier, stored), fallback: fallback.flatMap { Self.value($0, earlierFallback, stored) },
            registered: registered)
    }

    private static func value(
        _ name: String, _ earlier: [String], _ stored: (String) -> PropertyListValue?
    ) -> PropertyListValue? {
        if earlier.isEmpty { return stored(name) }
        return counting(name, earlier, stored).flatMap(stored)
    }

    private static func counting(_ name: String, _ earlier: [String], _ stored: (String) -> PropertyListValue?) -> String? {
        if stored(name) != nil { return name }
        return earlier.first { stored($0) != nil }
    }
}

/// What there is for a key besides its own default, in the order in which it counts.
struct StoredEntry: Sendable, Equatable {
    /// What is stored.
    let stored: PropertyListValue?
    /// What is stored for the key that this one falls back to.
    var fallback: PropertyListValue?
    /// What is registered in place of a value that is not stored.
    let registered: PropertyListValue?
}
