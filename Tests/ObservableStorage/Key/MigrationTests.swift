import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct Refusal: Error {}

@Suite("Migrations", .timeLimit(.minutes(5)))
struct MigrationTests {
    private let interval = StorageKey("interval", default: 60).migrating(from: Double.self) { Int($0) }.migrating(from: String.self) {
        guard let number = Int($0) else { throw Refusal() }
        return number
    }

    @Test(
        "Each earlier shape is read, and replaced by the present one",
        arguments: [(PropertyListValue.real(90.5), 90), ("120", 120), (30, 30)])
    func chain(stored: PropertyListValue, value: Int) async throws {
        let backend = InMemoryBackend(["interval": stored])
        let store = try ObservableStore(backend: backend)
        let changes = store.allChanges
        #expect(store[interval] == value)
        #expect(store[interval] == value)
        try await store.close()
        #expect(backend.load().values == ["interval": .integer(PropertyListInteger(Int64(value)))])
        var origins: [ChangeOrigin] = []
        for await change in changes { origins.append(change.origin) }
        #expect(origins == (stored == 30 ? [] : [.migration]))
    }

    @Test("A migration that throws leaves what is stored as it was")
    func failure() async throws {
        let backend = InMemoryBackend(["interval": "soon"])
        let store = try ObservableStore(backend: backend)
        #expect(store[interval] == 60)
        #expect(throws: StorageError.self) { try store.value(for: interval) }
        try await store.close()
        #expect(backend.load().values == ["interval": "soon"])
    }

    @Test("An observer sees the migrated value, also of what another process writes in an earlier shape")
    func observed() async throws {
        let backend = InMemoryBackend(["interval": "5"])
        let store = try ObservableStore(backend: backend)
        var values = store.values(of: interval).makeAsyncIterator()
        #expect(await values.next() == 5)
        _ = try backend.edit { $0["interval"] = .real(7) }
        #expect(await values.next() == 7)
    }

    @Test("What reading makes of a stored value is not written over what another process stored in its place")
    func race() async throws {
        let backend = UnreliableBackend(InMemoryBackend(["interval": "5", "period": 1, "kept": "x"]))
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        #expect(store[interval] == 5)
        #expect(store[StorageKey("delay", default: 0).renamed(from: "period")] == 1)
        #expect(store[StorageKey("kept", persistsDefault: .onFailure, default: 3)] == 3)
        #expect(store.entries == ["interval": 5, "delay": 1, "kept": 3])
        _ = try backend.memory.edit { entries in
            entries["interval"] = 7
            entries["period"] = 2
        }
        backend.fail(nil)
        try await store.flush()
        #expect(backend.memory.load().values == ["interval": 7, "period": 2, "kept": 3])
        #expect(store.entries == ["interval": 7, "period": 2, "kept": 3])
        #expect(store[StorageKey("delay", default: 0).renamed(from: "period")] == 2)
    }

    @Test("What is set meanwhile is written, whatever was stored before")
    func settingAfterMigration() async throws {
        let backend = UnreliableBackend(InMemoryBackend(["interval": "5"]))
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        #expect(store[interval] == 5)
        store[interval] = 6
        _ = try backend.memory.edit { $0["interval"] = 7 }
        backend.fail(nil)
        try await store.flush()
        #expect(backend.memory.load().values == ["interval": 6])
    }

    @Test("A renamed entry moves, with its shape, unless the new name is taken")
    func renaming() async throws {
        let key = interval.renamed(from: "period").renamed(from: "delay")
        let backend = InMemoryBackend(["delay": "10", "period": .real(20)])
        let store = try ObservableStore(backend: backend)
        #expect(store[key] == 20)
        #expect(store.entries == ["interval": 20, "delay": "10"])
        #expect(store[key] == 20)
        store[key] = 30
        try await store.close()
        #expect(backend.load().values == ["interval": 30, "delay": "10"])
    }

    @Test("Reading writes the default only where the key asks for it")
    func persistedDefaults() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["bad": "x"]))
        #expect(store[StorageKey("missing", default: 1)] == 1)
        #expect(store[StorageKey("bad", persistsDefault: .whenMissing, default: 1)] == 1)
        #expect(store.entries == ["bad": "x"])
        #expect(store[StorageKey("missing", persistsDefault: .whenMissing, default: 1)] == 1)
        #expect(store[StorageKey("bad", persistsDefault: .onFailure, default: 2)] == 2)
        #expect(store.entries == ["missing": 1, "bad": 2])
    }

    @Test("Numbered migrations run once, in order, across stores", arguments: Fixture.allCases)
    func numbered(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let runs = Recorder<Int>()
        let migrations = [
            StoreMigration(to: 2) { transaction in
                runs.record(2)
                transaction[Keys.count] *= 10
            },
            StoreMigration(to: 1) { transaction in
                runs.record(1)
                transaction[Keys.count] = 4
            },
        ]
        let stores = [try storage.open(), try storage.open()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try await store.migrate(migrations) } }
            try await group.waitForAll()
        }
        try await stores[0].migrate(migrations)
        // In memory nobody waits for a lock: who was slower runs again, and finds that there is nothing left to do.
        if fixture == .file { #expect(runs.elements == [1, 2]) }
        let store = try storage.open()
        #expect(store[Keys.count] == 40)
        #expect(store.version == 2)
    }

    @Test("A numbered migration that throws leaves everything as it was")
    func numberedFailure() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1]))
        await #expect(throws: Refusal.self) {
            try await store.migrate([StoreMigration(to: 1) { $0[Keys.count] = 9 }, StoreMigration(to: 2) { _ in throw Refusal() }])
        }
        #expect(store.entries == ["count": 1])
        #expect(store.version == 0)
    }

    @Test("Entries of another storage are imported once, and what is here already is kept")
    func importing() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1]))
        let old = InMemoryBackend(["count": 7, "text": "old"])
        try await store.importEntries(from: old, once: "old settings")
        #expect(store[Keys.count] == 1)
        #expect(store[Keys.text] == "old")
        store.remove(Keys.text)
        try await store.importEntries(from: old, once: "old settings")
        #expect(!store.isSet(Keys.text))
    }
}
