import Dispatch
import Synchronization

/// Suspends calls until a condition holds, which is checked on a serial queue, until a deadline or a cancellation.
///
/// The unchecked conformance holds because its state is used on the queue only. It may be released on any thread, which cancels the timer.
final class EventWaiter: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Why a call resumes.
    enum Wake {
        /// The condition held when it was checked, or all calls were resumed.
        case event
        case deadlineExceeded
        case cancelled
    }

    private let queue: DispatchQueue
    private let timer: any DispatchSourceTimer
    // The time for which the timer is set.
    private var alarm: Instant?
    // The calls by number, in the order in which they began.
    private var waiting: [UInt32: (deadline: Instant, isOver: () -> Bool, continuation: CheckedContinuation<Wake, Never>)] = [:]
    // It begins again after weeks, long after the calls that had its first numbers.
    private let lastNumber = Atomic<UInt32>(0)

    /// - Parameter queue: the serial queue on which all methods are called, if they do not say otherwise.
    init(queue: DispatchQueue) {
        self.queue = queue
        timer = DispatchSource.makeTimerSource(queue: queue)
        timer.setEventHandler { [weak self] in self?.alarmRang() }
        timer.activate()
    }

    deinit {
        timer.cancel()
    }

    var isWaiting: Bool { !waiting.isEmpty }

    /// Waits until a condition holds, for the deadline or for the cancellation of the task, on an actor whose executor is the queue.
    ///
    /// - Parameter isOver: the condition; called on the queue right before the call is suspended, and by ``wakeFinished()``.
    func waitOnQueue(
        until deadline: Instant, isolation: isolated (any Actor) = #isolation, unless isOver: @escaping () -> Bool
    ) async -> Wake {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            // The closure runs on the actor only if it captures it.
            _ = isolation
            return await withCheckedContinuation { continuation in
                if isOver() { return continuation.resume(returning: .event) }
                // The handler may have been called before the call waited.
                if Task.isCancelled { return continuation.resume(returning: .cancelled) }
                waiting[number] = (deadline, isOver, continuation)
                setAlarm(deadline)
            }
        } onCancel: {
            queue.async { self.wake(number, .cancelled) }
        }
    }

    /// Waits on any executor until a condition holds, the deadline passes or the task is cancelled; the call resumes there, without a detour
    /// over the queue, which may be busy.
    ///
    /// - Parameter isOver: the condition; called on the queue, at first and by ``wakeFinished()``.
    nonisolated(nonsending) func wait(until deadline: Instant, unless isOver: @escaping @Sendable () -> Bool) async {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        _ = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Wake, Never>) in
                queue.async {
                    if isOver() { return continuation.resume(returning: .event) }
                    self.waiting[number] = (deadline, isOver, continuation)
                    self.setAlarm(deadline)
                }
                // The handler may have been called before the call waited.
                if Task.isCancelled { queue.async { self.wake(number, .cancelled) } }
            }
        } onCancel: {
            queue.async { self.wake(number, .cancelled) }
        }
    }

    /// Resumes the calls whose condition holds.
    func wakeFinished() {
        for number in waiting.compactMap({ $1.isOver() ? $0 : nil }).sorted() { wake(number) }
    }

    /// Resumes all calls, also those whose condition does not hold.
    func wakeAll() {
        for number in waiting.keys.sorted() { wake(number) }
    }

    private func wake(_ number: UInt32, _ wake: Wake = .event) {
        waiting.removeValue(forKey: number)?.continuation.resume(returning: wake)
    }

    /// Sets the timer for a deadline, unless it is set for an earlier one: a system call for each request would cost more.
    private func setAlarm(_ instant: Instant) {
        if let alarm, alarm <= instant { return }
        alarm = instant
        // A floating-point number, because an Int of 32 bits holds only two seconds in nanoseconds.
        let seconds = max(.zero, min(instant - .now, .seconds(86_400))) / .seconds(1)
        timer.schedule(deadline: .now() + seconds, leeway: .milliseconds(1))
    }

    private func alarmRang() {
        alarm = nil
        let now = Instant.now
        for (number, waiting) in waiting where waiting.deadline <= now { wake(number, .deadlineExceeded) }
        if let next = waiting.values.map(\.deadline).min() { setAlarm(next) }
    }
}
