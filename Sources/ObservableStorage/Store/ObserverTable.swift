import PropertyListCoding

/// Who observes which entries of a store.
///
/// An observer of an entry that inherits is told about its own entry, and about the inherited one while its own has no value.
struct ObserverTable: Sendable {
    typealias Observers = ChangePublisher<StoredChange>

    private var plain: [String: Observers] = [:]
    // Under the own name and under the inherited one.
    private var heirs: [String: [EntryName: Observers]] = [:]

    /// The observers of a name, if there are any.
    subscript(name: EntryName) -> Observers? {
        get { name.inherited == nil ? plain[name.own] : heirs[name.own]?[name] }
        set {
            guard let inherited = name.inherited else { return plain[name.own] = newValue }
            for side in [name.own, inherited] {
                heirs[side, default: [:]][name] = newValue
                if heirs[side]?.isEmpty == true { heirs[side] = nil }
            }
        }
    }

    /// All observers.
    var all: [Observers] {
        plain.values + heirs.flatMap { name, heirs in heirs.filter { $0.key.own == name }.values }
    }

    /// Queues changes that have been made to a state.
    func post(_ changes: [StoredChange], muting muted: UInt64, state: MemoryState) {
        for change in changes { plain[change.key]?.post(change, muting: muted) }
        guard !heirs.isEmpty else { return }
        for change in changes {
            for (name, observers) in heirs[change.key] ?? [:] {
                guard let seen = Self.change(change, of: changes, asSeenBy: name, state: state) else { continue }
                observers.post(seen, muting: muted)
            }
        }
    }

    private static func change(
        _ change: StoredChange, of changes: [StoredChange], asSeenBy name: EntryName, state: MemoryState
    ) -> StoredChange? {
        let now = state.entry(name)
        if change.key == name.own {
            let inherited = changes.first { $0.key == name.inherited }
            let old = inherited.map(\.old.stored) ?? now.inherited
            return change.inheriting(from: old, to: now.inherited, registered: now.registered)
        }
        // A value of its own hides the inherited one; one that came or went in the same step is told instead.
        guard now.stored == nil, !changes.contains(where: { $0.key == name.own }) else { return nil }
        return change.inherited(by: name.own)
    }
}
