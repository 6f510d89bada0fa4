import Dispatch

/// The schedule of attempts to write pending edits: at most one is queued or timed, and none while the store is suspended.
struct FlushSchedule: Sendable {
    // Whether an attempt is on the store's queue.
    private var isQueued = false
    // The number distinguishes the attempt from cancelled ones.
    private var timed: (number: UInt64, time: DispatchTime)?
    private var lastNumber: UInt64 = 0
    private var isRequested = false
    /// Whether attempts are made although a suspension was requested: the store is being closed.
    var isLifted = false

    /// Whether no attempt is scheduled, and none begins, until ``resume()``.
    var isSuspended: Bool { isRequested && !isLifted }

    /// Queues an attempt; returns false if one is scheduled already, which will write all edits.
    mutating func enqueue() -> Bool {
        if isSuspended || isQueued || timed != nil { return false }
        isQueued = true
        return true
    }

    /// Records that the queued attempt begins; returns false if the schedule was suspended meanwhile.
    mutating func beginQueued() -> Bool {
        isQueued = false
        return !isSuspended
    }

    /// Schedules an attempt and returns its number; nil if one is queued, or scheduled for an earlier time, or the schedule is suspended.
    mutating func schedule(at time: DispatchTime) -> UInt64? {
        if isSuspended || isQueued { return nil }
        if let timed, timed.time <= time { return nil }
        lastNumber += 1
        timed = (lastNumber, time)
        return lastNumber
    }

    /// Records that a timed attempt begins; returns false if it was cancelled, or the schedule is suspended.
    mutating func begin(_ number: UInt64) -> Bool {
        guard timed?.number == number else { return false }
        timed = nil
        return !isSuspended
    }

    /// Cancels the timed attempt: a write has just succeeded, so later edits need not wait for it.
    mutating func cancelTimed() {
        timed = nil
    }

    mutating func suspend() {
        (isRequested, isLifted) = (true, false)
    }

    /// Allows attempts again; returns false if the schedule was not suspended. The caller enqueues one if there are edits.
    mutating func resume() -> Bool {
        guard isRequested else { return false }
        (isRequested, timed) = (false, nil)
        return true
    }
}
