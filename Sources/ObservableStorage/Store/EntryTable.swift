import PropertyListCoding

/// The entries of a store, each found with one look-up.
struct EntryTable: Sendable {
    private var slots: [String: EntrySlot]
    /// The names of the entries with an edit that is not on disk yet, in the order of their first one.
    private(set) var pendingNames: [String] = []
    private var crowdSize = 64

    init(_ entries: [String: PropertyListValue]) {
        slots = entries.mapValues { EntrySlot(value: $0) }
    }

    /// The value of an entry.
    subscript(name: String) -> PropertyListValue? {
        slots[name]?.value
    }

    /// All values by name.
    var values: [String: PropertyListValue] {
        slots.compactMapValues(\.value)
    }

    /// The names of the entries that have a value.
    var names: [String] {
        slots.compactMap { $1.value == nil ? nil : $0 }
    }

    /// How many entries are kept, those without a value included.
    var count: Int {
        slots.count
    }

    /// Whether there are edits that are not on disk yet.
    var hasPending: Bool {
        !pendingNames.isEmpty
    }

    /// The edits that are not on disk yet.
    var pending: [String: PendingEdit] {
        pendingNames.reduce(into: [:]) { $0[$1] = slots[$1]?.pending }
    }

    /// The edit of an entry that is not on disk yet.
    func pending(_ name: String) -> PendingEdit? {
        hasPending ? slots[name]?.pending : nil
    }

    /// Puts another value in place; see ``EntrySlot/exchange(_:edit:condition:)``.
    mutating func exchange(
        _ name: String, _ value: PropertyListValue?, edit: UInt64, condition: MemoryState.Edits? = nil
    ) -> EntrySlot.Exchange? {
        let isRemoval = value == nil
        let exchange = slots[name, default: EntrySlot()].exchange(value, edit: edit, condition: condition)
        if edit != 0, exchange?.wasPending == false { pendingNames.append(name) }
        if isRemoval { tidyUp(name) }
        return exchange
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        for (name, edit) in edits {
            slots[name]?.noteStored(edit)
            tidyUp(name)
        }
        pendingNames.removeAll { slots[$0]?.pending == nil }
    }

    private mutating func tidyUp(_ name: String) {
        if let slot = slots[name], slot.isVacant, slot.watch == nil { slots[name] = nil }
    }
}

extension EntryTable {
    /// What readers of an entry hold on to, if somebody may.
    func watch(_ name: String) -> EntryWatch? {
        slots[name]?.watch
    }

    /// The same, made if there is none.
    mutating func madeWatch(_ name: String) -> EntryWatch {
        if let watch = slots[name]?.watch { return watch }
        if slots.count >= crowdSize { forgetVacant() }
        let watch = EntryWatch()
        slots[name, default: EntrySlot()].watch = watch
        return watch
    }

    // Names may be made without end: whenever there are twice as many, those go that have no value and that nobody holds.
    private mutating func forgetVacant() {
        for name in slots.compactMap({ $1.isVacant ? $0 : nil }) {
            if isKnownUniquelyReferenced(&slots[name, default: EntrySlot()].watch) { slots[name] = nil }
        }
        crowdSize = max(64, slots.count * 2)
    }
}
