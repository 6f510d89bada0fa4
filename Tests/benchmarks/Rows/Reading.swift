import ObservableStorage
import TestSupport

extension StorageKey<Int> {
    static let launchCount = StorageKey("launchCount", default: 0)
}

extension StorageKey<String> {
    static let lastDocument = StorageKey("lastDocument", default: "")
}

extension StorageKey<Account> {
    static let account = StorageKey("account", codec: .json, default: Account(name: "", tags: []))
}

/// A value that is stored as JSON.
struct Account: Codable, Sendable {
    var name: String
    var tags: [String]
}

/// Keys that are read and written through a keyed store.
struct LaunchKeys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
}

/// The property that is read through the wrapper.
struct PersistedSettings: Sendable {
    @Persisted var launchCount: Int

    init(_ store: ObservableStore) {
        _launchCount = Persisted(.launchCount, in: store)
    }
}

enum Reading {
    static let lookUp = "locked `[String: enum]` look-up"

    static let rows = [
        row("read.key", "read a typed value by key", goal: 1.0) { store in
            .loop { count in
                for _ in 0..<count { consume(store[.launchCount]) }
            }
        },
        row("read.stored", "read through a `StoredValue`", goal: 0.4) { store in
            let launchCount = store.stored(.launchCount)
            return .loop { count in
                for _ in 0..<count { consume(launchCount.value) }
            }
        },
        row("read.persisted", "read through `@Persisted`", goal: 0.4) { store in
            let settings = PersistedSettings(store)
            return .loop { count in
                for _ in 0..<count { consume(settings.launchCount) }
            }
        },
        row("read.settings", "read `settings.key` through a `KeyedStore`", goal: 1.5) { store in
            let settings = KeyedStore<LaunchKeys>(store)
            return .loop { count in
                for _ in 0..<count { consume(settings.launchCount) }
            }
        },
        row("read.settings.prefix", "the same with a prefix", goal: 1.8) { store in
            let settings = KeyedStore<LaunchKeys>(store, prefix: "group")
            settings.launchCount = 7
            return .loop { count in
                for _ in 0..<count { consume(settings.launchCount) }
            }
        },
        Threads.reading,
        row("read.json", "read a JSON-coded value", goal: 1.2) { store in
            store[.account] = Account(name: "Ada", tags: ["first", "second", "third"])
            return .loop { count in
                for _ in 0..<count { consume(store[.account]) }
            }
        },
    ]

    private static func row(
        _ name: String, _ work: String, goal: Double, subject: @escaping @Sendable (ObservableStore) -> Work
    ) -> Row {
        Row(name, work, against: lookUp, goal: goal) { place in
            let sample = try SampleStore(in: place)
            sample.store[.launchCount] = 7
            let work = subject(sample.store)
            try await sample.store.flush()
            return Pair(subject: work, baseline: bareRead(), tearDown: sample.close)
        }
    }

    static func bareRead() -> Work {
        let dictionary = LockedDictionary(100)
        dictionary.set(7, for: "launchCount")
        return .loop { count in
            for _ in 0..<count { consume(dictionary.integer("launchCount")) }
        }
    }
}
