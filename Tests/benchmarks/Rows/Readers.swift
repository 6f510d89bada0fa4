import ObservableStorage
import Synchronization

enum Readers {
    static let rows = [
        Row(
            "tell.readers", "tell 1,000 `values(of:)` readers, all delivered",
            against: "1,000 buffering `AsyncStream`s, `yield` to delivery", goal: 1, parts: 1_000
        ) { try await pair(1_000, in: $0, \.end) },
        Row("tell.writer", "the same, until the writer goes on", against: "their `yield` loop", goal: 0.25, parts: 1_000) {
            try await pair(1_000, in: $0, \.start)
        },
    ]

    typealias Times = (start: Double, end: Double)

    static func pair(_ readers: Int, in place: Place, _ part: @escaping (Times) -> Double) async throws -> Pair {
        let sample = try SampleStore(in: place)
        let (subject, tasks) = try await tell(readers, in: sample.store, part)
        let (baseline, bareTasks) = await bareTell(readers, part)
        return Pair(subject: subject, baseline: baseline) {
            for task in tasks + bareTasks { task.cancel() }
            try await sample.close()
        }
    }

    /// Writes a key with the given number of readers and waits until all have the value.
    static func tell(
        _ readers: Int, in store: ObservableStore, _ part: @escaping (Times) -> Double
    ) async throws -> (Work, [Task<Void, Never>]) {
        let arrivals = Countdown()
        var tasks: [Task<Void, Never>] = []
        _ = await arrivals.time(readers) {
            for _ in 0..<readers {
                let values = store.values(of: .launchCount)
                tasks.append(
                    Task {
                        for await value in values {
                            consume(value)
                            arrivals.arrive()
                        }
                    })
            }
        }
        var value = store[.launchCount]
        let work = Work { count in
            let time = await time(count, readers, arrivals, part) {
                value += 1
                store[.launchCount] = value
            }
            try await store.flush()
            return time
        }
        return (work, tasks)
    }

    /// The baseline: a stream for each reader that buffers the newest value, and their continuations protected by a lock.
    static func bareTell(_ readers: Int, _ part: @escaping (Times) -> Double) async -> (Work, [Task<Void, Never>]) {
        let arrivals = Countdown()
        let continuations = Mutex<[AsyncStream<Int>.Continuation]>([])
        var tasks: [Task<Void, Never>] = []
        for _ in 0..<readers {
            let (values, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
            continuations.withLock { $0.append(continuation) }
            tasks.append(
                Task {
                    for await value in values {
                        consume(value)
                        arrivals.arrive()
                    }
                })
        }
        var value = 0
        let work = Work { count in
            await time(count, readers, arrivals, part) {
                value += 1
                let current = continuations.withLock { $0 }
                for continuation in current { continuation.yield(value) }
            }
        }
        return (work, tasks)
    }

    private static func time(
        _ count: Int, _ readers: Int, _ arrivals: Countdown, _ part: (Times) -> Double, _ write: () -> Void
    ) async -> Double {
        var total = 0.0
        for _ in 0..<count {
            total += part(await arrivals.time(readers, write))
        }
        return total / Double(count)
    }
}
