import Foundation
import ObservableStorage

/// `UserDefaults`, each call compared with the store's.
enum UserDefaultsRows {
    private static let keys = 1_000

    static let rows = [
        row("userdefaults.read", "read a value by key", against: "`UserDefaults.integer(forKey:)`") { store, defaults in
            Pair(
                subject: .loop { count in
                    for _ in 0..<count { consume(store[.launchCount]) }
                },
                baseline: .loop { count in
                    for _ in 0..<count { consume(defaults.integer(forKey: "launchCount")) }
                })
        },
        row("userdefaults.set", "set a value", against: "`UserDefaults.set(_:forKey:)`") { store, defaults in
            var value = 0
            return Pair(
                subject: Work { count in
                    let time = Clock.time {
                        for _ in 0..<count {
                            value += 1
                            store[.launchCount] = value
                        }
                    }
                    try await store.flush()
                    return time / Double(count)
                },
                baseline: .loop { count in
                    for _ in 0..<count {
                        value += 1
                        defaults.set(value, forKey: "launchCount")
                    }
                })
        },
        row("userdefaults.synchronize", "set a value and wait until it is on disk", against: "`set` and `synchronize()`, no fsync") {
            store, defaults in
            var value = 0
            return Pair(
                subject: Committing.commit(to: store),
                baseline: .loop { count in
                    for _ in 0..<count {
                        value += 1
                        defaults.set(value, forKey: "launchCount")
                        try Failure.unless(defaults.synchronize(), "UserDefaults cannot be synchronized")
                    }
                })
        },
    ]

    private static func row(
        _ name: String, _ work: String, against bare: String, pair: @escaping @Sendable (ObservableStore, UserDefaults) -> Pair
    ) -> Row {
        Row(name, work, against: bare) { place in
            let suite = "ObservableStorage-benchmarks-\(UUID())"
            guard let defaults = UserDefaults(suiteName: suite) else { throw Failure("there are no UserDefaults") }
            for index in 0..<keys { defaults.set(index, forKey: SampleList.name(index)) }
            let sample = try SampleStore(keys, in: place)
            let work = pair(sample.store, defaults)
            return Pair(subject: work.subject, baseline: work.baseline) {
                defaults.removePersistentDomain(forName: suite)
                try await sample.close()
            }
        }
    }
}
