import PropertyListCoding

/// One entry in memory: its value, the edit that is not on disk yet, and what its readers hold on to.
struct EntrySlot: Sendable {
    /// What goes into an entry, and then what came out: swapped, since copies took half of the time of a write.
    struct Content {
        var value: PropertyListValue?
        /// What had been there before the value that came out, for those who cannot decode it.
        var earlier: EntryHistory.Earlier?
    }

    /// What putting another value in place has done.
    struct Exchange {
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
    // The entry whose edit this one is a part of, if it is that of another one.
    private var principal: String?
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
        pendingRevision == 0
            ? nil
            : PendingEdit(
                value: value, condition: condition ?? [:], principal: principal, revision: pendingRevision)
    }

    /// Whether there is an edit that is not on disk yet.
    var isPending: Bool {
        pendingRevision != 0
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
    ///   - content: the value, nil for none; what was there, afterwards.
    ///   - edit: the revision of the edit, if it is still to be written, or 0.
    ///   - revision: the revision in which the value comes.
    ///   - type: what a key that needs no code of the user's sets it as.
    ///   - condition: what has to be stored still when it is written.
    ///   - principal: the entry whose edit this one is a part of, if it is that of another one.
    mutating func exchange(
        _ content: inout Content, edit: UInt64, revision: UInt64, type: ObjectIdentifier? = nil, condition: MemoryState.Edits? = nil,
        principal: String? = nil
    ) -> Exchange? {
        guard value != content.value else {
            // Set anew, what was made of another value is a value of its own.
            if edit != 0, condition == nil, pendingRevision != 0 { self.condition = nil }
            return nil
        }
        let (changes, isTracked) = watch?.noteChange() ?? (0, false)
        swap(&value, &content.value)
        content.earlier = history.earlier
        history.replaced(content.value, isRemoval: value == nil, isEdit: edit != 0, type: type, revision: revision)
        if edit != 0 {
            pendingRevision = edit
            if condition != nil || self.condition != nil { self.condition = condition }
            if principal != nil || self.principal != nil { self.principal = principal }
        }
        return Exchange(isTracked: isTracked, changes: changes)
    }

    /// Notes that the value is good; see ``EntryHistory/noteGood(_:revision:)``.
    mutating func noteGood(_ type: ObjectIdentifier, revision: UInt64) -> EntryHistory.Earlier? {
        history.noteGood(type, revision: revision)
    }

    /// Notes that the value, or one that was there before, is bad; see ``EntryHistory/noteBad(revision:insteadOf:)``.
    mutating func noteBad(revision: UInt64, insteadOf good: PropertyListValue?) -> (isNew: Bool, unneeded: EntryHistory.Earlier?) {
        history.noteBad(revision: revision, insteadOf: good)
    }

    /// Forgets an edit that is on disk now, unless the entry has been edited anew.
    mutating func noteStored(_ edit: PendingEdit) {
        guard pendingRevision == edit.revision else { return }
        (pendingRevision, condition, principal) = (0, nil, nil)
    }
}
