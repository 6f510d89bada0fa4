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

    @Test("Earlier names that a naming makes the present one, or the same one, are one", arguments: [true, false])
    func equalNames(isKept: Bool) throws {
        struct Cased: KeyGroup {
            let lost = StorageKey("Delay", default: 0).renamed(from: "delay").renamed(from: "Period").renamed(from: "period")
            let kept = StorageKey("Note", default: 0).renamed(from: "note", keepingOld: true)
        }
        let path: KeyPath<Cased, StorageKey<Int>> = isKept ? \.kept : \.lost
        let store = try ObservableStore(backend: InMemoryBackend(["period": 1]))
        let stored = KeyedStore<Cased>(store, naming: { $0.lowercased() }).stored(path)
        let told = Recorder<Int>()
        let token = stored.addUpdateListener { told.record($0.newValue) }
        for number in 2...4 {
            stored.value = number
            #expect(stored.value == number)
        }
        #expect(told.elements == [2, 3, 4])
        stored.remove()
        #expect(store.entries == (isKept ? ["period": 1] : [:]))
        withExtendedLifetime(token) {}
    }

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

    @Test("Of keys that change in one step, however many, each is told once, whichever of its entries change", arguments: [2, 20])
    func together(count: Int) throws {
        let entries = (0..<count).reduce(into: [String: PropertyListValue]()) { $0["old\($1)"] = 1 }
        let store = try ObservableStore(backend: InMemoryBackend(entries))
        let scene = SceneStore(sceneID: "one", base: store)
        let keys = (0..<count).map { StorageKey("new\($0)", default: 0).renamed(from: "old\($0)") }
        let told = Recorder<String>()
        let tokens = keys.flatMap { key in
            [store.stored(key), scene.stored(key)].map { stored in
                stored.addUpdateListener { told.record("\($0.key) \($0.oldValue) \($0.newValue)") }
            }
        }
        func all(_ values: String) -> [String] {
            (0..<count).flatMap { ["new\($0) \(values)", "scenes/one/new\($0) \(values)"] }.sorted()
        }
        store.edit { transaction in
            for key in keys { transaction[key] = 2 }
        }
        #expect(told.elements.sorted() == all("1 2"))
        store.reset()
        #expect(told.elements.dropFirst(2 * count).sorted() == all("2 0"))
        withExtendedLifetime(tokens) {}
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
        #expect(scene.stored(note).isSet)
        #expect(!scene.stored(key).isSet)
        #expect(scene[key] == 5)
        scene.stored(note).remove()
        #expect(!scene.stored(note).isSet)
        #expect(scene[note] == nil)
        #expect(store.entries == ["period": 5])
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

    @Test("A removal of a value just moved is written, whatever others store under the earlier name", arguments: Fixture.quick)
    func removalOfMoved(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5])
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        try store.migrateValue(of: key)
        #expect(store.entries == ["delay": 5])
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
        #expect(throws: StorageError.closed) { try store.stored(key).modify { $0 += 1 } }
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

    @Test("Reading in any way stores nothing, so that an earlier version of the program still finds its value", arguments: Fixture.quick)
    func reading(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5, "remark": "a", "scenes/one/period": 6])
        let store = try storage.open()
        let changes = store.allChanges()
        #expect(store[key] == 5)
        #expect(try store.value(for: key) == 5)
        #expect(store.snapshot[key] == 5)
        #expect(SceneStore(sceneID: "one", base: store)[key] == 6)
        #expect(KeyedStore<Group>(store).note == "a")
        var values = store.values(of: key).makeAsyncIterator()
        #expect(await values.next() == 5)
        let inTransaction = try await store.update { $0[Group().delay] }
        #expect(inTransaction == 5)
        try await store.close()
        for await change in changes { Issue.record("\(change)") }
        #expect(try storage.entries == ["period": 5, "remark": "a", "scenes/one/period": 6])
    }

    @Test("A key moves on demand, which is no change of its value", arguments: Fixture.quick)
    func moving(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5, "interval": 4])
        let store = try storage.open()
        let (told, all) = (store.changes(of: key), store.allChanges())
        try store.migrateValue(of: key)
        try store.migrateValue(of: key)
        try store.migrateValue(of: note)
        try await store.close()
        #expect(try storage.entries == ["delay": 5])
        for await change in told { Issue.record("\(change)") }
        var origins: [ChangeOrigin] = []
        for await change in all { origins.append(change.origin) }
        #expect(origins == [.migration, .migration, .migration])
    }

    @Test("Observers are told once what counts, under whichever names it was and is stored", arguments: Fixture.quick)
    func changes(fixture: Fixture) async throws {
        let storage = try fixture.make(["interval": 1])
        let store = try storage.open()
        var changes = store.changes(of: key).makeAsyncIterator()
        func edit(_ edits: [String: PropertyListValue?]) throws {
            _ = try storage.edit { entries in for (name, value) in edits { entries[name] = value } }
        }
        for (edits, old, new) in [
            (["period": 2], 1, 2), (["interval": nil, "period": nil, "delay": 3], 2, 3), (["delay": nil, "interval": 4], 3, 4),
            (["interval": nil], 4, 0),
        ] as [([String: PropertyListValue?], Int, Int)] {
            try edit(edits)
            let change = try #require(await changes.next())
            #expect((change.key, change.oldValue, change.newValue, change.origin) == ("delay", old, new, .external))
            #expect(change.kind == (new == 0 ? .removed : .set))
        }
        try edit(["period": 5])
        #expect(await changes.next()?.newValue == 5)
        store[key] = 6
        let change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.origin) == (5, 6, .local))
        #expect(store.entries == ["delay": 6])
    }

    @Test("What is stored under an earlier name beside the key's own value is not used, and told once for each value")
    func superseded() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["delay": 1, "interval": 2, "bad": "x"]))
        var failures = store.failures.makeAsyncIterator()
        let error = StorageError.superseded(key: "delay", earlierName: "interval")
        for _ in 1...2 { #expect(store[key] == 1) }
        store[StorageKey("interval", default: 0)] = 3
        #expect(store[key] == 1)
        #expect(store[StorageKey("bad", default: 0)] == 0)
        #expect(await failures.next() == error)
        #expect(await failures.next() == error)
        #expect(await failures.next() == .undecodable(key: "bad", expected: "Int", found: "string"))
        store[key] = 1
        #expect(store.entries == ["delay": 1, "bad": "x"])
    }

    @Test(
        "A key that keeps an earlier name has its value under both, and tells what is stored there by an earlier version",
        arguments: Fixture.quick)
    func keepingOld(fixture: Fixture) async throws {
        let storage = try fixture.make(["period": 5, "older": 4])
        let store = try storage.open()
        let key = StorageKey("delay", default: 0).renamed(from: "period", keepingOld: true).renamed(from: "older")
        var failures = store.failures.makeAsyncIterator()
        #expect(store[key] == 5)
        store[key] += 1
        #expect(store.entries == ["delay": 6, "period": 6])
        #expect(store[key] == 6)
        try await store.update { $0[key] = 7 }
        #expect(try storage.entries == ["delay": 7, "period": 7])
        #expect(store[key] == 7)
        #expect(store[StorageKey("period", default: "none")] == "none")
        store[StorageKey("period", default: 0)] = 8
        #expect(store[key] == 7)
        #expect(await failures.next() == .undecodable(key: "period", expected: "String", found: "integer"))
        #expect(await failures.next() == .superseded(key: "delay", earlierName: "period"))
        store.remove(key)
        #expect(store.entries.isEmpty)
    }

    @Test(
        "A value under an earlier name is decoded once, and an invalid one leaves the last valid one, told once", arguments: Fixture.quick)
    func decoding(fixture: Fixture) async throws {
        let decoded = Recorder<PropertyListValue>()
        let codec = StorageCodec<String>.custom(
            encode: { .string($0) },
            decode: { stored in
                decoded.record(stored)
                guard case .string(let text) = stored else { throw StorageError.closed }
                return text
            })
        let storage = try fixture.make(["remark": "a"])
        let store = try storage.open()
        let key = StorageKey("note", codec: codec, default: "none").renamed(from: "remark")
        for _ in 1...3 { #expect(store[key] == "a") }
        #expect(decoded.elements == ["a"])
        var failures = store.failures.makeAsyncIterator()
        var all = store.allChanges().makeAsyncIterator()
        _ = try storage.edit { $0["remark"] = 5 }
        _ = await all.next()
        for _ in 1...2 { #expect(store[key] == "a") }
        let failure = try #require(await failures.next())
        #expect(failure.description.hasPrefix("key \"note\": expected String"))
        _ = try storage.edit { $0["remark"] = nil }
        _ = await all.next()
        #expect(store[key] == "none")
        store[key] = "b"
        #expect(store[key] == "b")
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
