import Synchronization

/// What readers of one entry of one store hold on to: a count of its changes, and what Observation tracks.
final class EntryWatch: Sendable {
    /// Tells this watch from every other one that the process ever had, also of the same entry.
    let id = UniqueNumber.next()
    private let count = Atomic<UInt64>(0)
    private let isTracked = Atomic(false)
    private let tracked = KeySignal()

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
    /// - Returns: whether Observation tracks the entry.
    @discardableResult
    func noteChange() -> Bool {
        count.add(1, ordering: .sequentiallyConsistent)
        return isTracked.load(ordering: .sequentiallyConsistent)
    }

    /// Tells Observation that the entry is read. Comes before the reading, so that no change falls between the two.
    func access() {
        if !isTracked.load(ordering: .relaxed) { isTracked.store(true, ordering: .sequentiallyConsistent) }
        tracked.access()
    }
}
