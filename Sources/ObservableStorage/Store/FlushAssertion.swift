import Dispatch

/// The system's way to let a process finish what it has begun before it is suspended, such as `ProcessInfo.performExpiringActivity`.
struct ExpiringActivity: Sendable {
    /// Requests an activity, and returns at once.
    ///
    /// The closure is called on another thread: with false if the activity is granted, which then lasts until the closure returns, and with
    /// true if it is refused, or if its time is running out.
    let perform: @Sendable (_ reason: String, _ body: @escaping @Sendable (_ isExpiring: Bool) -> Void) -> Void
}

/// The course of one activity, as a value.
struct FlushAssertionState: Sendable {
    private enum Phase {
        case requested
        case held
        case refused
        case ended
    }

    /// What a call of the activity's closure has to do.
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

/// Keeps the system from suspending the process while one flush is under way: one for each flush, and never for each call.
///
/// The store's queue waits until the system has decided. After the time has run out, a flush that waits for the lock gives up, and its edits
/// stay pending; one that has the lock finishes, which takes less time than the system leaves.
final class FlushAssertion: Sendable {
    private let state = Lock(FlushAssertionState())
    private let interruption: Interruption
    private let decision = DispatchSemaphore(value: 0)
    private let end = DispatchGroup()

    /// Requests an activity, and returns when the system has granted or refused it; ``finish()`` ends it after the flush.
    ///
    /// - Parameter interruption: the one that covers the flush; requested while no activity is granted.
    init(_ activity: ExpiringActivity, of name: String, _ interruption: Interruption) {
        self.interruption = interruption
        end.enter()
        activity.perform("writing \(name)") { self.call(isExpiring: $0) }
        decision.wait()
    }

    private func call(isExpiring: Bool) {
        // The interruption changes with the state, so that one that comes after the end of the flush has no effect on the next flush.
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
