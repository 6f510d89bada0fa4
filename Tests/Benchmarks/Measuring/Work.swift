/// A piece of work that is done over and over and timed.
struct Work {
    /// Does it so many times, and returns how many nanoseconds one of them took.
    let run: (_ count: Int) async throws -> Double

    init(_ run: @escaping (_ count: Int) async throws -> Double) {
        self.run = run
    }

    /// The same, with what it leaves to be done later done before anything else is timed: other threads delete files, and look at others again,
    /// up to 50 ms after them.
    var settled: Work {
        Work { count in
            let time = try await run(count)
            try await Task.sleep(for: .milliseconds(60))
            return time
        }
    }

    /// Work that is too short to be timed one by one: the closure does it so many times in a loop of its own.
    static func loop(_ body: @escaping (_ count: Int) throws -> Void) -> Work {
        Work { count in try Clock.time { try body(count) } / Double(count) }
    }

    /// Work that is timed one by one; what it returns is released after the clock has stopped.
    static func each<Result>(_ body: @escaping () throws -> Result) -> Work {
        Work { count in
            var total = 0.0
            for _ in 0..<count {
                var result: Result?
                total += try Clock.time { result = try body() }
                consume(result)
            }
            return total / Double(count)
        }
    }
}
