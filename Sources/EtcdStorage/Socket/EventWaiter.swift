import Dispatch

/// Lets calls wait for events on a serial queue, each until its deadline at the latest.
///
/// The unchecked conformance holds because its state is used on the queue only. It may be released on any thread, which cancels the timer.
final class EventWaiter: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Why a call continues.
    enum Wake {
        /// What it waits for may have come.
        case event
        case deadlineExceeded
        case cancelled
    }

    private struct Waiting {
        let number: Int
        let deadline: Instant
        let continuation: CheckedContinuation<Wake, Never>
    }

    private let queue: DispatchQueue
    private let timer: any DispatchSourceTimer
    // The time for which the timer is set.
    private var alarm: Instant?
    private var waiting: [UInt32: Waiting] = [:]
    private var lastNumber = 0

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

    /// Waits until somebody wakes those who wait for something, the deadline or the cancellation of the task, on an actor whose executor is
    /// the queue. One call at a time may wait for the same.
    ///
    /// - Parameter isOver: whether there is no need to wait; called on the queue right before the call waits.
    func wait(
        for id: UInt32, until deadline: Instant, isolation: isolated (any Actor) = #isolation, unless isOver: () -> Bool
    ) async -> Wake {
        lastNumber += 1
        let number = lastNumber
        return await withTaskCancellationHandler {
            // A closure runs on the actor only if it captures it.
            _ = isolation
            return await withCheckedContinuation { continuation in
                if isOver() { return continuation.resume(returning: .event) }
                // A cancellation that came before found nobody who waits.
                if Task.isCancelled { return continuation.resume(returning: .cancelled) }
                waiting[id] = Waiting(number: number, deadline: deadline, continuation: continuation)
                setAlarm(deadline)
            }
        } onCancel: {
            queue.async {
                if self.waiting[id]?.number == number { self.wake(id, .cancelled) }
            }
        }
    }

    /// Lets the call continue that waits for something, if there is one.
    func wake(_ id: UInt32, _ wake: Wake = .event) {
        waiting.removeValue(forKey: id)?.continuation.resume(returning: wake)
    }

    /// Lets all calls continue that wait.
    func wakeAll() {
        for id in waiting.keys.sorted() { wake(id) }
    }

    /// Sets the timer for a time, unless it is set for an earlier one: moving it would cost a call of the system with each request.
    private func setAlarm(_ instant: Instant) {
        if let alarm, alarm <= instant { return }
        alarm = instant
        // As a floating-point number: an Int may have 32 bits, which are two seconds in nanoseconds.
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
