import Dispatch

/// The clock for all measurements, shared by all processes.
enum Clock {
    /// Nanoseconds since the machine started.
    static var now: UInt64 {
        DispatchTime.now().uptimeNanoseconds
    }

    /// The duration of an operation in nanoseconds.
    static func time(_ body: () throws -> Void) rethrows -> Double {
        let start = now
        try body()
        return Double(now - start)
    }
}
