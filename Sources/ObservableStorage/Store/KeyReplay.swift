import PropertyListCoding

/// The values of a key's entries, one after the other, and which of them were valid: makes the changes that observers would have received
/// from a running store.
struct KeyReplay<Value: Sendable> {
    private let key: StorageKey<Value>
    private let entry: Entry
    private var values: [String: PropertyListValue]
    private let layers: ValueLayers
    private let revision: UInt64
    // By the names of entries. Their revisions are the numbers of the steps.
    private var histories: [String: EntryHistory] = [:]
    private var step: UInt64 = 0
    // The last valid value.
    private var last: (stored: PropertyListValue, value: Value)?

    private var name: EntryName { key.definition.entryName }

    /// - Parameters:
    ///   - key: the key.
    ///   - entry: the key's own entry.
    ///   - values: the values of its entries before the first step.
    ///   - layers: the other values of entries.
    ///   - revision: the store's revision of the changes.
    init(_ key: StorageKey<Value>, _ entry: Entry, _ values: [String: PropertyListValue], _ layers: ValueLayers, revision: UInt64) {
        (self.key, self.entry, self.values, self.layers, self.revision) = (key, entry, values, layers, revision)
    }

    /// Makes the edits of one step; returns the change of the key, or nil if it has the same value.
    mutating func change(
        making edits: [String: StorageCommit.Edit], _ origin: ChangeOrigin, _ storageRevision: StorageRevision?
    ) -> Change<Value>? {
        step += 1
        let old = layers.entry(name) { values[$0] }
        let before = previous
        for name in name.all { if let edit = edits[name] { set(edit.newValue, for: name) } }
        let new = layers.entry(name) { values[$0] }
        guard let (isOwn, isRemoval) = old.change(to: new) else { return nil }
        return typed(
            EntryChange(
                key: name.text, old: old, new: new, earlier: before.own,
                // A fallback that is used from now on may have become invalid while it was hidden, or just now.
                earlierFallback: isOwn ? previous.fallback : before.fallback,
                isRemoval: isRemoval, origin: origin, revision: revision,
                storageRevision: storageRevision, entry: entry, version: 0))
    }

    private var previous: (own: [PropertyListValue], fallback: [PropertyListValue]) {
        name.previous({ values[$0] }, { histories[$0] })
    }

    private mutating func set(_ value: PropertyListValue?, for name: String) {
        let old = values[name]
        guard old != value else { return }
        values[name] = value
        histories[name, default: EntryHistory()].replaced(old, isRemoval: value == nil, isEdit: false, type: nil, revision: step)
    }

    private mutating func typed(_ change: EntryChange) -> Change<Value> {
        let (key, last) = (key, last)
        let (typed, failure, good) = change.typed(
            for: key,
            decodingOld: { stored throws(StorageError) in
                if let last, last.stored == stored { return last.value }
                return try key.decoded(stored)
            }, decodingNew: { stored throws(StorageError) in try key.decoded(stored) })
        self.last = failure == nil ? (change.new.stored ?? change.new.fallback).map { ($0, typed.newValue) } : nil
        if let stored = change.new.stored ?? change.new.fallback {
            let location = name.location(of: change.new) { values[$0] }
            // As the store records it for the changes of a running observation.
            var history = histories[location.own] ?? EntryHistory()
            if failure != nil {
                _ = history.markInvalid(stored, of: location, revision: step, insteadOf: good)
            } else if let type = key.definition.type {
                _ = history.markValid(stored, of: location, as: type, revision: step)
            }
            histories[location.own] = history
        }
        return typed
    }
}
