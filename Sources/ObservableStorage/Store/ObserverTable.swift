import PropertyListCoding

/// Who observes which entries of a store.
///
/// An observer of an entry that inherits is told about its own entry, and about the inherited one while its own has no value.
struct ObserverTable: Sendable {
    // One for each key that the entry is observed with, hardly ever more than one.
    private typealias Group = [any AnyKeyObservers]

    private var plain: [String: Group] = [:]
    // Under the own name and under the inherited one.
    private var heirs: [String: [EntryName: Group]] = [:]

    /// Whether nobody observes anything.
    var isEmpty: Bool {
        plain.isEmpty && heirs.isEmpty
    }

    /// The observers of an entry with a key, made if there are none yet.
    mutating func observers<Value>(of key: StorageKey<Value>, _ make: () -> KeyObservers<Value>) -> KeyObservers<Value> {
        let identifier = ObjectIdentifier(key.body)
        var all = self[key.body.entryName]
        if let known = all.first(where: { $0.identifier == identifier }) as? KeyObservers<Value> { return known }
        let made = make()
        all.append(made)
        self[key.body.entryName] = all
        return made
    }

    /// Forgets the observers of an entry with a key if there are none any more.
    mutating func forgetIdle(_ name: EntryName, _ identifier: ObjectIdentifier) {
        var group = self[name]
        guard let index = group.firstIndex(where: { $0.identifier == identifier }), group[index].isIdle else { return }
        group.remove(at: index)
        self[name] = group
    }

    /// Queues the end of every observation, and forgets them all.
    mutating func finish(to deliveries: inout Deliveries) {
        for group in plain.values {
            for observers in group { observers.postFinish(to: &deliveries) }
        }
        for (side, groups) in heirs {
            for (name, group) in groups where name.own == side {
                for observers in group { observers.postFinish(to: &deliveries) }
            }
        }
        self = ObserverTable()
    }

    private subscript(name: EntryName) -> Group {
        get { (name.inherited == nil ? plain[name.own] : heirs[name.own]?[name]) ?? [] }
        set {
            let group = newValue.isEmpty ? nil : newValue
            guard let inherited = name.inherited else { return plain[name.own] = group }
            for side in [name.own, inherited] {
                heirs[side, default: [:]][name] = group
                if heirs[side]?.isEmpty == true { heirs[side] = nil }
            }
        }
    }
}

extension ObserverTable {
    /// Queues changes that have been made to a state.
    func post(_ changes: [StoredChange], muting muted: UInt64, state: MemoryState, to deliveries: inout Deliveries) {
        for change in changes {
            guard let group = plain[change.key] else { continue }
            for observers in group { observers.post(change, muting: muted, to: &deliveries) }
        }
        guard !heirs.isEmpty else { return }
        for change in changes {
            for (name, group) in heirs[change.key] ?? [:] {
                guard let seen = Self.change(change, of: changes, asSeenBy: name, state: state) else { continue }
                for observers in group { observers.post(seen, muting: muted, to: &deliveries) }
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
            let earlier = name.inherited.flatMap(state.earlier)
            return change.inheriting(from: old, to: now.inherited, earlier: earlier, registered: now.registered)
        }
        // A value of its own hides the inherited one; one that came or went in the same step is told instead.
        guard now.stored == nil, !changes.contains(where: { $0.key == name.own }) else { return nil }
        return change.inherited(by: name.own)
    }
}
