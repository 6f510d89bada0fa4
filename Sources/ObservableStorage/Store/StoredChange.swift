import PropertyListCoding

/// A change as it is stored, before a key gives it a type.
struct StoredChange: Sendable {
    let key: String
    let old: StoredEntry
    let new: StoredEntry
    /// Whether what changed is stored no more.
    let isRemoval: Bool
    let origin: ChangeOrigin
    let revision: UInt64
}

extension StoredChange {
    /// The same change for those who inherit a value that may have changed with it.
    func inheriting(from old: PropertyListValue?, to new: PropertyListValue?, registered: PropertyListValue?) -> StoredChange {
        StoredChange(
            key: key, old: StoredEntry(stored: self.old.stored, inherited: old, registered: registered),
            new: StoredEntry(stored: self.new.stored, inherited: new, registered: registered), isRemoval: isRemoval, origin: origin,
            revision: revision)
    }

    /// The change as an entry sees it that has no value of its own and inherits this one.
    func inherited(by name: String) -> StoredChange {
        StoredChange(
            key: name, old: StoredEntry(stored: nil, inherited: old.stored, registered: old.registered),
            new: StoredEntry(stored: nil, inherited: new.stored, registered: new.registered), isRemoval: isRemoval, origin: origin,
            revision: revision)
    }

    /// The change as a key sees it.
    func typed<Value>(for key: StorageKey<Value>) -> Change<Value> {
        let value: Value
        let kind: ChangeKind
        do {
            value = try key.value(of: new)
            kind = isRemoval ? .removed : .set
        } catch {
            value = key.valueOrDefault(of: new)
            kind = isRemoval ? .removed : .undecodable(error)
        }
        return Change(key: self.key, oldValue: key.valueOrDefault(of: old), newValue: value, kind: kind, origin: origin, revision: revision)
    }
}
