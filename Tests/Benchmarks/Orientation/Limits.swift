import Dispatch
import Foundation
import PropertyListCoding
import Synchronization
import TestSupport

/// What the smallest program takes that does the same as the library in a row whose goal is out of reach, beside that row's bare cost.
enum Limits {
    static let rows = [
        Row(
            "limit.readers", "wake 1,000 tasks that wait, with the newest value, and nothing else",
            against: "1,000 buffering `AsyncStream`s, `yield` to delivery", parts: 1_000
        ) { _ in
            let seats = (0..<1_000).map { _ in Seat() }
            let subject = await wake(seats)
            let (baseline, tasks) = await Readers.bareTell(seats.count, \.end)
            return Pair(subject: subject, baseline: baseline) {
                for task in tasks { task.cancel() }
                for seat in seats { seat.put(nil)?.resume(returning: nil) }
            }
        },
        Row(
            "limit.commit", "write and synchronize those bytes with the old file held open, nothing encoded, locked or watched",
            against: "temporary file, fsync, rename over the old one, folder fsync, of the same bytes"
        ) { place in
            let bytes = try PropertyListValue.dictionary(SampleList.make(1_000)).encoded(as: .binary)
            return try Pair(
                subject: Committing.bareCommit(of: bytes, in: place, isOldHeldOpen: true),
                baseline: Committing.bareCommit(of: bytes, in: place, isOldHeldOpen: false))
        },
    ]

    /// Each reader is a task that waits for a continuation; one other thread resumes them all while the writer goes on.
    private static func wake(_ seats: [Seat]) async -> Work {
        let arrivals = Countdown()
        for seat in seats {
            Task {
                while let value = await seat.next() {
                    consume(value)
                    arrivals.arrive()
                }
            }
        }
        return Work { count in
            var total = 0.0
            for value in 0..<count {
                total += await arrivals.time(seats.count) {
                    let waiting = seats.compactMap { $0.put(value) }
                    DispatchQueue.global().async {
                        for reader in waiting { reader.resume(returning: value) }
                    }
                }.end
            }
            return total / Double(count)
        }
    }
}

/// Where one reader waits for the newest value.
private final class Seat: Sendable {
    typealias Reader = UnsafeContinuation<Int?, Never>

    private struct State {
        var value: Int?
        var reader: Reader?
    }

    private let state = Mutex(State())

    /// Leaves a value, nothing at the end, unless a reader waits, who has to be resumed with it.
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
