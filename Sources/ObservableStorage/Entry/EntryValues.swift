import PropertyListCoding

/// The values of all entries at one revision.
struct EntryValues: Sendable {
    var revision: UInt64
    private(set) var values: [String: PropertyListValue]
    // Of entries whose values may be invalid.
    private var histories: [String: EntryHistory] = [:]

    init(revision: UInt64, values: [String: PropertyListValue]) {
        self.revision = revision
        self.values = values
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    func earlier(_ name: EntryName, in layers: ValueLayers) -> EarlierValues {
        layers.earlier(name, { values[$0] }, { histories[$0] })
    }

    /// The values after some edits, as the next revision if some are different, with the earlier ones of entries that are the same.
    func applying(_ edits: EntryEdits) -> EntryValues {
        let changes = edits.filter { values[$0.key] != $0.value }
        var next = self
        if !changes.isEmpty { next.revision += 1 }
        for (name, value) in changes { (next.values[name], next.histories[name]) = (value, nil) }
        return next
    }

    /// A previous value, and those before it, to be released outside locks.
    typealias Replaced = (value: PropertyListValue?, history: EntryHistory?)

    /// Sets the value of an entry to the present one, and returns the previous one.
    mutating func set(_ entry: Entry) -> Replaced {
        let (name, history) = (entry.name, entry.content.history)
        var replaced: EntryHistory?
        if !history.isEmpty || !histories.isEmpty {
            replaced = histories[name]
            histories[name] = history.isEmpty ? nil : history
        }
        guard let value = entry.content.value else { return (values.removeValue(forKey: name), replaced) }
        return (values.updateValue(value, forKey: name), replaced)
    }
}
