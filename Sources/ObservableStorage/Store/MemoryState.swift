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
    private var refusedUpkeep: [String: PropertyListValue] = [:]

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
    func earlier(_ name: String) -> EntryHistory.Earlier? {
        table.history(name)?.earlier
    }

    /// What is known of the value under a name.
    func history(_ name: String) -> EntryHistory {
        table.history(name) ?? EntryHistory()
    }

    /// Notes that a value is good; see ``EntryHistory/noteGood(_:revision:)``.
    mutating func noteGood(_ name: String, _ type: ObjectIdentifier, revision: UInt64) -> EntryHistory.Earlier? {
        table.noteGood(name, type, revision: revision)
    }

    /// Notes that a value is bad; see ``EntryHistory/noteBad(revision:insteadOf:)``.
    mutating func noteBad(
        _ name: String, revision: UInt64, insteadOf good: PropertyListValue?
    ) -> (isNew: Bool, unneeded: EntryHistory.Earlier?) {
        table.noteBad(name, revision: revision, insteadOf: good)
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
    /// - Parameters:
    ///   - content: the value; what was there before, afterwards.
    ///   - type: what a key that needs no code of the user's sets it as.
    ///   - hint: where the entry may be, and then is; see ``EntryTable``.
    /// - Returns: nothing if the value is the same.
    mutating func exchange(
        _ name: String, _ content: inout EntrySlot.Content, type: ObjectIdentifier?, hint: inout EntryHint
    ) throws(StorageError) -> EntrySlot.Exchange? {
        guard !isClosed else { throw .closed }
        guard let exchange = table.exchange(name, &content, edit: revision + 1, type: type, hint: &hint) else { return nil }
        revision += 1
        return exchange
    }

    /// Edits entries in memory, as one revision, and keeps the edits for the next flush.
    ///
    /// - Parameters:
    ///   - principal: the entry of which the others are a part, if they are: what it was called earlier.
    ///   - condition: what has to be stored still when they are written, or else they are forgotten.
    mutating func edit(
        _ edits: Edits, of principal: String? = nil, origin: ChangeOrigin = .local, condition: Edits = [:]
    ) throws(StorageError) -> [StoredChange] {
        guard !isClosed else { throw .closed }
        return apply(
            edits, origin: origin, edit: revision + 1, condition: condition.isEmpty ? nil : whatIsStored(of: condition), of: principal)
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

    private mutating func apply(
        _ edits: Edits, origin: ChangeOrigin, edit: UInt64 = 0, condition: Edits? = nil, of principal: String? = nil
    ) -> [StoredChange] {
        var changes: [StoredChange] = []
        for (name, value) in edits {
            var content = EntrySlot.Content(value: value)
            guard
                let exchange = table.exchange(
                    name, &content, edit: edit, revision: revision + 1, condition: condition, principal: principal)
            else { continue }
            changes.append(change(name, exchange, from: content, to: value, origin: origin, revision: revision + 1))
        }
        if !changes.isEmpty { revision += 1 }
        return changes.sorted { $0.key < $1.key }
    }

    /// A change of an entry that has been made.
    func change(
        _ name: String, _ exchange: EntrySlot.Exchange, from old: EntrySlot.Content, to new: PropertyListValue?, origin: ChangeOrigin,
        revision: UInt64
    ) -> StoredChange {
        let registered = registered.isEmpty ? nil : registered[name]
        return StoredChange(
            key: name, old: StoredEntry(stored: old.value, registered: registered),
            new: StoredEntry(stored: new, registered: registered), earlier: old.earlier, isRemoval: new == nil, origin: origin,
            revision: revision, changes: exchange.changes)
    }

    /// What is there under a name now, as a change from itself.
    func current(_ name: EntryName) -> StoredChange {
        let entry = entry(name)
        let source = entry.stored == nil ? name.inherited ?? name.own : name.own
        return StoredChange(
            key: name.own, old: entry, new: entry, earlier: earlier(name.own),
            earlierInherited: name.inherited.flatMap(earlier),
            isRemoval: entry.stored == nil && entry.inherited == nil, origin: .local, revision: revision,
            changes: watch(source)?.changes ?? 0)
    }

    /// Forgets edits that cannot be stored, but for those made anew meanwhile, and has what is stored instead, as one revision.
    mutating func takeBack(_ edits: [String: PendingEdit], for stored: StorageEntries) -> [StoredChange] {
        let standing = edits.filter { table.pending($0.key)?.revision == $0.value.revision }
        table.noteStored(standing)
        for (name, edit) in standing where !edit.condition.isEmpty { refusedUpkeep[name] = edit.value }
        return apply(standing.keys.reduce(into: Edits()) { $0.updateValue(stored[$1], forKey: $1) }, origin: .local)
    }

    /// Notes that what reading a key would have changed cannot be stored.
    ///
    /// - Returns: whether that is to be reported, which is so once for each value.
    mutating func noteRefused(_ value: PropertyListValue, of name: String) -> Bool {
        guard refusedUpkeep[name] != value else { return false }
        refusedUpkeep[name] = value
        return true
    }

    /// Whether what reading a key would change was refused already, so that it is not to be tried at each reading.
    func isRefused(_ value: PropertyListValue, of name: String) -> Bool {
        refusedUpkeep[name] == value
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
