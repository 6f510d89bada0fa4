import PropertyListCoding

/// What a store holds in memory, as a value: entries, their revision, and the edits that are not on disk yet.
struct MemoryState: Sendable {
    /// Edits by the name of the entry: the value that is set, nil for a removal.
    typealias Edits = [String: PropertyListValue?]

    private(set) var entries: [String: PropertyListValue]
    private(set) var revision: UInt64 = 0
    private(set) var registered: [String: PropertyListValue] = [:]
    private(set) var isClosed = false
    /// What is in memory only. An edit stays here until it is on disk.
    private(set) var pending: [String: PendingEdit] = [:]
    private var isFlushScheduled = false

    init(entries: [String: PropertyListValue]) {
        self.entries = entries
    }

    /// What is stored, inherited and registered under a name.
    func entry(_ name: EntryName) -> StoredEntry {
        StoredEntry(stored: entries[name.own], inherited: name.inherited.flatMap { entries[$0] }, registered: registered[name.root])
    }

    /// Sets the value that stands in for one that is not stored.
    ///
    /// - Returns: the one that stood in before.
    mutating func register(_ value: PropertyListValue?, for key: String) -> PropertyListValue? {
        defer { registered[key] = value }
        return registered[key]
    }

    /// Edits an entry in memory, as a revision, and keeps the edit for the next flush.
    mutating func edit(_ key: String, _ value: PropertyListValue?) throws(StorageError) -> StoredChange? {
        guard !isClosed else { throw .closed }
        guard let change = apply(key, value, origin: .local) else { return nil }
        revision += 1
        keep(change)
        return change
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameter condition: what has to be stored still when they are written, or else they are forgotten.
    mutating func edit(
        _ edits: Edits, origin: ChangeOrigin = .local, condition: Edits = [:]
    ) throws(StorageError) -> [StoredChange] {
        guard !isClosed else { throw .closed }
        let condition = condition.isEmpty ? condition : whatIsStored(of: condition)
        let changes = apply(edits, origin: origin)
        for change in changes { keep(change, condition: condition) }
        return changes
    }

    // What was made of an edit that is not written yet depends on what that edit depends on, which for a user's is nothing.
    private func whatIsStored(of condition: Edits) -> Edits {
        condition.reduce(into: Edits()) { stored, expected in
            if let edit = pending[expected.key] {
                stored.merge(edit.condition) { $1 }
            } else {
                stored.updateValue(expected.value, forKey: expected.key)
            }
        }
    }

    /// Whether nobody has changed what edits were made of.
    func isCurrent(_ expected: Edits) -> Bool {
        expected.allSatisfy { entries[$0.key] == $0.value }
    }

    /// The edits that remove entries, those that begin with a text.
    func removals(beginning prefix: String = "") -> Edits {
        entries.keys.reduce(into: Edits()) { removals, key in
            if key.hasPrefix(prefix) { removals.updateValue(nil, forKey: key) }
        }
    }

    /// Applies what is on disk already, as one revision. An edit that is still to be written wins over it.
    mutating func merge(_ edits: Edits, origin: ChangeOrigin) -> [StoredChange] {
        apply(pending.isEmpty ? edits : edits.filter { pending[$0.key] == nil }, origin: origin)
    }

    private mutating func keep(_ change: StoredChange, condition: Edits = [:]) {
        pending[change.key] = PendingEdit(value: change.new.stored, condition: condition, revision: change.revision)
    }

    private mutating func apply(_ edits: Edits, origin: ChangeOrigin) -> [StoredChange] {
        var changes: [StoredChange] = []
        for (key, value) in edits {
            if let change = apply(key, value, origin: origin) { changes.append(change) }
        }
        if !changes.isEmpty { revision += 1 }
        return changes.sorted { $0.key < $1.key }
    }

    private mutating func apply(_ key: String, _ value: PropertyListValue?, origin: ChangeOrigin) -> StoredChange? {
        let old = entries[key]
        guard old != value else { return nil }
        entries[key] = value
        let registered = registered[key]
        return StoredChange(
            key: key, old: StoredEntry(stored: old, registered: registered), new: StoredEntry(stored: value, registered: registered),
            isRemoval: value == nil, origin: origin, revision: revision + 1)
    }

    /// What is there under a name now, as a change from itself.
    func current(_ name: EntryName) -> StoredChange {
        let entry = entry(name)
        return StoredChange(
            key: name.own, old: entry, new: entry, isRemoval: entry.stored == nil && entry.inherited == nil, origin: .local,
            revision: revision)
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        for (key, edit) in edits where pending[key]?.revision == edit.revision { pending[key] = nil }
    }

    /// Whether somebody has to schedule a flush; true once until that flush begins.
    mutating func needsFlushScheduled() -> Bool {
        guard !isFlushScheduled, !pending.isEmpty else { return false }
        isFlushScheduled = true
        return true
    }

    /// Notes that the scheduled flush begins.
    mutating func beginScheduledFlush() {
        isFlushScheduled = false
    }

    /// Refuses edits from now on, or takes them again.
    mutating func setClosed(_ isClosed: Bool) {
        self.isClosed = isClosed
    }
}
