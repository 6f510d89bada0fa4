import PropertyListCoding
import Synchronization

/// What readers of one entry of one store hold on to: a count of its changes, and what Observation tracks.
final class EntryWatch: Sendable {
    /// Tells this watch from every other one that the process ever had, also of the same entry.
    let id = UniqueNumber.next()
    private let count = Atomic<UInt64>(0)
    private let isTracked = Atomic(false)
    private let tracked = KeySignal()
    private let kept = Guarded(Decoded())

    /// How often the entry has changed. What was read with this count is current for as long as the count stays the same.
    var changes: UInt64 {
        count.load(ordering: .sequentiallyConsistent)
    }

    /// What Observation tracks, if anybody ever read the entry so.
    var signal: KeySignal? {
        isTracked.load(ordering: .sequentiallyConsistent) ? tracked : nil
    }

    /// Counts a change. Called where the order of changes is decided.
    ///
    /// - Returns: how many there have been now, and whether Observation tracks the entry.
    @discardableResult
    func noteChange() -> (changes: UInt64, isTracked: Bool) {
        let changes = count.add(1, ordering: .sequentiallyConsistent).newValue
        return (changes, isTracked.load(ordering: .sequentiallyConsistent))
    }

    /// Tells Observation that the entry is read. Comes before the reading, so that no change falls between the two.
    func access() {
        if !isTracked.load(ordering: .relaxed) { isTracked.store(true, ordering: .sequentiallyConsistent) }
        tracked.access()
    }
}

// What was decoded belongs to the entry, so that it goes with the entry and its store, however long the keys live that it was read with.
extension EntryWatch {
    /// What was decoded of the entry.
    fileprivate struct Decoded: Sendable {
        // One for each codec.
        var values: [(codec: UInt64, stored: PropertyListValue, value: AnyBox)] = []
        // Those of the keys that have read the entry.
        var caches: [ReadingCache] = []
        var crowdSize = 4
    }

    // More are hardly ever in use at once.
    private static let mostValues = 4

    /// The value that a codec decoded last; holds its type.
    func decoded(by codec: UInt64) -> (stored: PropertyListValue, value: AnyBox)? {
        kept.withLock { kept in
            kept.values.first { $0.codec == codec }.map { ($0.stored, $0.value) }
        }
    }

    /// Keeps a value in place of the one that the codec decoded before, unless the entry has changed since.
    func keep(_ value: AnyBox, of stored: PropertyListValue, by codec: UInt64, at changes: UInt64) {
        kept.take { kept in
            let before = kept.values
            guard self.changes == changes else { return before }
            kept.values.removeAll { $0.codec == codec }
            if kept.values.count == Self.mostValues { kept.values.removeFirst() }
            kept.values.append((codec, stored, value))
            return before
        }
    }

    /// Knows a cache from now on that holds what was decoded of the entry.
    func add(_ cache: ReadingCache) {
        kept.withLock { kept in
            guard !kept.caches.contains(where: { $0 === cache }) else { return }
            if kept.caches.count >= kept.crowdSize {
                // Keys may be made without end: those go whose key has gone, which has emptied them.
                kept.caches = kept.caches.filter { $0.reading != nil }
                kept.crowdSize = max(4, kept.caches.count * 2)
            }
            kept.caches.append(cache)
        }
    }

    /// Lets go of everything that was decoded. Not to be called under a lock: releasing may run code of the user's.
    func letGo() {
        let decoded = kept.take { kept in
            defer { kept = Decoded() }
            return kept
        }
        for cache in decoded.caches { cache.empty() }
    }
}
