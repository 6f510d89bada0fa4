/// When the property list is rewritten that lacks edits of its journal: after a quiet time, and at the latest some time after the first.
/// Times are in nanoseconds.
struct CheckpointSchedule: Sendable {
    /// What has to be done when the time has come.
    enum Step: Sendable, Equatable {
        case wait(until: UInt64)
        case checkpoint
    }

    private var waiting: (first: UInt64, last: UInt64, quiet: UInt64, atMost: UInt64)?
    // The next time at which it is asked what to do.
    private var next: UInt64 = .max

    /// Notes edits that the list lacks.
    ///
    /// - Parameters:
    ///   - options: how long no others may follow, and the longest delay.
    ///   - factor: how many times as long to wait for them.
    /// - Returns: the time at which to call ``reached(_:)``; nil if it is called before that anyway.
    mutating func note(at now: UInt64, _ options: JournalOptions, times factor: UInt64 = 1) -> UInt64? {
        func nanoseconds(_ duration: Duration) -> UInt64 {
            let (product, isTooLong) = UInt64(clamping: duration.wholeNanoseconds).multipliedReportingOverflow(by: factor)
            return isTooLong ? .max : product
        }
        let (quiet, atMost) = (nanoseconds(options.quiet), nanoseconds(options.atMost))
        // Those of this store are not delayed by later ones of others.
        waiting = (waiting?.first ?? now, now, min(waiting?.quiet ?? .max, quiet), min(waiting?.atMost ?? .max, atMost))
        guard due < next else { return nil }
        next = due
        return due
    }

    private var due: UInt64 {
        guard let waiting else { return .max }
        return min(waiting.last.advanced(by: waiting.quiet), waiting.first.advanced(by: waiting.atMost))
    }

    /// Decides what to do at a time; nil if there is nothing to do.
    mutating func reached(_ now: UInt64) -> Step? {
        next = .max
        guard waiting != nil else { return nil }
        if now < due {
            next = due
            return .wait(until: due)
        }
        waiting = nil
        return .checkpoint
    }
}

extension UInt64 {
    fileprivate func advanced(by nanoseconds: UInt64) -> UInt64 {
        let (sum, isTooLate) = addingReportingOverflow(nanoseconds)
        return isTooLate ? .max : sum
    }
}
