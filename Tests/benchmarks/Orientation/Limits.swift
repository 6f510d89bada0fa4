import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import Synchronization
import TestSupport

/// The cost of the smallest program with the same behavior as a row whose goal is not attainable, compared with that row's baseline.
enum Limits {
    static let rows = [
        readers("limit.readers", "wake 1,000 tasks that wait, with the newest value, and nothing else") { seat, receive in
            Task {
                while let value = await seat.next() { receive(value) }
            }
        },
        readers("limit.streams", "the same, an `AsyncStream` around each, whatever is between it and the writer", stream),
        readers(
            "limit.beside", "the same, while a file of 100 entries is committed as in `limit.whole`, which each value calls for", stream,
            isCommitting: true),
        Row(
            "limit.memory", "tell 1,000 `values(of:)` readers of a store in memory, beside which nothing is written to a disk",
            against: "1,000 buffering `AsyncStream`s, `yield` to delivery", parts: 1_000
        ) { _ in
            let store = try ObservableStore(backend: InMemoryBackend())
            let (subject, tasks) = try await Readers.tell(1_000, in: store, \.end)
            let (baseline, bareTasks) = await Readers.bareTell(1_000, \.end)
            return Pair(subject: subject, baseline: baseline) {
                for task in tasks + bareTasks { task.cancel() }
            }
        },
        commit(
            "limit.commit", "write and synchronize those bytes with the old file held open, nothing encoded, locked or watched",
            isSafe: true),
        Row(
            "limit.whole",
            "the same on a queue that is waited for: a changed entry, the file read under a lock, all entries encoded, its folder watched",
            against: "temporary file, fsync, rename over the old one, folder fsync, of the same bytes"
        ) { place in
            let entries = SampleList.make(1_000)
            let bytes = try PropertyListValue.dictionary(entries).encoded(as: .binary)
            let whole = try WholeCommit(of: entries, in: place.folder())
            return try Pair(subject: whole.work.settled, baseline: Committing.bareCommit(of: bytes, in: place), tearDown: whole.end)
        },
        Row(
            "limit.one", "wake one task that waits, with an `AsyncStream` around it, on the writer's thread, and nothing else",
            against: "one buffering `AsyncStream`"
        ) { _ in
            let (seat, arrivals) = (Seat(), Countdown())
            let reader = stream(seat) { value in
                consume(value)
                arrivals.arrive()
            }
            let (baseline, tasks) = await Readers.bareTell(1, \.end)
            let work = Work { count in
                var total = 0.0
                for value in 0..<count {
                    total += await arrivals.time(1) { seat.put(value)?.resume(returning: value) }.end
                }
                return total / Double(count)
            }
            return Pair(subject: work, baseline: baseline) {
                for task in tasks + [reader] { task.cancel() }
            }
        },
        Row(
            "limit.external", "another process's change, 100 keys: on a second queue the file is read, its value yielded if it is another",
            against: "system's event, Dispatch handler, `AsyncStream` element, nothing read"
        ) { place in
            let (subject, task) = try await External.readOnly(in: place, 100)
            let (baseline, bareTask) = try await External.bareReceive(in: place, 100)
            return Pair(subject: subject, baseline: baseline) {
                task.cancel()
                bareTask.cancel()
            }
        },
        commit(
            "limit.unsafe", "the same with one synchronization less, after which a power failure may leave an empty file", isSafe: false),
    ]

    private static func commit(_ name: String, _ text: String, isSafe: Bool) -> Row {
        Row(name, text, against: "temporary file, fsync, rename over the old one, folder fsync, of the same bytes") { place in
            let bytes = try PropertyListValue.dictionary(SampleList.make(1_000)).encoded(as: .binary)
            return try Pair(
                subject: Committing.bareCommit(of: bytes, in: place, isOldHeldOpen: true, isSafe: isSafe).settled,
                baseline: Committing.bareCommit(of: bytes, in: place))
        }
    }

    private typealias Reader = @Sendable (Seat, @escaping @Sendable (Int) -> Void) -> Task<Void, Never>

    private static let stream: Reader = { seat, receive in
        let values = AsyncStream {
            await seat.next()
        } onCancel: {
            seat.put(nil)?.resume(returning: nil)
        }
        return Task {
            for await value in values { receive(value) }
        }
    }

    /// Each reader waits at its own seat; one other thread resumes them all while the writer continues.
    private static func readers(
        _ name: String, _ text: String, _ reader: @escaping Reader, isCommitting: Bool = false
    ) -> Row {
        Row(name, text, against: "1,000 buffering `AsyncStream`s, `yield` to delivery", parts: 1_000) { place in
            let commit = isCommitting ? try WholeCommit(of: SampleList.make(100), in: place.folder()) : nil
            let seats = (0..<1_000).map { _ in Seat() }
            let arrivals = Countdown()
            let readers = seats.map { seat in
                reader(seat) { value in
                    consume(value)
                    arrivals.arrive()
                }
            }
            let (baseline, tasks) = await Readers.bareTell(seats.count, \.end)
            return Pair(subject: wake(seats, arrivals, commit), baseline: baseline) {
                for task in tasks + readers { task.cancel() }
                for seat in seats { seat.put(nil)?.resume(returning: nil) }
                commit?.end()
            }
        }
    }

    private static func wake(_ seats: [Seat], _ arrivals: Countdown, _ commit: WholeCommit?) -> Work {
        Work { count in
            var total = 0.0
            for value in 0..<count {
                total += await arrivals.time(seats.count) {
                    commit?.schedule()
                    let waiting = seats.compactMap { $0.put(value) }
                    DispatchQueue.global().async {
                        for reader in waiting { reader.resume(returning: value) }
                    }
                }.end
            }
            commit?.wait()
            return total / Double(count)
        }
    }
}

/// A slot in which one reader waits for the newest value.
private final class Seat: Sendable {
    typealias Reader = UnsafeContinuation<Int?, Never>

    private struct State {
        var value: Int?
        var reader: Reader?
    }

    private let state = Mutex(State())

    /// Stores a value, or nil at the end; returns a waiting reader, which has to be resumed with it.
    func put(_ value: Int?) -> Reader? {
        state.withLock { state in
            if let reader = state.reader.take() { return reader }
            state.value = value
            return nil
        }
    }

    func next() async -> Int? {
        await withUnsafeContinuation { reader in
            let value = state.withLock { state in
                if state.value == nil { state.reader = reader }
                return state.value.take()
            }
            if let value { reader.resume(returning: value) }
        }
    }
}
