import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("A store whose storage is unavailable", .timeLimit(.minutes(10)))
struct AvailabilityTests {
    private let reason = StorageError.unreadable(file: "unreliable", reason: "not mounted")

    /// A store that could not be opened, and its backend.
    private func unopened(_ storage: StorageFixture) throws -> (ObservableStore, UnreliableBackend) {
        let backend = UnreliableBackend(try storage.backend)
        backend.fail(reason)
        return (ObservableStore(backend: backend, layersIfReadable: LayerFiles()), backend)
    }

    @Test("Values are kept in memory, flushing throws the reason, and the availability can be queried")
    func inMemory() async throws {
        let (store, backend) = try unopened(Fixture.memory.make())
        #expect(store.availability == .unavailable(reason))
        await #expect(throws: reason.with(.kept)) { try await store.flush() }
        store[Keys.count] = 5
        #expect(store[Keys.count] == 5)
        await #expect(throws: reason.with(.kept)) { try await store.flush() }
        await #expect(throws: reason.with(.rolledBack)) { try await store.update { $0[Keys.count] = 6 } }
        #expect(await store.failures.first { _ in true } == reason)
        backend.fail(nil)
        try await store.close()
    }

    @Test("Edits made meanwhile are merged into the stored entries after the backend opens by itself", arguments: Fixture.allCases)
    func byItself(fixture: Fixture) async throws {
        let storage = try fixture.make(["count": 1, "text": "stored"])
        let (store, backend) = try unopened(storage)
        let texts = store.changes(of: Keys.text)
        store[Keys.count] = 5
        backend.fail(nil)
        for await availability in store.availabilityUpdates where availability == .available { break }
        #expect(store.entries == ["count": 5, "text": "stored"])
        #expect(try storage.entries == ["count": 5, "text": "stored"])
        let change = await texts.first { _ in true }
        #expect(change?.newValue == "stored" && change?.origin == .external)
        try await store.close()
    }

    @Test("Flushing opens the backend immediately, with and without edits", arguments: [true, false])
    func byFlush(hasEdits: Bool) async throws {
        let storage = try Fixture.memory.make(["text": "stored"])
        let (store, backend) = try unopened(storage)
        if hasEdits { store[Keys.count] = 5 }
        backend.fail(nil)
        try await store.flush()
        #expect(store.availability == .available)
        #expect(store[Keys.text] == "stored")
        #expect(try storage.entries == (hasEdits ? ["count": 5, "text": "stored"] : ["text": "stored"]))
    }

    @Test("An event of the backend opens it immediately, and writes the waiting edits")
    func byReport() async throws {
        let backend = HookedBackend()
        backend.turnBad(true)
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        store[Keys.count] = 5
        await store.settle()
        // Its next scheduled attempt is half a minute away.
        await store.withSchedule { schedule in
            for _ in 0..<11 { _ = schedule.writes.fail() }
        }
        backend.turnBad(false)
        backend.report(.changed)
        for await availability in store.availabilityUpdates where availability == .available { break }
        #expect(backend.memory.load().values == ["count": 5])
    }

    @Test("While the stored values are unknown, reading writes no default and does not rely on an earlier name")
    func noDefaults() async throws {
        let storage = try Fixture.memory.make(["kept": 1])
        let (store, backend) = try unopened(storage)
        let key = StorageKey("kept", persistsDefault: .whenMissing, default: 7)
        #expect(store[key] == 7)
        #expect(store.entries.isEmpty)
        backend.fail(nil)
        try await store.flush()
        #expect(store[key] == 1)
        #expect(try storage.entries == ["kept": 1])
    }

    /// Ways to remove the value of a key.
    enum Removal: CaseIterable {
        case setNil, remove, edit, reset

        func callAsFunction(_ key: StorageKey<String?>, in store: ObservableStore) {
            switch self {
            case .setNil: store[key] = nil
            case .remove: store.remove(key)
            case .edit: store.edit { $0[key] = nil }
            case .reset: store.reset()
            }
        }
    }

    @Test("What is removed before the stored values are known is removed from the storage", arguments: Removal.allCases)
    func removed(removal: Removal) async throws {
        let key = StorageKey<String?>("text")
        let storage = try Fixture.memory.make(["text": "stored", "count": 1])
        let (store, backend) = try unopened(storage)
        let changes = store.changes(of: key)
        removal(key, in: store)
        // Set after it, so that it is kept.
        store[Keys.count] = 5
        backend.fail(nil)
        try await store.flush()
        #expect(store[key] == nil)
        #expect(try storage.entries == ["count": 5])
        try await store.close()
        for await change in changes { Issue.record("nobody has seen \(change)") }
    }

    @Test("A removal alone is flushed, and written when the store is released", arguments: Removal.allCases, [true, false])
    func removedAlone(removal: Removal, isFlushed: Bool) async throws {
        let key = StorageKey<String?>("text")
        let storage = try Fixture.memory.make(["text": "stored"])
        let other = try storage.open()
        let values = other.values(of: key)
        try await {
            let (store, backend) = try unopened(storage)
            removal(key, in: store)
            backend.fail(nil)
            if isFlushed { try await store.flush() }
        }()
        for await value in values where value == nil { break }
        #expect(try storage.entries.isEmpty)
        try await other.close()
    }

    @Test("A removal inside a dictionary leaves other values there")
    func removedInside() async throws {
        let storage = try Fixture.memory.make(["window": ["width": 5, "height": 6]])
        let (store, backend) = try unopened(storage)
        store[StorageKey<Int?>("window", "width")] = nil
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["window": ["height": 6]])
    }

    @Test("A renamed key that was set removes its earlier name, which was not known", arguments: [true, false])
    func renamed(isEdit: Bool) async throws {
        let key = StorageKey("new", default: 0).renamed(from: "old")
        let storage = try Fixture.memory.make(["old": 3])
        let (store, backend) = try unopened(storage)
        if isEdit { store.edit { $0[key] = 4 } } else { store[key] = 4 }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["new": 4])
    }

    @Test("A value that is removed and set again, both before it is known, is written")
    func setAgain() async throws {
        let storage = try Fixture.memory.make(["text": "stored"])
        let (store, backend) = try unopened(storage)
        store[Keys.text] = "first"
        store.remove(Keys.text)
        store[Keys.text] = "second"
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["text": "second"])
    }

    private let host = StorageKey<String?>("server", "host")
    private let port = StorageKey("server", "port", default: 1)

    /// What an edit of an unopened store makes of `server: {host: old, port: 80}`.
    private func opened(after edit: (ObservableStore) -> Void) async throws -> [String: PropertyListValue] {
        let storage = try Fixture.memory.make(["server": ["host": "old", "port": 80]])
        let (store, backend) = try unopened(storage)
        edit(store)
        backend.fail(nil)
        try await store.flush()
        let entries = try storage.entries
        #expect(store.entries == entries)
        try await store.close()
        return entries
    }

    @Test("A dictionary of which some values are known is not modified, nor are others in it")
    func partlyKnown() async throws {
        let server = StorageKey<[String: PropertyListValue]>("server", default: [:])
        let entries = try await opened { store in
            store[host] = "new"
            store[server]["port"] = 1
            store[port] += 1
            store.edit { $0[port] += 1 }
        }
        #expect(entries == ["server": ["host": "new", "port": 80]])
        let edited = try await opened { store in
            store.edit { transaction in
                transaction[host] = "new"
                transaction[port] += 1
            }
        }
        #expect(edited == ["server": ["host": "old", "port": 80]])
    }

    @Test("After a reset, values inside dictionaries are the only ones there, and known")
    func resetDictionary() async throws {
        let set = try await opened { store in
            store.reset()
            store[port] = 2
            store[port] += 1
        }
        #expect(set == ["server": ["port": 3]])
        let removed = try await opened { store in
            store.remove(port)
            store.reset()
        }
        #expect(removed.isEmpty)
    }

    @Test("A value that a closure removes inside a dictionary is removed, also beside one that was set there")
    func removedInsideByEdit() async throws {
        let entries = try await opened { store in
            store[host] = "new"
            store.edit { $0.remove(port) }
        }
        #expect(entries == ["server": ["host": "new"]])
    }

    @Test("A renamed key inside a dictionary removes its earlier name", arguments: [true, false])
    func renamedInside(isRemoved: Bool) async throws {
        let key = port.renamed(from: "port")
        let storage = try Fixture.memory.make(["port": 80])
        let (store, backend) = try unopened(storage)
        if isRemoved { store.remove(key) } else { store[key] = 2 }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == (isRemoved ? [:] : ["server": ["port": 2]]))
    }

    @Test("A removal that is discarded is not made later")
    func discardedRemoval() async throws {
        let storage = try Fixture.memory.make(["text": "stored"])
        do {
            let (store, backend) = try unopened(storage)
            store.reset()
            try await store.close(discardingEdits: true)
            #expect(store.unwrittenKeys.isEmpty && !store.cache.update { $0.entries.hasPending })
            backend.fail(nil)
        }
        #expect(try storage.entries == ["text": "stored"])
    }

    @Test("A modification of a value that is not known is reported, and overwrites nothing")
    func modified() async throws {
        let storage = try Fixture.memory.make(["count": 41])
        let (store, backend) = try unopened(storage)
        store[Keys.count] += 1
        #expect(throws: StorageError.self) { try store.stored(Keys.count).modify { $0 += 1 } }
        store.edit { $0[Keys.count] += 1 }
        #expect(store.entries.isEmpty)
        // What was set is known.
        let other = StorageKey("other", default: 0)
        store[other] = 1
        store[other] += 1
        store.edit { $0[other] += 1 }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["count": 41, "other": 3])
        store[Keys.count] += 1
        #expect(store[Keys.count] == 42)
        try await store.close()
        var failures = 0
        for await case .unencodable(key: "count", _, _) in store.failures { failures += 1 }
        #expect(failures == 2)
    }

    @Test("A store that cannot write is unavailable until it can", arguments: Fixture.allCases)
    func unwritable(fixture: Fixture) async throws {
        let backend = UnreliableBackend(try fixture.make().backend)
        let store = try ObservableStore(backend: backend)
        #expect(store.availability == .available)
        let failure = StorageError.unwritable(file: "unreliable", reason: "full", edits: .kept)
        backend.fail(failure)
        store[Keys.count] = 5
        for await availability in store.availabilityUpdates where availability == .unavailable(failure) { break }
        backend.fail(nil)
        try await store.flush()
        #expect(store.availability == .available)
    }

    @Test("A file that is repaired is opened, and keeps its content", arguments: ["{", "bad"])
    func repaired(content: String) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        try Data(content.utf8).write(to: file)
        let backend = PropertyListFile(withoutPausesAt: file)
        #expect(throws: StorageError.self) { try backend.load() }
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        store[Keys.count] = 5
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(try Data(contentsOf: file) == Data(content.utf8))
        try PropertyListValue.dictionary(["text": "stored"]).encoded(as: .xml).write(to: file, options: .atomic)
        for await availability in store.availabilityUpdates where availability == .available { break }
        #expect(try PropertyListFile(at: file).load().values == ["count": 5, "text": "stored"])
        try await store.close()
    }
}
