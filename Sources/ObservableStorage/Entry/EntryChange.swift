import PropertyListCoding

/// The origin of a change.
public enum ChangeOrigin: Sendable, Hashable {
    /// This store.
    case local
    /// Another process, or another store on the same file. Also this store, for a change that is read from the history of the storage.
    case external
    /// A migration of stored entries.
    case migration
}

/// A change of stored values, before it is converted to a key's type. An object, because several closures retain it: copying the values took a
/// fifth of telling one reader (asyncstream.one).
final class EntryChange: Sendable {
    let key: String
    let old: StoredEntry
    let new: StoredEntry
    private let givenEarlier: EarlierValues?
    /// The values before the new ones, if they do not follow from the old ones, as after a change of layers.
    let earlierThanNew: EarlierValues?
    /// The values of the entry before the old one; nil if there are none, or the change is not one of an entry.
    let history: Box<EntryHistory>?
    /// Whether the changed value is no longer stored.
    let isRemoval: Bool
    let origin: ChangeOrigin
    let revision: UInt64
    /// The revision of the storage that has the new value; nil for an edit that is not written yet, and if the storage has no revisions.
    let storageRevision: StorageRevision?
    /// The changed entry, which may be the fallback.
    let entry: Entry
    /// The version of the entry with this change; see ``Entry/version``.
    let version: UInt64

    /// - Parameter earlier: the values before the old ones; nil if they are those of the entry's history.
    init(
        key: String, old: StoredEntry, new: StoredEntry, earlier: EarlierValues?, earlierThanNew: EarlierValues? = nil,
        history: Box<EntryHistory>? = nil, isRemoval: Bool, origin: ChangeOrigin, revision: UInt64, storageRevision: StorageRevision? = nil,
        entry: Entry, version: UInt64
    ) {
        (self.key, self.old, self.new, givenEarlier, self.earlierThanNew) = (key, old, new, earlier, earlierThanNew)
        (self.history, self.isRemoval, self.origin, self.revision) = (history, isRemoval, origin, revision)
        (self.storageRevision, self.entry, self.version) = (storageRevision, entry, version)
    }

    /// The values before the old ones, found when a value cannot be decoded.
    var earlier: EarlierValues {
        givenEarlier ?? EarlierValues(stored: history?.value.earlier(EntryName(own: key)) ?? [])
    }

    /// The entry, if the value of a key comes from it, and not from one under an earlier name.
    func entry(of value: StoredEntry, _ name: EntryName) -> Entry? {
        if name.hasEarlier { return nil }
        switch value.source {
        case .mandatory, .stored: return entry.name == name.own ? entry : nil
        case .fallback: return entry.name == name.fallback ? entry : nil
        case .override, .registered, nil: return nil
        }
    }
}

/// The changes of one step, which are found by key in constant time however many they are.
struct ChangesByKey {
    let changes: [EntryChange]
    private lazy var indexed = Dictionary(grouping: changes) { $0.key }

    init(_ changes: [EntryChange]) {
        self.changes = changes
    }

    subscript(key: String) -> [EntryChange] {
        mutating get { changes.count < 8 ? changes.filter { $0.key == key } : indexed[key] ?? [] }
    }
}

/// The observers of an entry through one key, of any type.
protocol EntryObservers: AnyObject, Sendable {
    /// Identifies the key; see ``KeyReference/id``.
    var key: UInt64 { get }
    var name: EntryName { get }
    /// Whether the key reads the entry of its name, all of it, and no other one.
    var readsOneEntry: Bool { get }
    var isIdle: Bool { get }
    /// Queues a change. Called while the store's lock is held.
    func post(_ change: EntryChange, muting muted: UInt64, to deliveries: inout Deliveries)
    func postFinish(to deliveries: inout Deliveries)
}
