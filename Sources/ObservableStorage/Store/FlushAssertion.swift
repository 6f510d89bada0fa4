import Dispatch

/// Requests that the system lets the process finish a task before it is suspended, as `ProcessInfo.performExpiringActivity` does, and
/// returns at once.
///
/// The closure is called on another thread: with false if the activity is granted, which then lasts until the closure returns, and with
/// true if it is refused, or if its time is running out.
typealias ExpiringActivity = @Sendable (_ reason: String, _ body: @escaping @Sendable (_ isExpiring: Bool) -> Void) -> Void

/// Keeps the system from suspending the process during one flush.
///
/// The store's queue waits for the decision of the system. When the time runs out, a flush that waits for the lock gives up, and its edits
/// stay pending; a flush that has the lock finishes within the time that the system leaves.
final class FlushAssertion: Sendable {
    private enum Phase {
        case requested, held, refused, ended
    }

    private let phase = Lock(Phase.requested)
    private let interruption: Interruption
    private let decision = DispatchSemaphore(value: 0)
    private let end = DispatchGroup()

    /// Requests an activity, and returns when the system has granted or refused it; ``finish()`` ends it after the flush.
    ///
    /// - Parameter interruption: the interruption of the flush; requested while no activity is granted.
    init(_ activity: ExpiringActivity, of name: String, _ interruption: Interruption) {
        self.interruption = interruption
        end.enter()
        activity("writing \(name)") { self.call(isExpiring: $0) }
        decision.wait()
    }

    private func call(isExpiring: Bool) {
        // Under the lock, so that a late call does not interrupt the next flush.
        let (isDecision, waits) = phase.withLock { phase in
            switch (phase, isExpiring) {
            case (.requested, false):
                phase = .held
                interruption.request(.activity)
                return (true, true)
            case (.requested, true):
                phase = .refused
                interruption.request(.expiration)
                return (true, false)
            case (.held, true):
                // The flush gives up waiting for the lock.
                interruption.request(.expiration)
                return (false, true)
            case (.held, false), (.refused, _), (.ended, _): return (false, false)
            }
        }
        if isDecision { decision.signal() }
        // The process may be suspended as soon as this returns.
        if waits { end.wait() }
    }

    /// Ends the activity; later calls of its closure have no effect.
    func finish() {
        phase.withLock { phase in
            interruption.withdraw([.expiration, .activity])
            phase = .ended
        }
        end.leave()
    }
}

#if !canImport(Darwin) || os(macOS)
    extension FlushAssertion {
        /// None: these systems do not suspend processes that hold locks.
        static let system: ExpiringActivity? = nil
    }
#endif
