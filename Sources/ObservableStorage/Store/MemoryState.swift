import PropertyListCoding

/// What a store holds in memory, as a value: entries, their revision, and the edits that are not on disk yet.
struct MemoryState: Sendable {
    /// Edits by the name of the entry: the value that was set, nil for a removal.
    typealias Edits = [String: PropertyListValue?]

    private(set) var entries: [String: PropertyListValue]
    private(set) var revision: UInt64 = 0
    private(set) var registered: [String: PropertyListValue] = [:]
    private(set) var isClosed = false
    /// What is in memory only. An edit stays here until it is on disk.
    private(set) var pending: Edits = [:]
    private var isFlushScheduled = false

    init(entries: [String: PropertyListValue]) {
        self.entries = entries
    }

    /// What is stored and what is registered for a key.
    func entry(_ key: String) -> StoredEntry {
        StoredEntry(stored: entries[key], registered: registered[key])
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
        pending.updateValue(value, forKey: key)
        return change
    }

    /// Edits entries in memory, as one revision, if others have not changed meanwhile what the edits were made for.
    ///
    /// - Returns: nothing if they have.
    mutating func edit(_ edits: Edits, expecting expected: Edits, origin: ChangeOrigin) throws(StorageError) -> [StoredChange]? {
        guard !isClosed else { throw .closed }
        guard expected.allSatisfy({ entries[$0.key] == $0.value }) else { return nil }
        let changes = apply(edits, origin: origin)
        for change in changes { pending.updateValue(change.newValue, forKey: change.key) }
        return changes
    }

    /// Removes entries in memory, all if none are named, as one revision, and keeps the edits for the next flush.
    mutating func remove(_ keys: [String]?) throws(StorageError) -> [StoredChange] {
        guard !isClosed else { throw .closed }
        let removals = (keys ?? Array(entries.keys)).reduce(into: Edits()) { removals, key in
            if entries[key] != nil { removals.updateValue(nil, forKey: key) }
        }
        pending.merge(removals) { $1 }
        return apply(removals, origin: .local)
    }

    /// Applies what is on disk already, as one revision. An edit that is still to be written wins over it.
    mutating func merge(_ edits: Edits, origin: ChangeOrigin) -> [StoredChange] {
        apply(pending.isEmpty ? edits : edits.filter { pending[$0.key] == nil }, origin: origin)
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
        return StoredChange(
            key: key, oldValue: old, newValue: value, registered: registered[key], origin: origin, revision: revision + 1)
    }

    /// What is stored for an entry now, as a change from itself.
    func current(_ key: String) -> StoredChange {
        let value = entries[key]
        return StoredChange(
            key: key, oldValue: value, newValue: value, registered: registered[key], origin: .local, revision: revision)
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile.
    mutating func noteStored(_ edits: Edits) {
        for (key, value) in edits where pending[key] == .some(value) { pending[key] = nil }
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
