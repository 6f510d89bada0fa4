import PropertyListCoding

/// The values of the entries of a store at one revision, and the previous ones of values that may be invalid.
struct EntryValues: Sendable {
    var revision: UInt64
    // Shared with the store.
    private var values: [String: PropertyListValue]
    // Of entries whose values may be invalid.
    private var histories: [String: EntryHistory] = [:]
    // What some entries have instead, so that the values need not be copied: there may be many.
    private var replacements: [String: Replaced] = [:]
    // Whether these are the values of some entries only.
    private var isPartial = false

    /// A value, and those before it.
    typealias Replaced = (value: PropertyListValue?, history: EntryHistory?)

    init(revision: UInt64, values: [String: PropertyListValue]) {
        self.revision = revision
        self.values = values
    }

    subscript(name: String) -> PropertyListValue? {
        if !replacements.isEmpty, let replacement = replacements[name] { return replacement.value }
        return values[name]
    }

    /// All values by name.
    var all: [String: PropertyListValue] {
        replacements.reduce(into: values) { $0[$1.key] = $1.value.value }
    }

    /// The previous values of a key, for readers that cannot decode the present ones.
    func earlier(_ name: EntryName, in layers: ValueLayers) -> EarlierValues {
        layers.earlier(name, { self[$0] }, history)
    }

    private func history(_ name: String) -> EntryHistory? {
        if let replacement = replacements[name] { return replacement.history }
        return histories[name]
    }

    /// The values after some edits, as the next revision if some are different, with the earlier ones of entries that are the same.
    func applying(_ edits: EntryEdits) -> EntryValues {
        let changes = edits.filter { self[$0.key] != $0.value }
        var next = self
        if !changes.isEmpty { next.revision += 1 }
        for (name, value) in changes { next.replacements[name] = (value, nil) }
        return next
    }

    /// The values of some entries, without retaining the others.
    func only(_ names: Set<String>) -> EntryValues {
        var kept = EntryValues(revision: revision, values: [:])
        kept.isPartial = true
        for name in names { kept.replacements[name] = (self[name], history(name)) }
        return kept
    }

    /// The values of an earlier revision, with these ones for the entries of which it has none because of ``only(_:)``.
    func replacing(_ earlier: EntryValues) -> EntryValues {
        guard earlier.isPartial else { return earlier }
        var values = self
        values.revision = earlier.revision
        values.replacements.merge(earlier.replacements) { $1 }
        return values
    }

    /// Sets the value of an entry to the present one, and returns the previous one, to be released outside locks.
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
