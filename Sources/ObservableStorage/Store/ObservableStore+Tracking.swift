/// What Observation tracks of a key: its own entry, and the one it inherits from while that counts.
struct TrackedKey: Sendable {
    let own: EntryWatch
    let inherited: EntryWatch?

    /// The bits of a key's value, tracked, if it is a plain one and was read before.
    func bits(_ key: AnyKeyBody) -> UInt64? {
        own.access()
        return key.plain.bits(watch: own.id, changes: own.changes)
    }
}

extension ObservableStore {
    /// What readers of a key hold on to.
    nonisolated func watches<Value>(of key: StorageKey<Value>) -> TrackedKey {
        TrackedKey(own: memory.watch(key.name), inherited: key.shared.map { memory.watch($0.name) })
    }

    private nonisolated func accessEarlier(_ name: EntryName) {
        for earlier in name.earlier + name.earlierInherited { memory.watch(earlier).access() }
    }

    /// The value of a key, tracked: inside `withObservationTracking`, its next change calls `onChange`, whoever makes it.
    nonisolated func observed<Value>(_ key: StorageKey<Value>, by watches: TrackedKey) -> Value {
        watches.own.access()
        if let inherited = watches.inherited, !isSet(key) { inherited.access() }
        if key.body.entryName.hasEarlier { accessEarlier(key.body.entryName) }
        return self[key]
    }
}
