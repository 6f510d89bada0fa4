import Observation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// All sources of a key count as its value, whatever is done with it first.
@Suite("Renamed keys", .timeLimit(.minutes(10)))
struct RenamedKeyTests {
    private struct Group: KeyGroup {
        let delay = StorageKey("delay", default: 0).renamed(from: "period").renamed(from: "interval")
        let note = StorageKey<String?>("note").renamed(from: "remark")
    }

    private let key = Group().delay
    private let note = Group().note

    @Test("A transaction modifies the value of an earlier name, and moves it", arguments: Fixture.allCases)
    func transaction(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5])
        let store = try storage.open()
        let result = try await store.update { transaction in
            #expect(transaction.isSet(Group().delay))
            let before = try transaction.value(for: Group().delay)
            #expect(before == 5)
            transaction[Group().delay] += 1
            return transaction[Group().delay]
        }
        #expect(result == 6)
        #expect(try storage.entries == ["delay": 6])
        #expect(store[key] == 6)
    }

    @Test("Setting in a transaction removes the entry of an earlier name", arguments: Fixture.quick)
    func setInTransaction(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5, "remark": "a"])
        let store = try storage.open()
        try await store.update { transaction in
            transaction[Group().delay] = 7
            transaction[Group().note] = nil
        }
        #expect(try storage.entries == ["delay": 7])
        #expect(store[note] == nil)
    }

    @Test("A transaction reads earlier types, and defaults that reading persists", arguments: Fixture.quick)
    func upkeepInTransaction(fixture: Fixture) async throws {
        let storage = try fixture.make(["shape": "4", "bad": "x"])
        let store = try storage.open()
        try await store.update { transaction in
            transaction[StorageKey("shape", default: 0).migrating(from: String.self) { Int($0) ?? 0 }] += 1
            #expect(transaction[StorageKey("missing", persistsDefault: .whenMissing, default: 2)] == 2)
            transaction[StorageKey("bad", persistsDefault: .onFailure, default: 3)] += 1
        }
        #expect(try storage.entries == ["shape": 5, "missing": 2, "bad": 4])
    }

    @Test("Removing before the first read removes the value under every earlier name", arguments: Fixture.allCases)
    func removal(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5, "interval": 6, "remark": "a"])
        let store = try storage.open()
        store.remove(key)
        store[note] = nil
        #expect(store[key] == 0)
        #expect(store[note] == nil)
        try await store.flush()
        #expect(try storage.entries.isEmpty)
        try await store.update { transaction in
            transaction[StorageKey("interval", default: 0)] = 1
            transaction.remove(Group().delay)
        }
        #expect(try storage.entries.isEmpty)
    }

    @Test("Resetting a group removes every entry that its keys read from, also in a scene", arguments: Fixture.quick)
    func reset(fixture: Fixture) throws {
        let store = try fixture.make(["period": 5, "remark": "a", "kept": 1, "scenes/one/remark": "b"]).open()
        let scene = SceneStore(sceneID: "one", base: store)
        KeyedStore<Group>(scene).reset()
        #expect(scene[note] == "a")
        #expect(store[note] == "a")
        KeyedStore<Group>(store).reset()
        #expect(scene[note] == nil)
        #expect(store[key] == 0)
        #expect(store.entries == ["kept": 1])
    }

    @Test("A key is set before it is first read, also in a scene", arguments: Fixture.quick)
    func isSet(fixture: Fixture) throws {
        let store = try fixture.make(["period": 5, "scenes/one/remark": "b"]).open()
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(store.isSet(key))
        #expect(!store.isSet(note))
        #expect(scene.isSet(note))
        #expect(!scene.isSet(key))
        #expect(scene[key] == 5)
        scene.remove(note)
        #expect(!scene.isSet(note))
        #expect(scene[note] == nil)
        #expect(store.entries == ["delay": 5])
    }

    @Test("Setting before the first read leaves no earlier value that would return", arguments: Fixture.quick)
    func setting(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5])
        let store = try storage.open()
        store[key] = 7
        #expect(store.entries == ["delay": 7])
        store.remove(key)
        #expect(store[key] == 0)
        try await store.flush()
        #expect(try storage.entries.isEmpty)
    }

    @Test("A removal of a value just moved by reading is written, whatever others store under the earlier name", arguments: Fixture.quick)
    func removalOfMoved(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5])
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        #expect(store[key] == 5)
        store.remove(key)
        _ = try storage.edit { $0["period"] = 9 }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries.isEmpty)
        #expect(store[key] == 0)
    }

    @Test("A closed store still reads earlier names", arguments: Fixture.quick)
    func closed(fixture: Fixture) async throws {
        let store = try fixture.make(["period": 5]).open()
        try await store.close()
        #expect(store[key] == 5)
        let value = try store.value(for: key)
        #expect(value == 5)
        #expect(throws: StorageError.closed) { try store.modify(key) { $0 += 1 } }
    }

    @Test("An observer receives what another process stores under an earlier name", arguments: Fixture.allCases)
    func observed(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        var values = store.values(of: key).makeAsyncIterator()
        let tracked = Recorder<Bool>()
        let stored = store.stored(note)
        withObservationTracking {
            _ = stored.value
        } onChange: {
            tracked.record(true)
        }
        #expect(await values.next() == 0)
        _ = try storage.edit { entries in
            entries["interval"] = 7
            entries["remark"] = "a"
        }
        #expect(await values.next() == 7)
        _ = try await tracked.elements(count: 1)
        #expect(stored.value == "a")
        #expect(store[key] == 7)
    }

    @Test("A scene that writes through replaces the application's value under the earlier name")
    func lastValue() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["period": 5]))
        let scene = SceneStore(sceneID: "one", base: store, writesThrough: true)
        scene[key] = 8
        #expect(store.entries == ["delay": 8, "scenes/one/delay": 8])
        store.remove(key)
        #expect(store[key] == 0)
    }
}
