import PropertyListCoding

/// A change as it is stored, before a key gives it a type.
struct StoredChange: Sendable {
    let key: String
    let old: StoredEntry
    let new: StoredEntry
    /// What was there before the old value.
    let earlier: EntryHistory.Earlier?
    /// What was inherited before the old inherited value.
    var earlierInherited: EntryHistory.Earlier?
    /// Whether what changed is stored no more.
    let isRemoval: Bool
    let origin: ChangeOrigin
    let revision: UInt64
    /// How often the entry that the new value is stored in has changed since somebody has read it, this change included.
    let changes: UInt64
}

extension StoredChange {
    /// The same change for those who inherit a value that may have changed with it.
    func inheriting(
        from old: PropertyListValue?, to new: PropertyListValue?, earlier: EntryHistory.Earlier?, registered: PropertyListValue?
    ) -> StoredChange {
        StoredChange(
            key: key, old: StoredEntry(stored: self.old.stored, inherited: old, registered: registered),
            new: StoredEntry(stored: self.new.stored, inherited: new, registered: registered), earlier: self.earlier,
            earlierInherited: earlier, isRemoval: isRemoval, origin: origin, revision: revision, changes: changes)
    }

    /// The change as an entry sees it that has no value of its own and inherits this one.
    func inherited(by name: String) -> StoredChange {
        StoredChange(
            key: name, old: StoredEntry(stored: nil, inherited: old.stored, registered: old.registered),
            new: StoredEntry(stored: nil, inherited: new.stored, registered: new.registered), earlier: nil,
            earlierInherited: earlier, isRemoval: isRemoval, origin: origin, revision: revision, changes: changes)
    }

    /// The change as a key sees it.
    func typed<Value>(for key: StorageKey<Value>) -> Change<Value> {
        let decode = { (stored: PropertyListValue) throws(StorageError) in try key.decoded(stored) }
        return typed(for: key, decodingOld: decode, decodingNew: decode).change
    }

    /// The change as a key sees it; what is wrong with the new value, and the earlier one that counts in its place, if that is one.
    ///
    /// - Parameters:
    ///   - decodeOld: called before the other one: what was decoded last is the old value, if anything.
    ///   - decodeNew: called after it, so that what was decoded last is the new value.
    func typed<Value>(
        for key: StorageKey<Value>, decodingOld decodeOld: (PropertyListValue) throws(StorageError) -> Value,
        decodingNew decodeNew: (PropertyListValue) throws(StorageError) -> Value
    ) -> (change: Change<Value>, failure: StorageError?, good: PropertyListValue?) {
        let earlierValues = { (self.earlier?.values ?? [], self.earlierInherited?.values ?? []) }
        let before = key.value(of: old, decodeOld, orLastOf: earlierValues)
        let after = key.value(of: new, decodeNew, orLastOf: earlierValues)
        // A bad value in place of a good one leaves readers what they had.
        let value = after.failure == nil || isRemoval ? after.value : before.value
        let kind = isRemoval ? ChangeKind.removed : after.failure.map(ChangeKind.undecodable) ?? .set
        let change = Change(
            key: self.key, oldValue: before.value, newValue: value, kind: kind, origin: origin, revision: revision)
        let good = before.failure == nil ? (new.stored == nil ? old.inherited : old.stored) : before.good
        return (change, after.failure, after.failure == nil ? nil : good)
    }
}
