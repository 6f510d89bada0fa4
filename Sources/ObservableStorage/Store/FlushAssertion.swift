import Dispatch

/// Lets a process finish a task before the system suspends it, as `ProcessInfo.performExpiringActivity` does.
struct ExpiringActivity: Sendable {
    /// Requests an activity, and returns at once.
    ///
    /// The closure is called on another thread: with false if the activity is granted, which then lasts until the closure returns, and with
    /// true if it is refused, or if its time is running out.
    let perform: @Sendable (_ reason: String, _ body: @escaping @Sendable (_ isExpiring: Bool) -> Void) -> Void
}

/// The state machine of one activity.
struct FlushAssertionState: Sendable {
    private enum Phase {
        case requested
        case held
        case refused
        case ended
    }

    /// What a call of the activity's closure does.
    enum Action: Equatable {
        /// Let the flush begin, and return after it has ended.
        case hold
        /// Let the flush fail without locking the file.
        case refuse
        /// Make the flush give up waiting for the lock, and return after it has ended.
        case interrupt
        /// Return.
        case nothing
    }

    private var phase = Phase.requested

    /// Records a call of the activity's closure.
    mutating func call(isExpiring: Bool) -> Action {
        switch (phase, isExpiring) {
        case (.requested, false):
            phase = .held
            return .hold
        case (.requested, true):
            phase = .refused
            return .refuse
        case (.held, true):
            return .interrupt
        case (.held, false), (.refused, _), (.ended, _):
            return .nothing
        }
    }

    /// Records the end of the flush, after which no call has an effect.
    mutating func end() {
        phase = .ended
    }
}

/// Keeps the system from suspending the process during one flush.
///
/// The store's queue waits for the decision of the system. When the time runs out, a flush that waits for the lock gives up, and its edits
/// stay pending; a flush that has the lock finishes within the time that the system leaves.
final class FlushAssertion: Sendable {
    private let state = Lock(FlushAssertionState())
    private let interruption: Interruption
    private let decision = DispatchSemaphore(value: 0)
    private let end = DispatchGroup()

    /// Requests an activity, and returns when the system has granted or refused it; ``finish()`` ends it after the flush.
    ///
    /// - Parameter interruption: the interruption of the flush; requested while no activity is granted.
    init(_ activity: ExpiringActivity, of name: String, _ interruption: Interruption) {
        self.interruption = interruption
        end.enter()
        activity.perform("writing \(name)") { self.call(isExpiring: $0) }
        decision.wait()
    }

    private func call(isExpiring: Bool) {
        // Under the lock, so that a late call does not interrupt the next flush.
        let action = state.withLock { state in
            let action = state.call(isExpiring: isExpiring)
            switch action {
            case .hold: interruption.beginActivity()
            case .refuse, .interrupt: interruption.request(.expiration)
            case .nothing: break
            }
            return action
        }
        switch action {
        case .hold:
            decision.signal()
            end.wait()
        case .refuse:
            decision.signal()
        case .interrupt:
            // The process may be suspended as soon as this returns.
            end.wait()
        case .nothing:
            break
        }
    }

    /// Ends the activity.
    func finish() {
        state.withLock { state in
            interruption.withdraw(.expiration)
            interruption.endActivity()
            state.end()
        }
        end.leave()
    }
}

#if !canImport(Darwin) || os(macOS)
    extension ExpiringActivity {
        /// None: these systems do not suspend processes that hold locks.
        static let system: ExpiringActivity? = nil
    }
#endif
