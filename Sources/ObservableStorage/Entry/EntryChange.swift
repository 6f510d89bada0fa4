import PropertyListCoding

/// Who changed a value.
public enum ChangeOrigin: Sendable, Hashable {
    /// This store.
    case local
    /// Another process, or another store on the same file.
    case external
    /// A migration of what was stored before.
    case migration
}

/// A change as it is stored, before a key gives it a type.
struct EntryChange: Sendable {
    let key: String
    let old: StoredEntry
    let new: StoredEntry
    /// What was there before the old value.
    let earlier: [PropertyListValue]
    /// What the fallback was before its old value.
    var earlierFallback: [PropertyListValue] = []
    /// Whether what changed is stored no more.
    let isRemoval: Bool
    let origin: ChangeOrigin
    let revision: UInt64
    /// The entry that has changed, which may be the fallback.
    let entry: Entry
    /// Its version with this change; see ``Entry/version``.
    let version: UInt64

    /// The entry, if it is the one that the value of a key comes from.
    func entry(of value: StoredEntry, _ name: EntryName) -> Entry? {
        let source = value.stored != nil ? name.own : (value.fallback != nil ? name.fallback : nil)
        return entry.name == source ? entry : nil
    }

    /// The same change for those whose fallback may have changed with it.
    func with(
        fallback: (old: PropertyListValue?, new: PropertyListValue?), earlier: [PropertyListValue], registered: PropertyListValue?
    ) -> EntryChange {
        EntryChange(
            key: key, old: StoredEntry(stored: old.stored, fallback: fallback.old, registered: registered),
            new: StoredEntry(stored: new.stored, fallback: fallback.new, registered: registered), earlier: self.earlier,
            earlierFallback: earlier, isRemoval: isRemoval, origin: origin, revision: revision, entry: entry, version: version)
    }

    /// The change as an entry sees it that has no value of its own and falls back to this one.
    func asFallback(of name: String) -> EntryChange {
        EntryChange(
            key: name, old: StoredEntry(stored: nil, fallback: old.stored, registered: old.registered),
            new: StoredEntry(stored: nil, fallback: new.stored, registered: new.registered), earlier: [], earlierFallback: earlier,
            isRemoval: isRemoval, origin: origin, revision: revision, entry: entry, version: version)
    }
}

/// Those who observe an entry with one key, whatever its type.
protocol EntryObservers: AnyObject, Sendable {
    /// The number of the key; see ``KeyReference/id``.
    var key: UInt64 { get }
    /// The names of the key's entries.
    var name: EntryName { get }
    var isIdle: Bool { get }
    /// Queues a change. Called while the store's lock is held.
    func post(_ change: EntryChange, muting muted: UInt64, to deliveries: inout Deliveries)
    /// Queues the end of the observation.
    func postFinish(to deliveries: inout Deliveries)
}
