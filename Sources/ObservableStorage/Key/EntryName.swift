/// What a key's value is stored under, and what it is taken from while nothing is stored there.
struct EntryName: Sendable, Hashable {
    /// The entry that the key reads and writes.
    let own: String
    /// The entry whose value counts while the own one has none.
    var inherited: String?

    /// The entry that values are registered for.
    var root: String {
        inherited ?? own
    }
}
