/// A key in a store with its entries, so that reading looks nothing up; reading is tracked by Observation.
@usableFromInline final class TrackedKey: Sendable {
    private let key: KeyReference
    private let own: Entry
    private let anchor: ObservationAnchor
    private let fallback: ObservationAnchor?
    // Those of the entries under earlier names.
    private let earlier: [ObservationAnchor]

    init(_ key: KeyReference, in memory: Memory) {
        self.key = key
        let name = key.entryName
        own = memory.entry(name.own)
        anchor = own.anchor
        fallback = name.fallback.map { memory.entry($0).anchor }
        earlier = (name.earlier + name.earlierFallback).map { memory.entry($0).anchor }
    }

    /// The key; the caller knows its type.
    func key<Value: Sendable>(_ type: Value.Type = Value.self) -> StorageKey<Value> {
        StorageKey(unsafeDowncast(key, to: KeyDefinition<Value>.self))
    }

    /// The bits of the value, tracked, if it is a plain one and was read before; see ``PlainCell``.
    @usableFromInline var plainBits: UInt64? {
        anchor.access()
        return key.plain.bits(of: own)
    }

    /// Tracks the entries that the value may come from: inside `withObservationTracking`, the next change calls `onChange`, whoever makes it.
    fileprivate func access(isSet: () -> Bool) {
        anchor.access()
        if let fallback, !isSet() { fallback.access() }
        for anchor in earlier { anchor.access() }
    }
}

extension ObservableStore {
    /// The value of a key, tracked.
    @usableFromInline nonisolated func observed<Value: Sendable>(_ tracked: TrackedKey) -> Value {
        let key = tracked.key(Value.self)
        tracked.access { isSet(key) }
        return self[key]
    }
}
