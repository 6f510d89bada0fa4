import PropertyListCoding
import Synchronization

/// The entries of a store by name. Used while the store's lock is held.
struct EntryTable: Sendable {
    private let store: UInt64
    // Values without an entry, which takes several times the memory: most values of a large file are never read or written.
    private var untouched: StoredValues
    private var entries: [Entry] = []
    private var indices: [String: Int] = [:]
    // Entries with an edit that is not on disk yet, in the order of their first one.
    private var edited: [Entry] = []
    private var sweepThreshold = 64
    // The values at the revision of the last snapshot, to which only later changes have to be added; nil until the first snapshot.
    private var copied: EntryValues?
    // Whether an entry was removed from the table whose value is still in the copy.
    private var isCopyStale = false
    /// Whether the storage was read, so that the stored values are known.
    var isOpened = true { didSet { removals = [] } }
    /// What was removed before: of the values that are found, those are removed whose names satisfy one of these.
    var removals: [@Sendable (String) -> Bool] = []
    /// See ``CommittingBackend/onUse``.
    var onUse: (@Sendable (String) -> Void)?

    init(_ values: StoredValues, store: UInt64) {
        self.store = store
        untouched = values
    }

    subscript(name: String) -> PropertyListValue? {
        guard let index = indices[name] else { return untouched[name] }
        return entries[index].content.value
    }

    var values: [String: PropertyListValue] {
        entries.reduce(into: untouched.values) { $0[$1.name] = $1.content.value }
    }

    /// All values at the present revision. Takes time for the changes since the last call, and copies all values if the last result is
    /// still retained.
    ///
    /// - Returns: the values, and what was replaced, to be released outside locks.
    mutating func values(at revision: UInt64) -> (values: EntryValues, replaced: [EntryValues.Replaced], stale: EntryValues?) {
        let known = copied.take()
        guard var copy = known, !isCopyStale else {
            isCopyStale = false
            var copy = EntryValues(revision: revision, values: untouched.values)
            for entry in entries { _ = copy.set(entry) }
            copied = copy
            return (copy, [], known)
        }
        var replaced: [EntryValues.Replaced] = []
        if copy.revision != revision {
            for entry in entries where entry.content.history.revision > copy.revision { replaced.append(copy.set(entry)) }
            copy.revision = revision
        }
        copied = copy
        return (copy, replaced, nil)
    }

    /// The names of the entries that have a value.
    var names: [String] {
        untouched.names + entries.compactMap { $0.content.value == nil ? nil : $0.name }
    }

    /// The number of entries in the table, including those without a value.
    var count: Int {
        untouched.count + entries.count
    }

    /// The entries that have been read, written or observed.
    var touched: [Entry] {
        entries
    }

    /// The entry of a name, if it has been read, written or observed.
    func entry(_ name: String) -> Entry? {
        indices[name].map { entries[$0] }
    }

    mutating func ensureEntry(_ name: String) -> Entry {
        entries[ensureIndex(name)]
    }

    /// The same without a lookup of the name if its index has not changed: that is a third of the time of a write.
    ///
    /// - Parameter index: the last index of the entry of that name, in any table; afterwards its present index.
    mutating func unretainedEntry(_ name: String, at index: borrowing Atomic<Int>) -> Unmanaged<Entry> {
        let last = index.load(ordering: .relaxed)
        if last < entries.count, entries[last].name == name { return .passUnretained(entries[last]) }
        let found = ensureIndex(name)
        index.store(found, ordering: .relaxed)
        return .passUnretained(entries[found])
    }

    private mutating func ensureIndex(_ name: String) -> Int {
        if let index = indices[name] { return index }
        if entries.count >= sweepThreshold { sweep() }
        let entry = Entry(name, store: store, value: untouched.remove(name))
        entries.append(entry)
        indices[name] = entries.count - 1
        onUse?(name)
        return entries.count - 1
    }

    /// Removes an entry without state that is not referenced elsewhere, and returns it, to be released outside locks.
    mutating func forgetIfVacant(_ name: String) -> Entry? {
        guard let index = indices[name], isUnreferenced(index), entries[index].isVacant else { return nil }
        let entry = entries[index]
        if copied?[name] != nil { isCopyStale = true }
        let last = entries.removeLast()
        indices[name] = nil
        if index < entries.count {
            entries[index] = last
            indices[last.name] = index
        }
        return entry
    }

    /// Takes values from the storage, where they are encoded, and removes the entries that are not referenced elsewhere and have no other
    /// state; none if there are snapshots, which have all values anyway.
    ///
    /// - Parameters:
    ///   - stored: the values of the storage, which are those of all entries without a pending edit.
    ///   - edited: the names of other entries.
    /// - Returns: what was removed, to be released outside locks.
    mutating func rebase(on stored: StoredValues, except edited: [String] = []) -> (entries: [Entry], values: StoredValues) {
        let others = edited.map { ensureEntry($0) }
        // Retained until then.
        defer { withExtendedLifetime(others) {} }
        let values = untouched
        untouched = stored
        var (kept, removed) = ([Entry](), [Entry]())
        for index in entries.indices {
            let (name, content) = (entries[index].name, entries[index].content)
            if copied == nil, isUnreferenced(index), entries[index].isIdle {
                assert(stored[name] == content.value)
                removed.append(entries[index])
            } else {
                let isStored = others.isEmpty && content.pendingRevision == 0
                if isStored ? content.value != nil : stored.contains(name) { untouched.hide(name) }
                kept.append(entries[index])
            }
        }
        if !removed.isEmpty { keep(kept) }
        return (removed, values)
    }

    // Any number of names may be used: each time the count has doubled, entries without state that are not referenced elsewhere are
    // removed, except those that Observation has tracked, which may still be observed.
    private mutating func sweep() {
        var kept: [Entry] = []
        for index in entries.indices where !isUnreferenced(index) || !entries[index].isVacant { kept.append(entries[index]) }
        keep(kept)
    }

    /// Whether only the table references an entry, so that its state is final: checked first, because a thread may just have made its first
    /// tracked read of it.
    private mutating func isUnreferenced(_ index: Int) -> Bool {
        guard isKnownUniquelyReferenced(&entries[index]) else { return false }
        // After everything that other threads did before they released it.
        atomicMemoryFence(ordering: .acquiring)
        return true
    }

    private mutating func keep(_ kept: [Entry]) {
        isCopyStale = true
        entries = kept
        indices = [:]
        for (index, entry) in entries.enumerated() { indices[entry.name] = index }
        sweepThreshold = max(64, entries.count * 2)
    }
}

extension EntryTable {
    var hasPending: Bool {
        !edited.isEmpty || !removals.isEmpty
    }

    /// The names of the values that were removed before they were known, except of those that were edited afterwards: edits inside their
    /// dictionaries are edits of all of them.
    func removed(from stored: StoredValues) -> [String] {
        if removals.isEmpty { return [] }
        for entry in edited where isRemoved(entry.name) { entry.content.setPending(entry.content.pendingRevision, paths: nil) }
        return stored.names.filter { isRemoved($0) && pending($0) == nil }
    }

    /// Whether a value is removed if it is found.
    func isRemoved(_ name: String) -> Bool {
        removals.contains { $0(name) }
    }

    /// Whether there are edits of a revision or earlier ones that are not on disk yet.
    func isPending(upTo revision: UInt64) -> Bool {
        edited.contains { $0.content.pendingRevision != 0 && $0.content.pendingRevision <= revision }
    }

    var pending: [String: PendingEdit] {
        edited.reduce(into: [:]) { $0[$1.name] = $1.content.pending }
    }

    /// The edits that a commit begins to store; see ``Entry/Content/beginCommit(isFirst:)``.
    func beginCommit(isFirst: Bool) -> [String: PendingEdit] {
        for entry in edited { entry.content.beginCommit(isFirst: isFirst) }
        return pending
    }

    /// The edit of an entry that is not on disk yet.
    func pending(_ name: String) -> PendingEdit? {
        hasPending ? entry(name)?.content.pending : nil
    }

    /// Replaces the value of an entry; see ``Entry/exchange(_:in:isEdit:type:condition:principal:paths:)``.
    mutating func exchange(
        _ entry: Entry, _ replaced: inout Entry.Replaced, in revision: UInt64, isEdit: Bool, type: ObjectIdentifier? = nil,
        condition: EntryEdits? = nil, principal: String? = nil, paths: [[String]]? = nil
    ) -> Bool {
        let wasPending = entry.content.pendingRevision != 0
        let principal = principal == entry.name ? nil : principal
        let isChanged = entry.exchange(
            &replaced, in: revision, isEdit: isEdit, type: type, condition: condition, principal: principal, paths: paths,
            isUnread: !isOpened)
        if isEdit, isChanged, !wasPending { edited.append(entry) }
        return isChanged
    }

    /// Replaces a value inside an entry's dictionary; see ``Entry/exchange(_:at:in:)``.
    mutating func exchange(
        _ entry: Entry, _ replaced: inout Entry.Replaced, at name: EntryName, in revision: UInt64
    ) throws(StorageError) -> Bool {
        let wasPending = entry.content.pendingRevision != 0
        guard try entry.exchange(&replaced, at: name, in: revision, isUnread: !isOpened) else { return false }
        if !wasPending { edited.append(entry) }
        return true
    }

    /// Removes edits that are now on disk, except those repeated meanwhile.
    ///
    /// - Parameter stored: the values that were stored; the conditions of the other edits did not hold. Nil if all were stored.
    mutating func markWritten(_ edits: [String: PendingEdit], as stored: EntryEdits? = nil) {
        for (name, edit) in edits { entry(name)?.content.markWritten(edit, isStored: stored?.keys.contains(name) ?? true) }
        edited = edited.filter { $0.content.pendingRevision != 0 }
        for entry in edited { entry.content.expect(stored ?? [:]) }
    }
}
