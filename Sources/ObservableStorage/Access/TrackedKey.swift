import Foundation

/// A key in a store with its entries, so that using it looks nothing up; reading is tracked by Observation.
@usableFromInline final class TrackedKey<Value: Sendable>: Sendable {
    let key: StorageKey<Value>
    private let own: Entry
    private let anchor: ObservationAnchor
    // Those of the entries that may count in place of the key's own: earlier names, the fallback.
    private let others: [ObservationAnchor]
    private let fallback: ObservationAnchor?

    init(_ key: StorageKey<Value>, in memory: Memory) {
        self.key = key
        let name = key.definition.entryName
        own = memory.entry(of: key.definition)
        anchor = own.anchor
        others = (name.earlier + name.earlierFallback).map { memory.entry($0).anchor }
        fallback = name.fallback.map { memory.entry($0).anchor }
    }

    /// What was last read, tracked, if it still holds.
    @usableFromInline var reading: Reading? {
        anchor.access()
        guard fallback == nil, others.isEmpty else { return nil }
        return own.reading(of: key.definition.id)
    }

    /// Tracks the entries that the value may come from: inside `withObservationTracking`, the next change calls `onChange`, whoever makes it.
    func access(isSet: () -> Bool) {
        anchor.access()
        if let fallback, !isSet() { fallback.access() }
        for other in others { other.access() }
    }
}

extension ObservableStore {
    /// The value of a key, tracked.
    @usableFromInline nonisolated func observed<Value>(_ tracked: TrackedKey<Value>) -> Value {
        tracked.access { isSet(tracked.key) }
        return self[tracked.key]
    }
}
