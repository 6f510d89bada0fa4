import Dispatch
import PropertyListCoding

/// What a store holds in memory, as a value: entries, their revision, and when their edits are written.
struct EntryCacheState: Sendable {
    var entries: EntryTable
    var revision: UInt64 = 0
    private(set) var registered: [String: PropertyListValue] = [:]
    var isClosed = false
    /// Whether anybody observes all entries.
    var hasAllObservers = false
    /// Whether observations have ended for good.
    var isFinished = false
    var flushes = FlushSchedule()
    private var refusedMigrations: [String: PropertyListValue] = [:]

    init(entries: [String: PropertyListValue], store: UInt64) {
        self.entries = EntryTable(entries, store: store)
    }

    /// The entry of a name, made if there is none.
    mutating func ensureEntry(_ name: String) -> Entry {
        entries.ensureEntry(name)
    }

    /// What is stored, in the fallback and registered under a name.
    func entry(_ name: EntryName) -> StoredEntry {
        name.entry(registered: registered[name.registered]) { entries[$0] }
    }

    /// What was under a name before, for readers who cannot decode what is there.
    func earlier(_ name: String) -> [PropertyListValue] {
        entries.entry(name)?.content.history.earlier ?? []
    }

    /// Sets the value that stands in for one that is not stored.
    ///
    /// - Returns: the one that stood in before.
    mutating func register(_ value: PropertyListValue?, for name: String) -> PropertyListValue? {
        entries.entry(name)?.noteChange()
        defer { registered[name] = value }
        return registered[name]
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameters:
    ///   - principal: the entry of which the others are a part, if they are: its earlier names.
    ///   - condition: what still has to be stored when they are written, or else they are forgotten.
    mutating func edit(
        _ edits: EntryEdits, of principal: String? = nil, origin: ChangeOrigin = .local, condition: EntryEdits = [:]
    ) throws(StorageError) -> [EntryChange] {
        guard !isClosed else { throw .closed }
        return apply(
            edits, origin: origin, edit: revision + 1, condition: condition.isEmpty ? nil : whatIsStored(of: condition), of: principal)
    }

    // What was made of an edit that is not written yet depends on what that edit depends on, which is nothing for an edit by a user.
    private func whatIsStored(of condition: EntryEdits) -> EntryEdits {
        condition.reduce(into: EntryEdits()) { stored, expected in
            if let edit = entries.pending(expected.key) {
                stored.merge(edit.condition) { $1 }
            } else {
                stored.updateValue(expected.value, forKey: expected.key)
            }
        }
    }

    /// Whether nobody has changed what edits were made of.
    func isCurrent(_ expected: EntryEdits) -> Bool {
        expected.allSatisfy { entries[$0.key] == $0.value }
    }

    /// The edits that remove the entries whose names begin with some components.
    func removals(under prefix: KeyPrefix) -> EntryEdits {
        let names = entries.names
        return names.reduce(into: EntryEdits(minimumCapacity: names.count)) { removals, name in
            if prefix.contains(name) { removals.updateValue(nil, forKey: name) }
        }
    }

    /// Applies what is on disk already, as one revision. An edit that is still to be written wins over it.
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

    /// A change of an entry that has been made.
    func change(
        _ entry: Entry, from old: Entry.Replaced, to new: PropertyListValue?, origin: ChangeOrigin, revision: UInt64
    ) -> EntryChange {
        let registered = registered.isEmpty ? nil : registered[entry.name]
        return EntryChange(
            key: entry.name, old: StoredEntry(stored: old.value, registered: registered),
            new: StoredEntry(stored: new, registered: registered), earlier: old.earlier, isRemoval: new == nil, origin: origin,
            revision: revision, entry: entry, version: entry.version)
    }

    /// What is there under a name now, as a change from itself.
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
    /// Forgets edits that cannot be stored, but for those made anew meanwhile, and has what is stored instead, as one revision.
    mutating func takeBack(_ edits: [String: PendingEdit], for stored: StorageEntries) -> [EntryChange] {
        let current = edits.filter { entries.pending($0.key)?.revision == $0.value.revision }
        entries.noteStored(current)
        for (name, edit) in current where !edit.condition.isEmpty { refusedMigrations[name] = edit.value }
        return apply(current.keys.reduce(into: EntryEdits()) { $0.updateValue(stored[$1], forKey: $1) }, origin: .local)
    }

    /// Notes that what reading a key would have changed cannot be stored.
    ///
    /// - Returns: whether that is to be reported, which is so once for each value.
    mutating func noteRefused(_ value: PropertyListValue, of name: String) -> Bool {
        guard refusedMigrations[name] != value else { return false }
        refusedMigrations[name] = value
        return true
    }

    /// Whether what reading a key would change was refused already, so that it is not tried at each reading.
    func isRefused(_ value: PropertyListValue, of name: String) -> Bool {
        refusedMigrations[name] == value
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile, which need not wait for a later attempt.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        entries.noteStored(edits)
        flushes.cancelTimed()
    }

    /// Forgets all edits that are in memory only, and returns them.
    mutating func discardPending() -> [String: PendingEdit] {
        let edits = entries.pending
        noteStored(edits)
        return edits
    }

    /// Whether somebody has to queue a flush; true once until that flush begins.
    mutating func needsFlushScheduled() -> Bool {
        entries.hasPending && flushes.enqueue()
    }

    /// Sets a time for a flush and returns its number; nil if none is needed then.
    mutating func scheduleFlush(at time: DispatchTime) -> UInt64? {
        entries.hasPending ? flushes.schedule(at: time) : nil
    }
}

/// When the edits in memory are written next: one attempt at most is on its way, queued or at a set time.
struct FlushSchedule: Sendable {
    // On the store's queue.
    private var isQueued = false
    // The number tells the attempt from an earlier one, which is void.
    private var timed: (number: UInt64, time: DispatchTime)?
    private var lastNumber: UInt64 = 0

    /// Queues an attempt; returns false if there is one, which takes all edits with it.
    mutating func enqueue() -> Bool {
        if isQueued || timed != nil { return false }
        isQueued = true
        return true
    }

    /// Notes that the queued attempt begins.
    mutating func beginQueued() {
        isQueued = false
    }

    /// Sets a time for an attempt and returns its number; nil if one is queued, or comes earlier.
    mutating func schedule(at time: DispatchTime) -> UInt64? {
        if isQueued { return nil }
        if let timed, timed.time <= time { return nil }
        lastNumber += 1
        timed = (lastNumber, time)
        return lastNumber
    }

    /// Notes that an attempt begins whose time has come; returns false if it is void.
    mutating func begin(_ number: UInt64) -> Bool {
        guard timed?.number == number else { return false }
        timed = nil
        return true
    }

    /// Makes the timed attempt void: writing has just succeeded, and what is edited from now on need not wait for it.
    mutating func cancelTimed() {
        timed = nil
    }
}
