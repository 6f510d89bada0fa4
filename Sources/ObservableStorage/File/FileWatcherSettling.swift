/// Decides when an open writer has been quiet for long enough, or busy for too long.
///
/// It knows no clock: it is told the time, and answers what to do.
struct FileWatcherSettling: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What to do now.
    enum Action: Sendable, Hashable {
        case nothing
        /// Call ``woke(at:)`` at that time; only one such call is ever outstanding.
        case wake(at: Instant)
        case look
    }

    private let quiet: Duration
    private let limit: Duration
    private var firstWrite: Instant?
    private var due: Instant?
    private var isWaking = false

    init(quiet: Duration, limit: Duration) {
        self.quiet = quiet
        self.limit = limit
    }

    /// A writer wrote.
    mutating func wrote(at now: Instant) -> Action {
        let start = firstWrite ?? now
        let due = min(now + quiet, start + limit)
        firstWrite = start
        self.due = due
        guard !isWaking else { return .nothing }
        isWaking = true
        return .wake(at: due)
    }

    /// The time that was asked for has come.
    mutating func woke(at now: Instant) -> Action {
        isWaking = false
        guard let due else { return .nothing }
        guard now >= due else {
            isWaking = true
            return .wake(at: due)
        }
        looked()
        return .look
    }

    /// Everything written so far is being looked at, for whatever reason.
    mutating func looked() {
        firstWrite = nil
        due = nil
    }
}
