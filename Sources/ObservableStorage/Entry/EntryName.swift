import PropertyListCoding

/// The names under which a key's value is stored, and the fallback that is used while there is none.
struct EntryName: Sendable, Hashable {
    /// The entry that the key reads and writes.
    let own: String
    /// Earlier names of the entry, the newest first: the first with a value is used while the own entry has none.
    var earlier: [String] = []
    /// The entry whose value is used while none of those has one.
    var fallback: String?
    /// Earlier names of the fallback.
    var earlierFallback: [String] = []

    /// The name under which default values are registered.
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

    /// The stored, the fallback and the registered value of the key.
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

/// The values of a key besides its own default, in the order of precedence.
struct StoredEntry: Sendable, Equatable {
    /// The stored value.
    let stored: PropertyListValue?
    /// The stored value of the key to which this one falls back.
    var fallback: PropertyListValue?
    /// The value registered for use while none is stored.
    let registered: PropertyListValue?
}
