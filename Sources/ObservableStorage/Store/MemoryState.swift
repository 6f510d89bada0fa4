import Dispatch
import PropertyListCoding

/// What a store holds in memory, as a value: entries, their revision, and the edits that are not on disk yet.
struct MemoryState: Sendable {
    /// Edits by the name of the entry: the value that is set, nil for a removal.
    typealias Edits = [String: PropertyListValue?]

    private var table: EntryTable
    private(set) var revision: UInt64 = 0
    private(set) var registered: [String: PropertyListValue] = [:]
    private(set) var isClosed = false
    private var flushes = FlushSchedule()

    init(entries: [String: PropertyListValue]) {
        table = EntryTable(entries)
    }

    /// What is stored, by name. Takes time for every entry.
    var entries: [String: PropertyListValue] {
        table.values
    }

    /// What is in memory only. An edit stays here until it is on disk.
    var pending: [String: PendingEdit] {
        table.pending
    }

    /// Whether anything is in memory only.
    var hasPending: Bool {
        table.hasPending
    }

    /// What is stored under a name.
    func stored(_ name: String) -> PropertyListValue? {
        table[name]
    }

    /// What is stored, inherited and registered under a name.
    func entry(_ name: EntryName) -> StoredEntry {
        name.entry(registered: registered[name.root]) { table[$0] }
    }

    /// What was under a name before, for those who cannot decode what is there.
    func earlier(_ name: String) -> EntryHistory.Earlier {
        table.history(name)?.earlier ?? EntryHistory.Earlier()
    }

    /// What is known of the value under a name.
    func history(_ name: String) -> EntryHistory {
        table.history(name) ?? EntryHistory()
    }

    /// Notes that a value is good; see ``EntryHistory/noteGood(_:revision:)``.
    mutating func noteGood(_ name: String, _ type: ObjectIdentifier, revision: UInt64) -> EntryHistory.Earlier {
        table.noteGood(name, type, revision: revision)
    }

    /// Notes that a value is bad; see ``EntryHistory/noteBad(hash:)``.
    mutating func noteBad(_ name: String, hash: Int) -> Bool {
        table.noteBad(name, hash: hash)
    }

    /// What readers of all entries hold on to.
    var watches: [EntryWatch] {
        table.watches
    }

    /// What readers of an entry hold on to, if somebody may.
    func watch(_ name: String) -> EntryWatch? {
        table.watch(name)
    }

    /// The same, made if there is none.
    mutating func madeWatch(_ name: String) -> EntryWatch {
        table.madeWatch(name)
    }

    /// Sets the value that stands in for one that is not stored.
    ///
    /// - Returns: the one that stood in before.
    mutating func register(_ value: PropertyListValue?, for key: String) -> PropertyListValue? {
        defer { registered[key] = value }
        return registered[key]
    }

    /// Edits an entry in memory, as a revision, and keeps the edit for the next flush.
    ///
    /// - Parameter hint: where the entry may be, and then is; see ``EntryTable``.
    /// - Returns: what was there before; nothing if the value is the same.
    mutating func exchange(
        _ name: String, _ value: PropertyListValue?, hint: inout EntryHint
    ) throws(StorageError) -> EntrySlot.Exchange? {
        guard !isClosed else { throw .closed }
        guard let exchange = table.exchange(name, value, edit: revision + 1, hint: &hint) else { return nil }
        revision += 1
        return exchange
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameter condition: what has to be stored still when they are written, or else they are forgotten.
    mutating func edit(
        _ edits: Edits, origin: ChangeOrigin = .local, condition: Edits = [:]
    ) throws(StorageError) -> [StoredChange] {
        guard !isClosed else { throw .closed }
        return apply(edits, origin: origin, edit: revision + 1, condition: condition.isEmpty ? nil : whatIsStored(of: condition))
    }

    // What was made of an edit that is not written yet depends on what that edit depends on, which for a user's is nothing.
    private func whatIsStored(of condition: Edits) -> Edits {
        condition.reduce(into: Edits()) { stored, expected in
            if let edit = table.pending(expected.key) {
                stored.merge(edit.condition) { $1 }
            } else {
                stored.updateValue(expected.value, forKey: expected.key)
            }
        }
    }

    /// Whether nobody has changed what edits were made of.
    func isCurrent(_ expected: Edits) -> Bool {
        expected.allSatisfy { table[$0.key] == $0.value }
    }

    /// The edits that remove the entries whose names stand behind some components.
    func removals(behind prefixes: KeyNaming.Prefixes) -> Edits {
        let names = table.names
        return names.reduce(into: Edits(minimumCapacity: names.count)) { removals, name in
            if prefixes.contain(name) { removals.updateValue(nil, forKey: name) }
        }
    }

    /// Applies what is on disk already, as one revision. An edit that is still to be written wins over it.
    mutating func merge(_ edits: Edits, origin: ChangeOrigin) -> [StoredChange] {
        apply(table.hasPending ? edits.filter { table.pending($0.key) == nil } : edits, origin: origin)
    }

    private mutating func apply(_ edits: Edits, origin: ChangeOrigin, edit: UInt64 = 0, condition: Edits? = nil) -> [StoredChange] {
        var changes: [StoredChange] = []
        for (name, value) in edits {
            guard let exchange = table.exchange(name, value, edit: edit, revision: revision + 1, condition: condition) else { continue }
            changes.append(change(name, exchange, to: value, origin: origin, revision: revision + 1))
        }
        if !changes.isEmpty { revision += 1 }
        return changes.sorted { $0.key < $1.key }
    }

    /// A change of an entry that has been made.
    func change(
        _ name: String, _ exchange: EntrySlot.Exchange, to new: PropertyListValue?, origin: ChangeOrigin, revision: UInt64
    ) -> StoredChange {
        let registered = registered.isEmpty ? nil : registered[name]
        return StoredChange(
            key: name, old: StoredEntry(stored: exchange.old, registered: registered),
            new: StoredEntry(stored: new, registered: registered), earlier: exchange.earlier, isRemoval: new == nil, origin: origin,
            revision: revision, changes: exchange.changes)
    }

    /// What is there under a name now, as a change from itself.
    func current(_ name: EntryName) -> StoredChange {
        let entry = entry(name)
        let source = entry.stored == nil ? name.inherited ?? name.own : name.own
        return StoredChange(
            key: name.own, old: entry, new: entry, earlier: earlier(name.own),
            earlierInherited: name.inherited.map(earlier) ?? EntryHistory.Earlier(),
            isRemoval: entry.stored == nil && entry.inherited == nil, origin: .local, revision: revision,
            changes: watch(source)?.changes ?? 0)
    }

    /// Forgets an edit that cannot be stored, unless the entry has been edited anew, and has what is stored instead, as one revision.
    mutating func takeBack(_ edit: PendingEdit, of name: String, for stored: PropertyListValue?) -> [StoredChange] {
        guard table.pending(name)?.revision == edit.revision else { return [] }
        table.noteStored([name: edit])
        return apply([name: stored], origin: .local)
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile, which need not wait for a later attempt.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        table.noteStored(edits)
        flushes.cancelTimed()
    }

    /// Forgets all edits that are in memory only, and returns them.
    mutating func discardPending() -> [String: PendingEdit] {
        let edits = table.pending
        noteStored(edits)
        return edits
    }

    /// Whether somebody has to queue a flush; true once until that flush begins.
    mutating func needsFlushScheduled() -> Bool {
        table.hasPending && flushes.enqueue()
    }

    /// Notes that the queued flush begins.
    mutating func beginQueuedFlush() {
        flushes.beginQueued()
    }

    /// Sets a time for a flush and returns its number; nil if none is needed then.
    mutating func scheduleFlush(at time: DispatchTime) -> UInt64? {
        table.hasPending ? flushes.schedule(at: time) : nil
    }

    /// Notes that a flush begins whose time has come; false if it is void.
    mutating func beginFlush(_ number: UInt64) -> Bool {
        flushes.begin(number)
    }

    /// Refuses edits from now on, or takes them again.
    mutating func setClosed(_ isClosed: Bool) {
        self.isClosed = isClosed
    }
}
