import PropertyListCoding

/// What a key's value is stored under, and what it is taken from while nothing is stored there.
struct EntryName: Sendable, Hashable {
    /// The entry that the key reads and writes.
    let own: String
    /// What the entry was called earlier, the newest name first: the first of them that has a value counts while the own one has none.
    var earlier: [String] = []
    /// The entry whose value counts while none of those has one.
    var inherited: String?
    /// What that one was called earlier.
    var earlierInherited: [String] = []

    /// The entry that values are registered for.
    var root: String {
        inherited ?? own
    }

    /// Whether the key may read its value from an entry that was called otherwise.
    var hasEarlier: Bool {
        !earlier.isEmpty || !earlierInherited.isEmpty
    }

    /// The name under which the key's own value is stored, if there is one.
    func counting(_ stored: (String) -> PropertyListValue?) -> String? {
        Self.counting(own, earlier, stored)
    }

    /// What there is for the key.
    func entry(registered: PropertyListValue?, _ stored: (String) -> PropertyListValue?) -> StoredEntry {
        StoredEntry(
            stored: Self.value(own, earlier, stored), inherited: inherited.flatMap { Self.value($0, earlierInherited, stored) },
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
