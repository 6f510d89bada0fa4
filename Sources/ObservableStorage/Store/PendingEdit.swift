import PropertyListCoding

/// An edit that is in memory only.
struct PendingEdit: Sendable {
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// What has to be stored still when the edit is written, for one that was made of it; nothing for what a user set.
    let condition: MemoryState.Edits
    /// Tells the edit from an earlier one of the same entry.
    let revision: UInt64

    /// Whether the edit counts, given what is stored.
    func counts(over entries: StorageEntries) -> Bool {
        condition.allSatisfy { entries[$0.key] == $0.value }
    }
}
