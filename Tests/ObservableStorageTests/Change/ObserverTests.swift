import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Observers", .timeLimit(.minutes(10)))
struct ObserverTests {
    @Test("A list has its subscriptions in the order in which they were created, also if another thread inserts a later one first")
    func order() {
        let created = (0..<5).map { _ in Observer<Int>(onReceive: { _ in }).subscription }
        var list: [Subscription] = []
        for index in [1, 0, 4, 3, 2] { list.insert(created[index]) }
        #expect(list.map(\.id) == created.map(\.id))
        for index in [3, 0, 4, 3, 1] { list.remove(created[index]) }
        #expect(list.map(\.id) == [created[2].id])
    }

    @Test("A publisher calls its subscribers in that order, until each is cancelled")
    func publishingOrder() {
        let publisher = ChangePublisher<Int>()
        let seen = Recorder<Int>()
        let created = (0..<4).map { number in Observer<Int>(onReceive: { _ in seen.record(number) }, onFinish: { seen.record(-number) }) }
        var deliveries = Deliveries()
        let tokens = [2, 0, 3, 1].map { publisher.add(created[$0], to: &deliveries) }
        publisher.publish(1)
        #expect(seen.elements == [0, 1, 2, 3])
        tokens[1].cancel()
        publisher.publish(2)
        publisher.finish()
        #expect(seen.elements == [0, 1, 2, 3, 1, 2, 3, -1, -2, -3])
    }

    @Test("Update listeners of a key are called in the order of their subscriptions", arguments: Fixture.allCases)
    func listeningOrder(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let seen = Recorder<String>()
        let tokens = ["a", "b", "c"].map { name in store.addUpdateListener(for: Keys.count) { _ in seen.record(name) } }
        store[Keys.count] = 1
        tokens[0].cancel()
        let last = store.addUpdateListener(for: Keys.count) { _ in seen.record("d") }
        store[Keys.count] = 2
        #expect(seen.elements == ["a", "b", "c", "b", "c", "d"])
        withExtendedLifetime((tokens, last)) {}
    }

    @Test(
        "After the end of the store, a token or a stream that is held keeps no value of it", .timeLimit(.minutes(1)),
        arguments: [true, false])
    func valuesAreReleased(isStream: Bool) async throws {
        let live = LiveCount()
        let key = StorageKey<Counted?>(
            "a",
            codec: .custom(
                encode: { .integer(PropertyListInteger($0.number)) },
                decode: { Counted(try Int64(propertyListValue: $0), in: live) }))
        var store: ObservableStore? = try ObservableStore(backend: InMemoryBackend())
        let (told, tell) = AsyncStream.makeStream(of: Void.self)
        var token = store?.addUpdateListener(for: key) { _ in tell.yield() }
        let values = isStream ? store?.values(of: key) : nil
        store?[key] = Counted(1, in: live)
        store?[key] = Counted(2, in: live)
        var calls = told.makeAsyncIterator()
        for _ in 1...2 { await calls.next() }
        if isStream { token = nil }
        try await store?.close()
        store = nil
        // What nobody has read stays in the stream.
        if let values { for await _ in values {} }
        #expect(await live.isZero())
        withExtendedLifetime((token, values)) {}
    }
}

private final class Counted: Sendable {
    let number: Int64
    private let live: LiveCount

    init(_ number: Int64, in live: LiveCount) {
        (self.number, self.live) = (number, live)
        live.add(1)
    }

    deinit { live.add(-1) }
}

private final class LiveCount: Sendable {
    private let count = Lock(0)
    private let changes = AsyncStream.makeStream(of: Void.self)

    func add(_ number: Int) {
        count.withLock { $0 += number }
        changes.continuation.yield()
    }

    /// Waits until it is zero; returns false if the test is cancelled before.
    func isZero() async -> Bool {
        var changes = changes.stream.makeAsyncIterator()
        while count.withLock({ $0 != 0 }) {
            if await changes.next() == nil { return false }
        }
        return true
    }
}
