package import Dispatch

/// The delay before a failed operation is retried: doubled after each failure, up to half a minute.
package struct Backoff: Sendable {
    /// The number of consecutive failures.
    private(set) var failures = 0
    private var hints = 0
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

    /// Records a success.
    package mutating func succeed() {
        self = Backoff(firstDelay: firstDelay)
    }

    private func delay(after count: Int) -> DispatchTimeInterval {
        .milliseconds(min(firstDelay << min(count, 10), 30_000))
    }
}
