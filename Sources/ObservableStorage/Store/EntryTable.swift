import PropertyListCoding

/// The entries of a store, each in a slot of its own that it keeps for as long as there is something to keep.
struct EntryTable: Sendable {
    // Nothing in those that are free.
    private var slots: [EntrySlot?]
    private var places: [String: Int]
    private var freePlaces: [Int] = []
    /// The names of the entries with an edit that is not on disk yet, in the order of their first one.
    private(set) var pendingNames: [String] = []
    private var crowdSize = 64

    init(_ entries: [String: PropertyListValue]) {
        slots = entries.map { EntrySlot($0, value: $1) }
        places = [:]
        places.reserveCapacity(slots.count)
        for (place, name) in entries.keys.enumerated() { places[name] = place }
    }

    /// The value of an entry.
    subscript(name: String) -> PropertyListValue? {
        guard let place = places[name] else { return nil }
        return slots[place]?.value
    }

    /// All values by name.
    var values: [String: PropertyListValue] {
        places.compactMapValues { slots[$0]?.value }
    }

    /// The names of the entries that have a value.
    var names: [String] {
        slots.compactMap { $0?.value == nil ? nil : $0?.name }
    }

    /// How many entries are kept, those without a value included.
    var count: Int {
        places.count
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

    /// Puts another value in place; see ``EntrySlot/exchange(_:edit:condition:)``.
    ///
    /// - Parameter hint: where the entry may be, which saves looking its name up; where it is, afterwards.
    mutating func exchange(
        _ name: String, _ value: PropertyListValue?, edit: UInt64, condition: MemoryState.Edits? = nil, hint: inout Int
    ) -> EntrySlot.Exchange? {
        guard let place = place(of: name, hint: hint) ?? (value == nil ? nil : makeSlot(name)) else { return nil }
        hint = place
        let isRemoval = value == nil
        let exchange = slots[place]?.exchange(value, edit: edit, condition: condition)
        if edit != 0, exchange?.wasPending == false { pendingNames.append(name) }
        if isRemoval { tidyUp(place) }
        return exchange
    }

    /// Forgets edits that are on disk now, but for those made anew meanwhile.
    mutating func noteStored(_ edits: [String: PendingEdit]) {
        for (name, edit) in edits {
            guard let place = places[name] else { continue }
            slots[place]?.noteStored(edit)
            tidyUp(place)
        }
        pendingNames = pendingNames.filter { edit(of: $0) != nil }
    }
}

extension EntryTable {
    private func edit(of name: String) -> PendingEdit? {
        guard let place = places[name] else { return nil }
        return slots[place]?.pending
    }

    @inline(__always)
    private func place(of name: String, hint: Int) -> Int? {
        if hint >= 0, hint < slots.count, slots[hint]?.name == name { return hint }
        return places[name]
    }

    private mutating func makeSlot(_ name: String) -> Int {
        let place = freePlaces.popLast() ?? slots.count
        if place == slots.count { slots.append(nil) }
        slots[place] = EntrySlot(name)
        places[name] = place
        return place
    }

    private mutating func tidyUp(_ place: Int) {
        if let slot = slots[place], slot.isVacant, slot.watch == nil { free(place) }
    }

    private mutating func free(_ place: Int) {
        if let name = slots[place].take()?.name { places[name] = nil }
        freePlaces.append(place)
    }
}

extension EntryTable {
    /// What readers of an entry hold on to, if somebody may.
    func watch(_ name: String) -> EntryWatch? {
        guard let place = places[name] else { return nil }
        return slots[place]?.watch
    }

    /// The same, made if there is none.
    mutating func madeWatch(_ name: String) -> EntryWatch {
        if let watch = watch(name) { return watch }
        if count >= crowdSize { forgetVacant() }
        let watch = EntryWatch()
        slots[places[name] ?? makeSlot(name)]?.watch = watch
        return watch
    }

    // Names may be made without end: whenever there are twice as many, those go that have no value and that nobody holds.
    private mutating func forgetVacant() {
        for place in slots.indices where slots[place]?.isVacant == true {
            if slots[place]?.isWatched == false { free(place) }
        }
        crowdSize = max(64, count * 2)
    }
}
