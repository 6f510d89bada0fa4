import Synchronization

/// Where the entry of a key was last written, for the next time.
struct EntryPlace: ~Copyable, Sendable {
    // Read one after the other, they may be of two writes: then the slot at that place has another number.
    private let place = Atomic(EntryHint().place)
    private let id = Atomic(EntryHint().id)

    var hint: EntryHint {
        get { EntryHint(place: place.load(ordering: .relaxed), id: id.load(ordering: .relaxed)) }
        nonmutating set {
            guard newValue != hint else { return }
            place.store(newValue.place, ordering: .relaxed)
            id.store(newValue.id, ordering: .relaxed)
        }
    }
}
