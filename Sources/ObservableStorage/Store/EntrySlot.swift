import PropertyListCoding

/// One entry in memory: its value, the edit that is not on disk yet, and what its readers hold on to.
struct EntrySlot: Sendable {
    /// What was in an entry before another value.
    struct Exchange {
        let old: PropertyListValue?
        /// What had been there before that, for those who cannot decode it.
        let earlier: EntryHistory.Earlier
        /// Whether an edit of the entry was to be written already.
        let wasPending: Bool
        /// Whether Observation tracks the entry.
        let isTracked: Bool
        /// How often the entry has changed, this change included; 0 where nobody counts.
        let changes: UInt64
    }

    private(set) var value: PropertyListValue?
    private(set) var history = EntryHistory()
    /// What readers hold on to, once somebody has read the entry.
    var watch: EntryWatch?
    /// Tells the edit that is not on disk yet from an earlier one; 0 if there is none.
    private(set) var pendingRevision: UInt64 = 0
    // Nothing for what a user set.
    private var condition: MemoryState.Edits?
    /// Tells this slot from every other one that the process ever had, once somebody has a hint that leads to it; 0 until then.
    private(set) var id: UInt64 = 0

    init(value: PropertyListValue? = nil) {
        self.value = value
    }

    /// Makes the slot known to those who have a hint.
    mutating func madeID() -> UInt64 {
        if id == 0 { id = UniqueNumber.next() }
        return id
    }

    /// The edit that is not on disk yet.
    var pending: PendingEdit? {
        pendingRevision == 0 ? nil : PendingEdit(value: value, condition: condition ?? [:], revision: pendingRevision)
    }

    /// Whether there is nothing to keep but perhaps what readers hold on to.
    var isVacant: Bool {
        value == nil && pendingRevision == 0
    }

    /// Whether a reader holds on to something.
    var isWatched: Bool {
        mutating get { watch != nil && !isKnownUniquelyReferenced(&watch) }
    }

    /// Puts another value in place; nothing if it is the same.
    ///
    /// - Parameters:
    ///   - new: the value, nil for none.
    ///   - edit: the revision of the edit, if it is still to be written, or 0.
    ///   - revision: the revision in which the value comes.
    ///   - condition: what has to be stored still when it is written.
    mutating func exchange(
        _ new: PropertyListValue?, edit: UInt64, revision: UInt64, condition: MemoryState.Edits? = nil
    ) -> Exchange? {
        guard value != new else {
            // Set anew, what was made of another value is a value of its own.
            if edit != 0, condition == nil, pendingRevision != 0 { self.condition = nil }
            return nil
        }
        let (changes, isTracked) = watch?.noteChange() ?? (0, false)
        let exchange = Exchange(
            old: value.take(), earlier: history.earlier, wasPending: pendingRevision != 0, isTracked: isTracked, changes: changes)
        history.replaced(exchange.old, isRemoval: new == nil, isEdit: edit != 0, revision: revision)
        value = new
        if edit != 0 {
            pendingRevision = edit
            if condition != nil || self.condition != nil { self.condition = condition }
        }
        return exchange
    }

    /// Notes that the value is good; see ``EntryHistory/noteGood(_:revision:)``.
    mutating func noteGood(_ type: ObjectIdentifier, revision: UInt64) -> EntryHistory.Earlier {
        history.noteGood(type, revision: revision)
    }

    /// Notes that the value, or one that was there before, is bad; see ``EntryHistory/noteBad(hash:)``.
    mutating func noteBad(hash: Int) -> Bool {
        history.noteBad(hash: hash)
    }

    /// Forgets an edit that is on disk now, unless the entry has been edited anew.
    mutating func noteStored(_ edit: PendingEdit) {
        guard pendingRevision == edit.revision else { return }
        (pendingRevision, condition) = (0, nil)
    }
}
