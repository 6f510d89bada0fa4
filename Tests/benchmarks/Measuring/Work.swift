import Dispatch
import Foundation

/// An operation that is repeated and measured.
struct Work {
    /// Runs it the given number of times, and returns the nanoseconds of one run.
    let run: (_ count: Int) async throws -> Double

    init(_ run: @escaping (_ count: Int) async throws -> Double) {
        self.run = run
    }

    /// The same, with its deferred work done before anything else is measured: other threads delete files, and check others again,
    /// up to 50 ms later.
    var settled: Work {
        Work { count in
            let time = try await run(count)
            try await Task.sleep(for: .milliseconds(60))
            return time
        }
    }

    /// An operation that is too short to be measured individually: the closure repeats it in its own loop.
    static func loop(_ body: @escaping (_ count: Int) throws -> Void) -> Work {
        Work { count in try Clock.time { try body(count) } / Double(count) }
    }

    /// An operation that is measured individually; its result is released after the clock has stopped.
    static func each<Result>(_ body: @escaping () throws -> Result) -> Work {
        Work { count in
            var total = 0.0
            joinFreedMemory()
            for _ in 0..<count {
                var result: Result?
                total += try Clock.time { result = try body() }
                consume(result)
            }
            return total / Double(count)
        }
    }
}

/// Joins the small blocks of memory that were freed.
///
/// The GNU C library does that when a large block is next allocated, so that one side takes the time for what the other one has freed: 42 % of
/// the library's time in peers.libplist.binary.parse.mixed.1000000.
private func joinFreedMemory() {
    let block = malloc(1 << 16)
    consume(block)
    free(block)
}

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

/// Prevents the optimizer from removing the computation of a value.
@inline(never)
@_optimize(none)
func consume<Value>(_ value: borrowing Value) {}
