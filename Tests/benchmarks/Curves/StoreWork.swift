import ObservableStorage

/// Operations on one key of a store.
enum StoreWork {
    static func read(_ store: ObservableStore) -> Work {
        .loop { count in
            for _ in 0..<count { consume(store[.launchCount]) }
        }
    }

    static func write(_ store: ObservableStore) -> Work {
        var value = store[.launchCount]
        return Work { count in
            let time = Clock.time {
                for _ in 0..<count {
                    value += 1
                    store[.launchCount] = value
                }
            }
            try await store.flush()
            return time / Double(count)
        }
    }
}
