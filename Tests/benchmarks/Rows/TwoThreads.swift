import Foundation
import ObservableStorage
import Synchronization

extension StorageKey<Int> {
    fileprivate static let left = StorageKey("left", default: 0)
    fileprivate static let right = StorageKey("right", default: 0)
}

/// How much two threads that read different keys of one store delay each other.
enum TwoThreads {
    static let row = Row(
        "read.threads", "two threads reading different keys", against: "one thread reading", goal: 1.5
    ) { place in
        let sample = try SampleStore(in: place)
        let store = sample.store
        store[.left] = 1
        store[.right] = 2
        try await store.flush()
        return Pair(
            subject: Work { await time($0, reading: [.left, .right], in: store) },
            baseline: Work { await time($0, reading: [.left], in: store) },
            tearDown: sample.close)
    }

    /// Reads each key the given number of times on its own thread, and returns the duration of a read.
    private static func time(_ count: Int, reading keys: [StorageKey<Int>], in store: ObservableStore) async -> Double {
        let start = StartLine(keys.count)
        let times = Mutex<[Double]>([])
        let group = DispatchGroup()
        for key in keys {
            group.enter()
            Thread.detachNewThread {
                start.wait()
                let time = Clock.time {
                    for _ in 0..<count { consume(store[key]) }
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
        while missing.load(ordering: .acquiring) > 0 {}
    }
}
