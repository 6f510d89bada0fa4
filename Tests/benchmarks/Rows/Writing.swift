import ObservableStorage

enum Writing {
    static let rows = [
        Row("write.key", "write, nobody watching", against: "locked dictionary store", goal: 2.5) { place in
            let sample = try SampleStore(in: place)
            return Pair(
                subject: write(to: sample.store) { sample.store[.launchCount] = $0 }, baseline: bareWrite(), tearDown: sample.close)
        },
        settings("write.settings", "write `settings.key` through a `KeyedStore`", prefix: nil, goal: 3),
        settings("write.settings.prefix", "the same with a prefix", prefix: "group", goal: 3.6),
    ]

    private static func settings(_ name: String, _ work: String, prefix: String?, goal: Double) -> Row {
        Row(name, work, against: "locked dictionary store", goal: goal) { place in
            let sample = try SampleStore(in: place)
            let settings = KeyedStore<LaunchKeys>(sample.store, prefix: prefix)
            return Pair(
                subject: write(to: sample.store) { settings.launchCount = $0 }, baseline: bareWrite(), tearDown: sample.close)
        }
    }

    /// Each write is a change, which the store writes to disk concurrently.
    private static func write(to store: ObservableStore, _ write: @escaping @Sendable (Int) -> Void) -> Work {
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
