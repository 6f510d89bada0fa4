import Dispatch

/// The clock that everything is timed by; all processes share it.
enum Clock {
    /// Nanoseconds since the machine started.
    static var now: UInt64 {
        DispatchTime.now().uptimeNanoseconds
    }

    /// How many nanoseconds a piece of work takes.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = now
        try body()
        return Double(now - start)
    }
}
