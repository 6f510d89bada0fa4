import Dispatch

/// How long to wait before something that failed is tried again: twice as long each time, up to half a minute.
struct Backoff: Sendable {
    /// How often it has failed in a row.
    private(set) var failures = 0
    private var hints = 0

    /// Notes a failure and returns the time to wait.
    mutating func fail() -> DispatchTimeInterval {
        defer { failures += 1 }
        return Self.delay(after: failures)
    }

    /// Notes a sign that another attempt might succeed, and returns the time until it; nil if nothing has failed.
    ///
    /// Signs count anew after each attempt whose time had come: an attempt that gives such a sign itself does not go on without end.
    mutating func hint() -> DispatchTimeInterval? {
        guard failures > 0 else { return nil }
        defer { hints += 1 }
        return hints == 0 ? .nanoseconds(0) : Self.delay(after: hints)
    }

    /// Notes that the time for an attempt has come.
    mutating func attempt() {
        hints = 0
    }

    /// Notes a success.
    mutating func succeed() {
        self = Backoff()
    }

    private static func delay(after count: Int) -> DispatchTimeInterval {
        .milliseconds(min(50 << min(count, 10), 30_000))
    }
}
