import Dispatch
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private final class Player {
    let store: ObservableStore
    @Persisted var volume: Double
    @Persisted var title: String?
    @Persisted var tags: [String]

    init(store: ObservableStore) {
        self.store = store
        _volume = Persisted(StorageKey("volume", default: 0.8), in: store)
        _title = Persisted("title", in: store)
        _tags = Persisted(wrappedValue: ["none"], "tags", codec: .json, in: store)
    }
}

@Suite("Stored values", .timeLimit(.minutes(10)))
struct StoredValueTests {
    @Test("A handle reads, writes, observes and removes one key of one store", arguments: Fixture.allCases)
    func handle(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let count = store.stored(Keys.count)
        let seen = Recorder<Int>()
        let token = count.addUpdateListener(initial: true) { seen.record($0.newValue) }
        let changes = count.changes
        #expect(!count.isSet)
        count.value = 5
        count.value += 1
        #expect(count.isSet)
        #expect(store[Keys.count] == 6)
        #expect(await changes.first { _ in true }?.newValue == 5)
        #expect(await count.values.first { _ in true } == 6)
        count.remove()
        #expect(count.value == 0)
        #expect(seen.elements == [0, 5, 6, 0])
        withExtendedLifetime(token) {}
    }

    @Test("A handle throws what cannot be stored or decoded, and mutes the writer's own listener")
    func throwing() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": "many"]))
        let count = store.stored(Keys.count.validated(in: 0...9))
        #expect(throws: StorageError.undecodable(key: "count", expected: "Int", found: "string")) { try count.get() }
        let seen = Recorder<Int>()
        let token = count.addUpdateListener { seen.record($0.newValue) }
        try count.set(5)
        try count.set(6, muting: token)
        #expect(throws: StorageError.self) { try count.set(10) }
        #expect(try count.get() == 6)
        #expect(seen.elements == [5])
    }

    @Test("A publisher delivers the changes of its key, and stays alive while one of its subscriptions does", arguments: Fixture.allCases)
    func publisher(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let seen = Recorder<Int>()
        let token = store.stored(Keys.count).changesPublisher.subscribe { seen.record($0.newValue) }
        let publisher = store.stored(Keys.count).changesPublisher
        let stream = publisher.stream()
        let other = publisher.subscribe { seen.record(-$0.newValue) }
        store[Keys.count] = 1
        token.cancel()
        store[Keys.count] = 2
        try await store.close()
        #expect(seen.elements == [1, -1, -2])
        #expect(await stream.reduce(into: []) { $0.append($1.newValue) } == [1, 2])
        withExtendedLifetime(other) {}
    }

    @Test("modify is atomic across threads", arguments: Fixture.allCases)
    func modify(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let count = store.stored(Keys.count)
        DispatchQueue.concurrentPerform(iterations: 10) { _ in
            for _ in 0..<100 {
                do {
                    try count.modify { $0 += 1 }
                } catch {
                    Issue.record(error)
                }
            }
        }
        #expect(count.value == 1_000)
        #expect(store.revision == 1_000)
    }

    @Test("modify that throws changes nothing", arguments: Fixture.allCases)
    func throwingModify(fixture: Fixture) throws {
        let store = try fixture.make().open()
        struct Refusal: Error {}
        #expect(throws: Refusal.self) {
            try store.stored(Keys.count).modify { count in
                count = 5
                throw Refusal()
            }
        }
        #expect(store.entries.isEmpty)
    }

    @Test(
        "A wrapped property is a stored property, created in the owner's own initializer with the store passed in",
        arguments: Fixture.ofEveryType)
    func wrapper(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let player = Player(store: store)
        #expect(player.volume == 0.8)
        #expect(player.title == nil)
        #expect(player.tags == ["none"])
        player.volume = 0.3
        player.title = "One"
        player.tags.append("two")
        #expect(store.entries["volume"] == 0.3)
        #expect(store.entries["title"] == "One")
        #expect(await player.$volume.values.first { _ in true } == 0.3)
        player.title = nil
        #expect(!player.$title.isSet)
        #expect(Player(store: store).tags == ["none", "two"])
    }

    @Test("A wrapped property takes a key, a name, an initial value, or a codec", arguments: Fixture.allCases)
    func wrapperForms(fixture: Fixture) throws {
        let store = try fixture.make().open()
        struct Settings {
            let store: ObservableStore
            @Persisted<Int> var count: Int
            @Persisted<String?> var bar: String?

            init(store: ObservableStore) {
                self.store = store
                _count = Persisted(Keys.count, in: store)
                _bar = Persisted("bar", in: store)
            }
        }
        let settings = Settings(store: store)
        settings.count += 2
        settings.bar = "b"
        #expect(store.entries == ["count": 2, "bar": "b"])
    }
}
