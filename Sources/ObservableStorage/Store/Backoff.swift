import Dispatch

/// How long to wait before something that failed is tried again: twice as long each time, up to half a minute.
struct Backoff: Sendable {
    /// How often it has failed in a row.
    private(set) var failures = 0

    /// Notes a failure and returns the time to wait.
    mutating func fail() -> DispatchTimeInterval {
        defer { failures += 1 }
        return .milliseconds(min(50 << min(failures, 10), 30_000))
    }

    /// Notes a success.
    mutating func succeed() {
        failures = 0
    }
}
