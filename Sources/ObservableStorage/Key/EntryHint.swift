/// Where an entry stood in some store's table, and the number of the slot there, which no other slot ever has.
struct EntryHint: Sendable, Hashable {
    var place = 0
    /// At first the number of no slot.
    var id: UInt64 = .max
}
