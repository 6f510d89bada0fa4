import Foundation
import ObservableStorage
import TestSupport

/// How long a commit blocks commits of other processes.
enum Locking {
    static let rows = [
        row("lock.held", "the lock held during a durable commit, 1,000 keys", goal: 0.5, of: Statistics.median),
        row("lock.longest", "the longest that it is held in ten commits or more", goal: 1) { $0.max() ?? 0 },
    ]

    private static func row(_ name: String, _ work: String, goal: Double, of choose: @escaping @Sendable ([Double]) -> Double) -> Row {
        Row(name, work, against: "temporary file, fsync, rename over the old one, folder fsync, of the same bytes", goal: goal) { place in
            let sample = try SampleStore(1_000, in: place)
            try await sample.close()
            let times = LockTimes()
            let file = PropertyListFile(at: sample.file, calls: times.calls)
            let store = try ObservableStore(backend: file)
            let commit = Committing.commit(to: store)
            let subject = Work { count in
                _ = times.take()
                _ = try await commit.run(max(count, 10))
                return choose(times.take())
            }
            let baseline = try Committing.bareCommit(of: Data(contentsOf: sample.file), in: place)
            return Pair(subject: subject.settled, baseline: baseline) { try await store.close() }
        }
    }
}

/// The durations for which a lock was held.
private final class LockTimes: Sendable {
    private let taken = Lock<(start: UInt64, times: [Double])>((0, []))

    /// The system calls, with the calls of the lock measured.
    var calls: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.lock = { [self] descriptor throws(SystemError) in
            try FileSystemCalls.live.lock(descriptor)
            begin()
        }
        calls.awaitLock = { [self] descriptor throws(SystemError) in
            try FileSystemCalls.live.awaitLock(descriptor)
            begin()
        }
        calls.unlock = { [self] descriptor throws(SystemError) in
            end()
            try FileSystemCalls.live.unlock(descriptor)
        }
        return calls
    }

    /// Returns and clears the durations.
    func take() -> [Double] {
        taken.withLock { taken in
            defer { taken.times = [] }
            return taken.times
        }
    }

    private func begin() {
        taken.withLock { $0.start = Clock.now }
    }

    private func end() {
        taken.withLock { $0.times.append(Double(Clock.now - $0.start)) }
    }
}
