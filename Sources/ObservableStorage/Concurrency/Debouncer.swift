/// Determines when modifications are processed that may be followed by more: after a quiet time, or after a limit if it is never quiet.
///
/// It has no clock: it receives the time, and returns the action.
struct Debouncer: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Action: Sendable, Hashable {
        case none
        /// Call ``woke(at:)`` at that time.
        case wake(at: Instant)
        /// Process the modifications so far.
        case process
    }

    private let quiet: Duration
    private let limit: Duration
    private var pending: (first: Instant, last: Instant, factor: Int)?
    // The time of the earliest requested call.
    private var wake: Instant?

    /// - Parameters:
    ///   - quiet: the time without a modification after which the ones before are processed.
    ///   - limit: the time after the first modification at which they are processed in any case.
    init(quiet: Duration, limit: Duration) {
        (self.quiet, self.limit) = (quiet, limit)
    }

    private var due: Instant? {
        pending.map { min($0.last + quiet * $0.factor, $0.first + limit * $0.factor) }
    }

    /// Records a modification.
    ///
    /// - Parameter factor: multiplies both times, unless an earlier pending modification has a smaller factor.
    mutating func modified(at now: Instant, factor: Int = 1) -> Action {
        pending = (pending?.first ?? now, now, min(pending?.factor ?? factor, factor))
        guard let due else { return .none }
        if let wake, wake <= due { return .none }
        wake = due
        return .wake(at: due)
    }

    /// Continues at the requested time.
    mutating func woke(at now: Instant) -> Action {
        wake = nil
        guard let due else { return .none }
        guard now >= due else {
            wake = due
            return .wake(at: due)
        }
        processed()
        return .process
    }

    /// Records that all modifications so far were processed, for any reason.
    mutating func processed() {
        pending = nil
    }
}
