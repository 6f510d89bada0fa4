import ObservableStorage
import Synchronization

enum Listeners {
    static let rows = [
        Row(
            "tell.listeners", "tell 1,000 update listeners", against: "copy the closures under the lock, call them", goal: 1.1,
            parts: 1_000
        ) { place in
            let sample = try SampleStore(in: place)
            return Pair(subject: tell(1_000, in: sample.store), baseline: bareTell(1_000), tearDown: sample.close)
        }
    ]

    /// Writes a key with the given number of listeners.
    static func tell(_ listeners: Int, in store: ObservableStore) -> Work {
        let sum = Sum()
        let tokens = (0..<listeners).map { _ in
            store.addUpdateListener(for: .launchCount) { sum.add($0.newValue) }
        }
        var value = store[.launchCount]
        return Work { count in
            let time = try sum.time(count, listeners) {
                value += 1
                store[.launchCount] = value
                return value
            }
            try await store.flush()
            consume(tokens)
            return time
        }
    }

    /// The baseline: a value protected by a lock, and closures that are called with the same information as the store's listeners.
    private static func bareTell(_ listeners: Int) -> Work {
        let sum = Sum()
        let publisher = BarePublisher()
        for _ in 0..<listeners {
            publisher.addListener { sum.add($0.newValue) }
        }
        var value = 0
        return Work { count in
            try sum.time(count, listeners) {
                value += 1
                publisher.set(value)
                return value
            }
        }
    }
}

private final class BarePublisher: Sendable {
    typealias Listener = @Sendable (Change<Int>) -> Void

    private struct State {
        var value = 0
        var revision: UInt64 = 0
        var listeners: [Listener] = []
    }

    private let state = Mutex(State())

    func addListener(_ listener: @escaping Listener) {
        state.withLock { $0.listeners.append(listener) }
    }

    func set(_ value: Int) {
        let (change, listeners) = state.withLock { state in
            state.revision += 1
            let change = Change(
                key: "launchCount", oldValue: state.value, newValue: value, kind: .set, origin: .local, revision: state.revision)
            state.value = value
            return (change, state.listeners)
        }
        for listener in listeners { listener(change) }
    }
}

/// The work of listeners on both sides: the minimum that shows that each was called with each value.
private final class Sum: Sendable {
    private let total = Atomic(0)

    func add(_ value: Int) {
        total.wrappingAdd(value, ordering: .relaxed)
    }

    /// Measures writes, each of which calls the given number of listeners with the value it returns.
    func time(_ count: Int, _ listeners: Int, _ write: () -> Int) throws -> Double {
        total.store(0, ordering: .relaxed)
        var expected = 0
        let time = Clock.time {
            for _ in 0..<count { expected += write() * listeners }
        }
        try Failure.unless(total.load(ordering: .relaxed) == expected, "not every listener was told every value")
        return time / Double(count)
    }
}
