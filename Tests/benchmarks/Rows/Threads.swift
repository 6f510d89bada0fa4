import Foundation
import ObservableStorage
import Synchronization

/// How much threads that use one store delay each other.
enum Threads {
    static let reading = Row("read.threads", "two threads reading different keys", against: "one thread reading", goal: 1.5) { place in
        try await pair(2, in: place) { store, key, _ in consume(store[key]) }
    }

    static let writing = Row(
        "write.threads", "20 threads that write a key each, for each write", against: "one thread writing",
        goal: 1
    ) { place in
        try await pair(20, parts: 20, in: place) { store, key, number in store[key] = number }
    }

    private typealias Operation = @Sendable (ObservableStore, StorageKey<Int>, Int) -> Void

    /// - Parameter parts: the number of threads that would take the same time one after the other.
    private static func pair(
        _ threads: Int, parts: Double = 1, in place: Place, _ operation: @escaping Operation
    ) async throws -> Pair {
        let sample = try SampleStore(in: place)
        let store = sample.store
        let keys = (0..<threads).map { StorageKey("thread \($0)", default: 0) }
        for key in keys { store[key] = 1 }
        try await store.flush()
        func work(_ keys: [StorageKey<Int>]) -> Work {
            Work { count in
                let time = await time(count, of: keys, in: store, operation)
                try await store.flush()
                return time
            }
        }
        let (subject, baseline) = (work(keys), work([keys[0]]))
        return Pair(subject: Work { try await subject.run($0) / parts }, baseline: baseline, tearDown: sample.close)
    }

    /// Runs an operation the given number of times for each key, on its own thread, and returns the time in which a thread does one.
    private static func time(
        _ count: Int, of keys: [StorageKey<Int>], in store: ObservableStore, _ operation: @escaping Operation
    ) async -> Double {
        let start = StartLine(keys.count)
        let times = Mutex<[Double]>([])
        let group = DispatchGroup()
        for key in keys {
            group.enter()
            Thread.detachNewThread {
                start.wait()
                let time = Clock.time {
                    for number in 0..<count { operation(store, key, number) }
                }
                times.withLock { $0.append(time) }
                group.leave()
            }
        }
        await withCheckedContinuation { done in group.notify(queue: .global()) { done.resume() } }
        return (times.withLock { $0.max() } ?? .nan) / Double(count)
    }
}

/// A barrier at which threads wait for one another.
private final class StartLine: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) {
        missing = Atomic(count)
    }

    func wait() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    }
}
