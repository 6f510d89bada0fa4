import Dispatch

/// When the edits in memory are written next: one attempt at most is on its way, queued or at a set time.
struct FlushSchedule: Sendable {
    private enum Attempt {
        case none
        /// On the store's queue.
        case queued
        /// Tells the attempt from an earlier one, which is void.
        case timed(number: UInt64, time: DispatchTime)
    }

    private var next = Attempt.none
    private var lastNumber: UInt64 = 0

    /// Queues an attempt; false if there is one, which takes all edits with it.
    mutating func enqueue() -> Bool {
        guard case .none = next else { return false }
        next = .queued
        return true
    }

    /// Notes that the queued attempt begins.
    mutating func beginQueued() {
        if case .queued = next { next = .none }
    }

    /// Sets a time for an attempt and returns its number; nil if one is queued, or comes earlier.
    mutating func schedule(at time: DispatchTime) -> UInt64? {
        switch next {
        case .queued: return nil
        case .timed(_, let earlier) where earlier <= time: return nil
        case .none, .timed: break
        }
        lastNumber += 1
        next = .timed(number: lastNumber, time: time)
        return lastNumber
    }

    /// Notes that an attempt begins whose time has come; false if it is void.
    mutating func begin(_ number: UInt64) -> Bool {
        guard case .timed(number, _) = next else { return false }
        next = .none
        return true
    }

    /// Makes the timed attempt void: writing has just succeeded, and what is edited from now on need not wait for it.
    mutating func cancelTimed() {
        if case .timed = next { next = .none }
    }
}
