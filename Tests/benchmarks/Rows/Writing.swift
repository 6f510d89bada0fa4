import Dispatch
import Foundation
import ObservableStorage

enum Writing {
    // The first rows are about memory alone: what the log of edits adds has rows of its own.
    static let rows = [
        Row("write.key", "write, nobody watching", against: "locked dictionary store", goal: 2.5) { place in
            let sample = try SampleStore(journal: .off, in: place)
            return Pair(
                subject: write(to: sample.store) { sample.store[.launchCount] = $0 }, baseline: bareWrite(), tearDown: sample.close)
        },
        settings("write.settings", "write `settings.key` through a `KeyedStore`", prefix: nil, goal: 3),
        settings("write.settings.prefix", "the same with a prefix", prefix: "group", goal: 3.6),
        // 60 ns more than 100 ns, and 150 ns more than 300.
        logged("write.logged", "write with a log of edits", goal: 1.6) { store, number in store[.launchCount] = number },
        logged("write.logged.text", "the same, a text of 40 bytes", goal: 1.5) { store, number in
            store[.lastDocument] = texts[number % texts.count]
        },
        Row(
            "write.pause", "the longest `set` of a second, with a log, each after a pause of 5 ms",
            against: "the longest `async` of an empty closure to an idle queue", goal: 4
        ) { place in
            let sample = try SampleStore(in: place)
            let queue = DispatchQueue(label: "write.pause")
            var value = 0
            let subject = longest {
                value += 1
                sample.store[.launchCount] = value
            }
            return Pair(subject: subject, baseline: longest { queue.async {} }, tearDown: sample.close)
        },
        Threads.writing,
    ]

    /// The longest run of an operation, each of which begins after the work of the one before is done.
    private static func longest(_ body: @escaping () -> Void) -> Work {
        Work { count in
            var longest = 0.0
            for _ in 0..<min(count, 200) {
                usleep(5_000)
                longest = max(longest, Clock.time(body))
            }
            return longest
        }
    }

    private static let texts = (0..<1_000).map { number in String(repeating: "x", count: 36) + String(number + 1_000) }

    private static func logged(
        _ name: String, _ work: String, goal: Double, _ write: @escaping @Sendable (ObservableStore, Int) -> Void
    ) -> Row {
        Row(name, work, against: "the same without", goal: goal) { place in
            let (sample, other) = (try SampleStore(in: place), try SampleStore(journal: .off, in: place))
            try Failure.unless(sample.store.durability == .immediate, "a store has no log")
            return Pair(
                subject: Self.write(to: sample.store) { write(sample.store, $0) },
                baseline: Self.write(to: other.store) { write(other.store, $0) },
                tearDown: {
                    try await sample.close()
                    try await other.close()
                })
        }
    }

    private static func settings(_ name: String, _ work: String, prefix: String?, goal: Double) -> Row {
        Row(name, work, against: "locked dictionary store", goal: goal) { place in
            let sample = try SampleStore(journal: .off, in: place)
            let settings = KeyedStore<LaunchKeys>(sample.store, prefix: prefix)
            return Pair(
                subject: write(to: sample.store) { settings.launchCount = $0 }, baseline: bareWrite(), tearDown: sample.close)
        }
    }

    /// Each write is a change, which the store writes to disk concurrently.
    static func write(to store: ObservableStore, _ write: @escaping @Sendable (Int) -> Void) -> Work {
        var value = 0
        return Work { count in
            let time = Clock.time {
                for _ in 0..<count {
                    value += 1
                    write(value)
                }
            }
            // Pending writes must not slow down the other side of the round.
            try await store.flush()
            return time / Double(count)
        }
    }

    private static func bareWrite() -> Work {
        let dictionary = LockedDictionary(100)
        var value = 0
        return .loop { count in
            for _ in 0..<count {
                value += 1
                dictionary.set(value, for: "launchCount")
            }
            consume(dictionary.integer("launchCount"))
        }
    }
}
