/// The entries of a dictionary of which some were set or removed: what a copy with these edits would hold, without the copy.
struct EditedEntries {
    private typealias Place = Dictionary<String, PropertyListValue>.Index

    private let base: [String: PropertyListValue]
    /// What stands in the place of entries of the base, in its order; nothing where one was removed.
    private var replaced: [(place: Place, value: PropertyListValue?)] = []
    private var added: [(key: String, value: PropertyListValue)] = []
    let count: Int

    init(_ base: [String: PropertyListValue], with edits: [String: PropertyListValue?]) {
        self.base = base
        for (key, value) in edits {
            if let place = base.index(forKey: key) {
                replaced.append((place, value))
            } else if let value {
                added.append((key, value))
            }
        }
        replaced.sort { $0.place < $1.place }
        count = base.count + added.count - replaced.count { $0.value == nil }
    }

    /// Calls `body` for each entry; one that was set keeps the key that it had.
    @inline(__always)
    func forEach(_ body: (String, consuming PropertyListValue) -> Void) {
        guard !replaced.isEmpty || !added.isEmpty else {
            for (key, value) in base { body(key, value) }
            return
        }
        var next = base.startIndex
        for (place, value) in replaced {
            for (key, value) in base[next..<place] { body(key, value) }
            if let value { body(base[place].key, value) }
            next = base.index(after: place)
        }
        for (key, value) in base[next...] { body(key, value) }
        for (key, value) in added { body(key, value) }
    }
}
