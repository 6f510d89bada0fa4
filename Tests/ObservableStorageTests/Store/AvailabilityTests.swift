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
