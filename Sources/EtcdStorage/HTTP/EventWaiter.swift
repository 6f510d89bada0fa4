import Dispatch

/// Lets one call at a time wait for an event on a serial queue, until a deadline at the latest.
///
/// The unchecked conformance holds because its state is used on the queue only. It may be released on any thread, which cancels the timer.
final class EventWaiter: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Why a call continues.
    enum Wake {
        /// An event came, but perhaps not the one that the call needs.
        case event
        case deadlineExceeded
        case cancelled
    }

    private let queue: DispatchQueue
    private let timer: any DispatchSourceTimer
    // The time for which the timer is set.
    private var alarm: Instant?
    private var waiting: (number: Int, deadline: Instant, continuation: CheckedContinuation<Wake, Never>)?
    private var lastNumber = 0
    // Whether an event came while no call waited: perhaps after a call had looked for it, and before it waits.
    private var isEventPending = false

    /// - Parameter queue: the serial queue on which everything else is called.
    init(queue: DispatchQueue) {
        self.queue = queue
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.alarmRang() }
        timer.activate()
    }

    deinit {
        timer.cancel()
    }

    /// Whether a call waits.
    var isWaiting: Bool { waiting != nil }

    /// Waits for an event after the last one that was waited for, the deadline or the cancellation of the task, on an actor whose executor is the queue.
    func wait(until deadline: Instant, isolation: isolated (any Actor) = #isolation) async -> Wake {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            // A closure runs on the actor only if it captures it.
            _ = isolation
            return await withCheckedContinuation { continuation in
                waiting = (number, deadline, continuation)
                // A cancellation that came before found nobody who waits.
                if Task.isCancelled { wake(.cancelled) } else if isEventPending { wake() } else { setAlarm(deadline) }
            }
        } onCancel: {
            queue.async {
                if self.waiting?.number == number { self.wake(.cancelled) }
            }
        }
    }

    /// Lets the call continue that waits; an event is kept for the next call if none does.
    func wake(_ wake: Wake = .event) {
        isEventPending = waiting == nil
        let continuation = waiting?.continuation
        waiting = nil
        continuation?.resume(returning: wake)
    }

    /// Sets the timer for a time, unless it is set for an earlier one: moving it would cost a call of the system with each request.
    private func setAlarm(_ instant: Instant) {
        if let alarm, alarm <= instant { return }
        alarm = instant
        let (seconds, attoseconds) = max(.zero, min(instant - .now, .seconds(86_400))).components
        let nanoseconds = Int(seconds) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
        timer.schedule(deadline: .now() + .nanoseconds(nanoseconds), leeway: .milliseconds(1))
    }

    private func alarmRang() {
        alarm = nil
        guard let deadline = waiting?.deadline else { return }
        if deadline <= .now { wake(.deadlineExceeded) } else { setAlarm(deadline) }
    }
}
