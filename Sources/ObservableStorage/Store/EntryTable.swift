import PropertyListCoding

/// The entries of a store. From when one is first written or watched, it has a slot of its own, as long as there is something to keep.
struct EntryTable: Sendable {
    // Those without a slot.
    private var untouched: [String: PropertyListValue]
    private var slots: [EntrySlot] = []
    private var places: [String: Int] = [:]
    private var freePlaces: [Int] = []
    /// The names of the entries with an edit that is not on disk yet, in the order of their first one.
    private(set) var pendingNames: [String] = []
    private var crowdSize = 64

    init(_ entries: [String: PropertyListValue]) {
        // A copy of its own, or the first write would have to make one.
        untouched = entries.mapValues { $0 }
    }

    /// The value of an entry.
    subscript(name: String) -> PropertyListValue? {
        guard let place = places[name] else { return untouched[name] }
        return slots[place].value
    }

    /// All values by name.
    var values: [String: PropertyListValue] {
        places.reduce(into: untouched) { $0[$1.key] = slots[$1.value].value }
    }

    /// The names of the entries that have a value.
    var names: [String] {
        untouched.keys + places.compactMap { slots[$1].value == nil ? nil : $0 }
    }

    /// How many entries are kept, those without a value included.
    var count: Int {
        untouched.count + places.count
    }

    /// Whether there are edits that are not on disk yet.
    var hasPending: Bool {
        !pendingNames.isEmpty
    }

    /// The edits that are not on disk yet.
    var pending: [String: PendingEdit] {
        pendingNames.reduce(into: [:]) { $0[$1] = edit(of: $1) }
    }

    /// The edit of an entry that is not on disk yet.
    func pending(_ name: String) -> PendingEdit? {
        hasPending ? edit(of: name) : nil
    }

    /// Puts another value in place; see ``EntrySlot/exchange(_:edit:revision:type:condition:principal:)``.
    ///
    /// - Parameter revision: the revision in which the value comes; that of the edit unless it is given.
    mutating func exchange(
        _ name: String, _ content: inout EntrySlot.Content, edit: UInt64, revision: UInt64? = nil, condition: MemoryState.Edits? = nil,
        principal: String? = nil
    ) -> EntrySlot.Exchange? {
        let place = madePlace(name)
        let (wasPending, isRemoval) = (slots[place].isPending, content.value == nil)
        let exchange = slots[place].exchange(
            &content, edit: edit, revision: revision ?? edit, condition: condition, principal: principal == name ? nil : principal)
        noteExchange(of: name, at: place, wasPending: wasPending, isRemoval: isRemoval)
        return exchange
    }

    /// The same without looking the name up, where the hint is right.
    ///
    /// - Parameter hint: where an entry of this name was, in any table; where this one is, afterwards.
    mutating func exchange(
        _ name: String, _ content: inout EntrySlot.Content, edit: UInt64, type: ObjectIdentifier? = nil, hint: inout EntryHint
    ) -> EntrySlot.Exchange? {
        if !slots.indices.contains(hint.place) || slots[hint.place].id != hint.id {
            let place = madePlace(name)
            hint = EntryHint(place: place, id: slots[place].madeID())
        }
        let (wasPending, isRemoval) = (slots[hint.place].isPending, content.value == nil)
        let exchange = slots[hint.place].exchange(&content, edit: edit, revision: edit, type: type)
        noteExchange(of: name, at: hint.place, wasPending: wasPending, isRemoval: isRemoval)
        return exchange
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        for (name, edit) in edits {
            guard let place = places[name] else { continue }
            slots[place].noteStored(edit)
            tidyUp(name, at: place)
        }
        pendingNames = pendingNames.filter { edit(of: $0) != nil }
    }
}

extension EntryTable {
    private func edit(of name: String) -> PendingEdit? {
        guard let place = places[name] else { return nil }
        return slots[place].pending
    }

    @inline(__always)
    private mutating func noteExchange(of name: String, at place: Int, wasPending: Bool, isRemoval: Bool) {
        if !wasPending, slots[place].isPending { pendingNames.append(name) }
        if isRemoval { tidyUp(name, at: place) }
    }

    /// Where the slot of an entry is, made if it has none.
    private mutating func madePlace(_ name: String) -> Int {
        if let place = places[name] { return place }
        let place = freePlaces.popLast() ?? slots.count
        if place == slots.count { slots.append(EntrySlot()) }
        slots[place] = EntrySlot(value: untouched.removeValue(forKey: name))
        // Empty, it still holds room for all.
        if untouched.isEmpty { untouched = [:] }
        places[name] = place
        return place
    }

    private mutating func tidyUp(_ name: String, at place: Int) {
        if slots[place].isVacant, slots[place].watch == nil { free(name, at: place) }
    }

    private mutating func free(_ name: String, at place: Int) {
        places[name] = nil
        slots[place] = EntrySlot()
        freePlaces.append(place)
    }
}

extension EntryTable {
    /// What readers of an entry hold on to, if somebody may.
    func watch(_ name: String) -> EntryWatch? {
        guard let place = places[name] else { return nil }
        return slots[place].watch
    }

    /// The same, made if there is none.
    mutating func madeWatch(_ name: String) -> EntryWatch {
        if let watch = watch(name) { return watch }
        if places.count >= crowdSize { forgetVacant() }
        let watch = EntryWatch()
        slots[madePlace(name)].watch = watch
        return watch
    }

    /// What is known of an entry's value, and what was there before; nothing of one that has not been written or watched.
    func history(_ name: String) -> EntryHistory? {
        places[name].map { slots[$0].history }
    }

    /// Notes that the value of an entry is good; see ``EntryHistory/noteGood(_:revision:)``.
    mutating func noteGood(_ name: String, _ type: ObjectIdentifier, revision: UInt64) -> EntryHistory.Earlier? {
        places[name].flatMap { slots[$0].noteGood(type, revision: revision) }
    }

    /// Notes that a value of an entry is bad; see ``EntryHistory/noteBad(revision:insteadOf:)``.
    mutating func noteBad(
        _ name: String, revision: UInt64, insteadOf good: PropertyListValue?
    ) -> (isNew: Bool, unneeded: EntryHistory.Earlier?) {
        slots[madePlace(name)].noteBad(revision: revision, insteadOf: good)
    }

    /// What readers of all entries hold on to.
    var watches: [EntryWatch] {
        slots.compactMap(\.watch)
    }

    // Names may be made without end: whenever there are twice as many, those go that have no value and that nobody holds.
    private mutating func forgetVacant() {
        for (name, place) in places where slots[place].isVacant {
            if !slots[place].isWatched { free(name, at: place) }
        }
        crowdSize = max(64, places.count * 2)
    }
}
