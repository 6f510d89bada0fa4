/// Determines when events are reported: immediately, or after a writer has been quiet for long enough, or busy for too long.
///
/// It has no clock: it receives the time, and returns the action.
struct Debouncer: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The action to perform now.
    enum Action: Sendable, Hashable {
        case none
        /// Call ``woke(at:)`` at that time. Only one such call is pending at a time.
        case wake(at: Instant)
        /// Report that the file may have changed.
        case report
    }

    // Events that are reported immediately, because no writer has the current file open.
    private static let immediate: PathEvents = [.closed, .replaced, .removed, .rerouted, .registered]

    private let quiet: Duration
    private let limit: Duration
    private var firstWrite: Instant?
    private var due: Instant?
    private var isWaking = false

    /// - Parameters:
    ///   - quiet: how long an open writer has to be quiet before its changes are reported.
    ///   - limit: how long an open writer that is never quiet can delay that.
    init(quiet: Duration, limit: Duration) {
        self.quiet = quiet
        self.limit = limit
    }

    /// Processes events, after adding the watches that they require.
    ///
    /// - Parameters:
    ///   - target: the state of the file at the path.
    ///   - mayDelay: whether a writer may delay a report that is due already.
    mutating func changed(_ events: PathEvents, target: TargetState, mayDelay: Bool = true, at now: Instant) -> Action {
        let news = target == .unchanged ? events.subtracting(PathEvents.reregistering) : events
        if !news.isDisjoint(with: Self.immediate) || (news.contains(.created) && target == .ready) {
            reported()
            return .report
        }
        return news.isEmpty || !mayDelay ? .none : modified(at: now)
    }

    /// Processes a modification by a writer that may modify the file further.
    mutating func modified(at now: Instant) -> Action {
        let start = firstWrite ?? now
        let due = min(now + quiet, start + limit)
        firstWrite = start
        self.due = due
        guard !isWaking else { return .none }
        isWaking = true
        return .wake(at: due)
    }

    /// Continues at the requested time.
    mutating func woke(at now: Instant) -> Action {
        isWaking = false
        guard let due else { return .none }
        guard now >= due else {
            isWaking = true
            return .wake(at: due)
        }
        reported()
        return .report
    }

    /// Records that all events so far were reported, for any reason.
    mutating func reported() {
        firstWrite = nil
        due = nil
    }
}
