import Dispatch
import PropertyListCoding

/// The contents of a store in memory, as a value: entries, their revision, and the schedule of writing their edits.
struct EntryCacheState: Sendable {
    var entries: EntryTable
    var revision: UInt64 = 0
    private(set) var registered: [String: PropertyListValue] = [:]
    var isClosed = false
    /// Whether there are observers of all entries.
    var hasAllObservers = false
    /// Whether observations have ended permanently.
    var isFinished = false
    var flushes = FlushSchedule()
    private var refusedMigrations: [String: PropertyListValue] = [:]

    init(entries: [String: PropertyListValue], store: UInt64) {
        self.entries = EntryTable(entries, store: store)
    }

    /// The stored, the fallback and the registered value of a name.
    func entry(_ name: EntryName) -> StoredEntry {
        name.entry(registered: registered[name.registered]) { entries[$0] }
    }

    /// The previous values of a name, for readers that cannot decode the present one.
    func earlier(_ name: String) -> [PropertyListValue] {
        entries.entry(name)?.content.history.earlier ?? []
    }

    /// Sets the value that is used while none is stored.
    ///
    /// - Returns: the previous one.
    mutating func register(_ value: PropertyListValue?, for name: String) -> PropertyListValue? {
        entries.entry(name)?.noteChange()
        defer { registered[name] = value }
        return registered[name]
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameters:
    ///   - principal: the entry to which the others belong, as its earlier names; nil if they are independent.
    ///   - condition: the values that must still be stored when the edits are written; otherwise the edits are discarded.
    mutating func edit(
        _ edits: EntryEdits, of principal: String? = nil, origin: ChangeOrigin = .local, condition: EntryEdits = [:]
    ) throws(StorageError) -> [EntryChange] {
        guard !isClosed else { throw .closed }
        return apply(
            edits, origin: origin, edit: revision + 1, condition: condition.isEmpty ? nil : whatIsStored(of: condition), of: principal)
    }

    // An edit made from an unwritten edit has the condition of that edit, which is empty for an edit by user code.
    private func whatIsStored(of condition: EntryEdits) -> EntryEdits {
        condition.reduce(into: EntryEdits()) { stored, expected in
            if let edit = entries.pending(expected.key) {
                stored.merge(edit.condition) { $1 }
            } else {
                stored.updateValue(expected.value, forKey: expected.key)
            }
        }
    }

    /// Whether the entries still have the expected values.
    func isCurrent(_ expected: EntryEdits) -> Bool {
        expected.allSatisfy { entries[$0.key] == $0.value }
    }

    /// The edits that remove the entries whose names begin with the components.
    func removals(under prefix: KeyPrefix) -> EntryEdits {
        let names = entries.names
        return names.reduce(into: EntryEdits(minimumCapacity: names.count)) { removals, name in
            if prefix.contains(name) { removals.updateValue(nil, forKey: name) }
        }
    }

    /// Applies values that are on disk already, as one revision. A pending edit of the same entry takes precedence.
    mutating func merge(_ edits: EntryEdits, origin: ChangeOrigin) -> [EntryChange] {
        apply(entries.hasPending ? edits.filter { entries.pending($0.key) == nil } : edits, origin: origin)
    }

    private mutating func apply(
        _ edits: EntryEdits, origin: ChangeOrigin, edit: UInt64 = 0, condition: EntryEdits? = nil, of principal: String? = nil
    ) -> [EntryChange] {
        var changes: [EntryChange] = []
        for (name, value) in edits {
            let entry = entries.ensureEntry(name)
            var replaced: Entry.Replaced = (value, [])
            guard
                entries.exchange(entry, &replaced, edit: edit, revision: revision + 1, condition: condition, principal: principal)
            else { continue }
            changes.append(change(entry, from: replaced, to: value, origin: origin, revision: revision + 1))
        }
        if !changes.isEmpty { revision += 1 }
        return changes.sorted { $0.key < $1.key }
    }

    /// The change that describes an edit already made to an entry.
    func change(
        _ entry: Entry, from old: Entry.Replaced, to new: PropertyListValue?, origin: ChangeOrigin, revision: UInt64
    ) -> EntryChange {
        let registered = registered.isEmpty ? nil : registered[entry.name]
        return EntryChange(
            key: entry.name, old: StoredEntry(stored: old.value, registered: registered),
            new: StoredEntry(stored: new, registered: registered), earlier: old.earlier, isRemoval: new == nil, origin: origin,
            revision: revision, entry: entry, version: entry.version)
    }

    /// The current value of a name, as a change from itself.
    mutating func current(_ name: EntryName) -> EntryChange {
        let entry = entry(name)
        let source = entries.ensureEntry(entry.stored == nil ? name.fallback ?? name.own : name.own)
        return EntryChange(
            key: name.own, old: entry, new: entry, earlier: earlier(name.own), earlierFallback: name.fallback.map(earlier) ?? [],
            isRemoval: entry.stored == nil && entry.fallback == nil, origin: .local, revision: revision,
            entry: source, version: source.version)
    }
}

extension EntryCacheState {
    /// Discards edits that cannot be stored, except those repeated meanwhile, and restores the stored values, as one revision.
    mutating func takeBack(_ edits: [String: PendingEdit], for stored: StorageEntries) -> [EntryChange] {
        let current = edits.filter { entries.pending($0.key)?.revision == $0.value.revision }
        entries.noteStored(current)
        for (name, edit) in current where !edit.condition.isEmpty { refusedMigrations[name] = edit.value }
        return apply(current.keys.reduce(into: EntryEdits()) { $0.updateValue(stored[$1], forKey: $1) }, origin: .local)
    }

    /// Records that a value that reading a key would write cannot be stored.
    ///
    /// - Returns: whether that has to be reported, which is true once for each value.
    mutating func noteRefused(_ value: PropertyListValue, of name: String) -> Bool {
        guard refusedMigrations[name] != value else { return false }
        refusedMigrations[name] = value
        return true
    }

    /// Whether a value that reading a key would write was refused before, so that it is not tried at each read.
    func isRefused(_ value: PropertyListValue, of name: String) -> Bool {
        refusedMigrations[name] == value
    }

    /// Removes edits that are now on disk, except those repeated meanwhile, which need not wait for a later attempt.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        entries.noteStored(edits)
        flushes.cancelTimed()
    }

    /// Discards all edits that are in memory only, and returns them.
    mutating func discardPending() -> [String: PendingEdit] {
        let edits = entries.pending
        noteStored(edits)
        return edits
    }

    /// Whether the caller has to queue a flush; true once until that flush begins.
    mutating func needsFlushScheduled() -> Bool {
        entries.hasPending && flushes.enqueue()
    }

    /// Schedules a flush and returns its number; nil if none is needed at that time.
    mutating func scheduleFlush(at time: DispatchTime) -> UInt64? {
        entries.hasPending ? flushes.schedule(at: time) : nil
    }
}

/// The schedule of writing pending edits: at most one attempt is scheduled, queued or timed.
struct FlushSchedule: Sendable {
    // On the store's queue.
    private var isQueued = false
    // The number distinguishes the attempt from an earlier one, which is cancelled.
    private var timed: (number: UInt64, time: DispatchTime)?
    private var lastNumber: UInt64 = 0

    /// Queues an attempt; returns false if one is scheduled, which will write all edits.
    mutating func enqueue() -> Bool {
        if isQueued || timed != nil { return false }
        isQueued = true
        return true
    }

    /// Records that the queued attempt begins.
    mutating func beginQueued() {
        isQueued = false
    }

    /// Schedules an attempt and returns its number; nil if one is queued, or scheduled for an earlier time.
    mutating func schedule(at time: DispatchTime) -> UInt64? {
        if isQueued { return nil }
        if let timed, timed.time <= time { return nil }
        lastNumber += 1
        timed = (lastNumber, time)
        return lastNumber
    }

    /// Records that a timed attempt begins; returns false if it was cancelled.
    mutating func begin(_ number: UInt64) -> Bool {
        guard timed?.number == number else { return false }
        timed = nil
        return true
    }

    /// Cancels the timed attempt: a write has just succeeded, so later edits need not wait for it.
    mutating func cancelTimed() {
        timed = nil
    }
}
