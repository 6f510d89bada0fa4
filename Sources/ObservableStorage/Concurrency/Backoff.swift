package import Dispatch

/// The delay before a failed operation is retried: doubled after each failure, up to half a minute. One attempt is scheduled at a time.
package struct Backoff: Sendable {
    /// The number of failures after which the reason is reported: most malformed files are being written at that moment.
    private static let patience = 4

    private(set) var failures = 0
    private var hints = 0
    var isScheduled = false
    private let firstDelay: Int

    /// - Parameter firstDelay: the first delay, in milliseconds.
    package init(firstDelay: Int = 50) {
        self.firstDelay = firstDelay
    }

    /// Records a failure and returns the delay.
    package mutating func fail() -> DispatchTimeInterval {
        defer { failures += 1 }
        return delay(after: failures)
    }

    /// Records a failure, and that another attempt is scheduled.
    ///
    /// - Returns: the delay, and whether the failure has lasted so long that it is reported; nil if an attempt is scheduled already.
    mutating func scheduleRetry() -> (delay: DispatchTimeInterval, isLasting: Bool)? {
        if isScheduled { return nil }
        isScheduled = true
        return (fail(), failures == Self.patience)
    }

    /// Records a hint that another attempt may succeed, and returns the delay before it; nil if nothing has failed.
    ///
    /// The delays of hints increase too, until the next regular attempt, so that an attempt that causes a hint does not repeat endlessly.
    mutating func hint() -> DispatchTimeInterval? {
        guard failures > 0 else { return nil }
        defer { hints += 1 }
        return hints == 0 ? .nanoseconds(0) : delay(after: hints)
    }

    /// Records that a regular attempt begins.
    mutating func attempt() {
        hints = 0
    }

    package mutating func succeed() {
        (failures, hints) = (0, 0)
    }

    private func delay(after count: Int) -> DispatchTimeInterval {
        .milliseconds(min(firstDelay << min(count, 10), 30_000))
    }
}
