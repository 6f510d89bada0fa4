import Dispatch

/// The schedule of attempts to write pending edits: at most one is queued or timed, and none while the store is suspended.
struct FlushSchedule: Sendable {
    private enum Queue: Sendable {
        case idle
        // On the store's queue.
        case queued
        case suspended
    }

    private var queue = Queue.idle
    // Whether a suspension is lifted temporarily.
    private var isLifted = false
    // The number distinguishes the attempt from cancelled ones.
    private var timed: (number: UInt64, time: DispatchTime)?
    private var lastNumber: UInt64 = 0

    /// Queues an attempt; returns false if one is scheduled already, which will write all edits.
    mutating func enqueue() -> Bool {
        if queue != .idle || timed != nil { return false }
        queue = .queued
        return true
    }

    /// Records that the queued attempt begins; returns false if the schedule was suspended meanwhile.
    mutating func beginQueued() -> Bool {
        if isSuspended { return false }
        queue = .idle
        return true
    }

    /// Schedules an attempt and returns its number; nil if one is queued, or scheduled for an earlier time, or the schedule is suspended.
    mutating func schedule(at time: DispatchTime) -> UInt64? {
        if queue != .idle { return nil }
        if let timed, timed.time <= time { return nil }
        lastNumber += 1
        timed = (lastNumber, time)
        return lastNumber
    }

    /// Records that a timed attempt begins; returns false if it was cancelled.
    mutating func begin(_ number: UInt64) -> Bool {
        guard timed?.number == number else { return false }
        timed = nil
        return true
    }

    /// Cancels the timed attempt: a write has just succeeded, so later edits need not wait for it.
    mutating func cancelTimed() {
        timed = nil
    }

    /// Whether no attempt is scheduled, and none begins, until ``resume()``.
    var isSuspended: Bool { queue == .suspended }

    /// Cancels every attempt, and schedules no other one.
    mutating func suspend() {
        (queue, timed) = (.suspended, nil)
    }

    /// Allows attempts again; returns false if the schedule was not suspended. The caller enqueues one if there are edits.
    mutating func resume() -> Bool {
        guard isSuspended || isLifted else { return false }
        isLifted = false
        if isSuspended { queue = .idle }
        return true
    }

    /// Allows attempts until ``restoreSuspension()``, if the schedule is suspended.
    mutating func liftSuspension() {
        guard isSuspended else { return }
        (queue, isLifted) = (.idle, true)
    }

    /// Suspends the schedule again if its suspension was lifted, and not ended by ``resume()`` since; returns whether it does.
    mutating func restoreSuspension() -> Bool {
        guard isLifted else { return false }
        isLifted = false
        suspend()
        return true
    }
}
