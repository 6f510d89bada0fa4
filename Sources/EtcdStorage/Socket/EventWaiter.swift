import Dispatch
import Synchronization

/// Suspends calls on a serial queue until an event, a deadline or a cancellation.
///
/// The unchecked conformance holds because its state is used on the queue only. It may be released on any thread, which cancels the timer.
final class EventWaiter: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Why a call resumes.
    enum Wake {
        /// The event may have occurred.
        case event
        case deadlineExceeded
        case cancelled
    }

    private struct Waiting {
        let number: UInt32
        let deadline: Instant
        let isOver: () -> Bool
        let continuation: CheckedContinuation<Wake, Never>
    }

    private let queue: DispatchQueue
    private let timer: any DispatchSourceTimer
    // The time for which the timer is set.
    private var alarm: Instant?
    private var waiting: [UInt32: Waiting] = [:]
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

    /// Waits for an event, the deadline or the cancellation of the task, on an actor whose executor is the queue. Only one call at a time
    /// may wait for an event.
    ///
    /// - Parameters:
    ///   - id: identifies the event for ``wake(_:_:)``.
    ///   - deadline: when the wait times out.
    ///   - isOver: whether there is no need to wait; called on the queue right before the call is suspended, and by ``wakeFinished()``.
    func wait(
        for id: UInt32, until deadline: Instant, isolation: isolated (any Actor) = #isolation, unless isOver: @escaping () -> Bool
    ) async -> Wake {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        return await withTaskCancellationHandler {
            // The closure runs on the actor only if it captures it.
            _ = isolation
            return await withCheckedContinuation { continuation in
                if isOver() { return continuation.resume(returning: .event) }
                // The handler may have been called before the call waited.
                if Task.isCancelled { return continuation.resume(returning: .cancelled) }
                waiting[id] = Waiting(number: number, deadline: deadline, isOver: isOver, continuation: continuation)
                setAlarm(deadline)
            }
        } onCancel: {
            queue.async {
                if self.waiting[id]?.number == number { self.wake(id, .cancelled) }
            }
        }
    }

    /// Waits on any executor until a condition holds, the deadline passes or the task is cancelled; the call resumes there, without a detour
    /// over the queue, which may be busy. Not in one waiter with calls that wait for an event.
    ///
    /// - Parameter isOver: the condition; called on the queue, at first and by ``wakeFinished()``.
    nonisolated(nonsending) func wait(until deadline: Instant, unless isOver: @escaping @Sendable () -> Bool) async {
        let number = lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
        _ = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Wake, Never>) in
                queue.async {
                    if isOver() { return continuation.resume(returning: .event) }
                    self.waiting[number] = Waiting(number: number, deadline: deadline, isOver: isOver, continuation: continuation)
                    self.setAlarm(deadline)
                }
                // The handler may have been called before the call waited.
                if Task.isCancelled { queue.async { self.wake(number, .cancelled) } }
            }
        } onCancel: {
            queue.async { self.wake(number, .cancelled) }
        }
    }

    /// Resumes the call that waits for an event, if there is one.
    func wake(_ id: UInt32, _ wake: Wake = .event) {
        waiting.removeValue(forKey: id)?.continuation.resume(returning: wake)
    }

    /// Resumes the calls that need not wait any more.
    func wakeFinished() {
        for (id, waiting) in waiting where waiting.isOver() { wake(id) }
    }

    func wakeAll() {
        for id in waiting.keys.sorted() { wake(id) }
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
        for (id, waiting) in waiting where waiting.deadline <= now { wake(id, .deadlineExceeded) }
        if let next = waiting.values.map(\.deadline).min() { setAlarm(next) }
    }
}
