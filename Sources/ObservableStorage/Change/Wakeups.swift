import Dispatch

/// Readers that wait and have a value now. Resuming one costs far more than handing it the value, so that a crowd of them is
/// resumed on other threads while the writer goes on.
final class Wakeups: Sendable {
    // As many as the writer resumes itself in less time than other threads would take to begin.
    private static let few = 8

    private let wakeups = Guarded<[LatestSlot.Wakeup]>([])

    /// Adds a reader. It is resumed when the delivery that gave it the value has been made.
    func add(_ wakeup: LatestSlot.Wakeup) {
        wakeups.withLock { $0.append(wakeup) }
    }

    /// Resumes those that have been added.
    func wake() {
        let wakeups = wakeups.withLock { wakeups in
            defer { if !wakeups.isEmpty { wakeups = [] } }
            return wakeups
        }
        guard wakeups.count > Self.few else { return wakeups.forEach { $0() } }
        let middle = wakeups.count / 2
        for part in [wakeups[..<middle], wakeups[middle...]] {
            DispatchQueue.global().async { part.forEach { $0() } }
        }
    }
}
