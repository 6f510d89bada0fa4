import PropertyListCoding

/// An edit that is in memory only.
struct PendingEdit: Sendable {
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// What has to be stored still when the edit is written, for one that was made of it; nothing for what a user set.
    let condition: MemoryState.Edits
    /// The entry whose edit this one is a part of, if it is that of another one: an earlier name that is given up.
    var principal: String?
    /// Tells the edit from an earlier one of the same entry.
    let revision: UInt64

    /// Whether another edit is taken back with this one: a key that was called otherwise and is set gives up its old entry, both or neither.
    func takes(along other: PendingEdit, of key: String, _ otherKey: String) -> Bool {
        other.revision == revision || other.principal == key || principal == otherKey
    }

    /// Whether the edit counts, given what is stored.
    func counts(over entries: StorageEntries) -> Bool {
        condition.allSatisfy { entries[$0.key] == $0.value }
    }
}
