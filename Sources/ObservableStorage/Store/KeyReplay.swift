import PropertyListCoding

/// The values of a key's entries, one after the other, and which of them were valid: makes the changes that observers would have received
/// from a running store.
struct KeyReplay<Value: Sendable> {
    private let key: StorageKey<Value>
    private let entry: Entry
    private var values: [String: PropertyListValue]
    private let layers: ValueLayers
    private let revision: UInt64
    // Of the key's own entry and of its fallback. Their revisions are the numbers of the steps.
    private var own = EntryHistory()
    private var fallback = EntryHistory()
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
        let before = (own: own.earlier(name), fallback: fallback.earlier(name))
        for name in name.all { if let edit = edits[name] { set(edit.newValue, for: name) } }
        let new = layers.entry(name) { values[$0] }
        let isOwn = old.stored != new.stored
        // A value of its own hides the fallback.
        guard isOwn || new.stored == nil && old.fallback != new.fallback else { return nil }
        return typed(
            EntryChange(
                key: name.text, old: old, new: new, earlier: before.own,
                // A fallback that is used from now on may have become invalid while it was hidden, or just now.
                earlierFallback: isOwn ? fallback.earlier(name) : before.fallback,
                isRemoval: (isOwn ? new.stored : new.fallback) == nil, origin: origin, revision: revision,
                storageRevision: storageRevision, entry: entry, version: 0))
    }

    private mutating func set(_ value: PropertyListValue?, for name: String) {
        let old = values[name]
        guard old != value else { return }
        values[name] = value
        if name == self.name.own { own.replaced(old, isRemoval: value == nil, isEdit: false, type: nil, revision: step) }
        if name == self.name.fallback { fallback.replaced(old, isRemoval: value == nil, isEdit: false, type: nil, revision: step) }
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
        if let stored = change.new.stored {
            own.note(stored, of: key, failure, revision: step, insteadOf: good)
        } else if let stored = change.new.fallback {
            fallback.note(stored, of: key, failure, revision: step, insteadOf: good)
        }
        return typed
    }
}

extension EntryHistory {
    /// Records whether the present value of a key is valid, as the store does for the changes that it tells live.
    fileprivate mutating func note<Value>(
        _ stored: PropertyListValue, of key: StorageKey<Value>, _ failure: StorageError?, revision: UInt64,
        insteadOf good: PropertyListValue?
    ) {
        let name = key.definition.entryName
        if failure != nil {
            _ = noteBad(stored, of: name, revision: revision, insteadOf: good)
        } else if let type = key.definition.type {
            _ = noteGood(stored, of: name, as: type, revision: revision)
        }
    }
}
