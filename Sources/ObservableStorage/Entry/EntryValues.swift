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

    /// The values after some edits.
    func applying(_ edits: EntryEdits) -> EntryValues {
        replaced(by: edits.reduce(into: values) { $0[$1.key] = $1.value }, edited: edits.keys)
    }

    /// Other values, as the next revision if some that were edited are different, with the earlier ones of entries that are the same.
    func replaced(by values: [String: PropertyListValue], edited names: some Sequence<String>) -> EntryValues {
        let isChange = names.contains { values[$0] != self.values[$0] }
        var next = EntryValues(revision: isChange ? revision + 1 : revision, values: values)
        next.histories = histories.filter { values[$0.key] == self.values[$0.key] }
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
