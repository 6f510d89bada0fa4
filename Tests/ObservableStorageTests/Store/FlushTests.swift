import Dispatch
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Asynchronous writing", .timeLimit(.minutes(10)))
struct FlushTests {
    private let failure = StorageError.unwritable(file: "unreliable", reason: "the disk is full", edits: .kept)

    @Test("An edit is stored without an explicit flush", arguments: Fixture.allCases)
    func behind(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let (store, other) = (try storage.open(), try storage.open())
        let values = other.values(of: Keys.count)
        store[Keys.count] = 5
        for await value in values where value == 5 { break }
    }

    @Test("Edits made during a flush are stored together by the next one", arguments: Fixture.allCases)
    func groupCommit(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let entered = Recorder<Bool>()
        let gate = DispatchSemaphore(value: 0)
        backend.pause {
            entered.record(true)
            gate.wait()
        }
        store[Keys.count] = 1
        _ = try await entered.elements(count: 1)
        backend.pause(nil)
        for number in 2...1_000 { store[Keys.count] = number }
        gate.signal()
        try await store.flush()
        #expect(backend.edits == 2)
        #expect(try storage.entries == ["count": .integer(1_000)])
    }

    @Test("Writing never waits for a flush", arguments: Fixture.allCases)
    func writersDoNotWait(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let gate = DispatchSemaphore(value: 0)
        let entered = Recorder<Bool>()
        backend.pause {
            entered.record(true)
            gate.wait()
        }
        store[Keys.count] = 1
        _ = try await entered.elements(count: 1)
        backend.pause(nil)
        store[Keys.count] = 2
        #expect(store[Keys.count] == 2)
        gate.signal()
        try await store.flush()
    }

    @Test("A failed flush throws, is reported, keeps its edits, and is retried", arguments: Fixture.allCases)
    func failedFlush(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let other = try storage.open()
        let values = other.values(of: Keys.count)
        let failures = store.failures
        backend.fail(failure)
        store[Keys.count] = 5
        await #expect(throws: failure) { try await store.flush() }
        #expect(await failures.first { _ in true } == failure)
        #expect(store[Keys.count] == 5)
        backend.fail(nil)
        // Not requested: it is the store's next scheduled attempt.
        for await value in values where value == 5 { break }
        try await store.flush()
    }

    @Test("A failure without an observer is delivered to the first one that subscribes, and only to that one", arguments: Fixture.allCases)
    func unheardFailure(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(failure)
        store[Keys.count] = 5
        await #expect(throws: failure) { try await store.flush() }
        backend.fail(nil)
        try await store.flush()
        let (first, second) = (store.failures, store.failures)
        try await store.close()
        var heard: [StorageError] = []
        for await error in first { heard.append(error) }
        #expect(Set(heard) == [failure])
        for await error in second { Issue.record("\(error)") }
    }

    @Test("Edits made after a failed flush take precedence over those that failed", arguments: Fixture.allCases)
    func editsAfterFailure(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(failure)
        store[Keys.count] = 1
        store[Keys.text] = "kept"
        await #expect(throws: failure) { try await store.flush() }
        store[Keys.count] = 2
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["count": .integer(2), "text": .string("kept")])
    }

    @Test("Closing stores everything, finishes every stream, and rejects later edits", arguments: Fixture.allCases)
    func close(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        let changes = store.changes(of: Keys.count)
        store[Keys.count] = 5
        try await store.close()
        #expect(try storage.entries == ["count": .integer(5)])
        #expect(throws: StorageError.closed) { try store.set(6, for: Keys.count) }
        await #expect(throws: StorageError.closed) { try await store.update { $0[Keys.count] = 6 } }
        #expect(store[Keys.count] == 5)
        var seen: [Int] = []
        for await change in changes { seen.append(change.newValue) }
        #expect(seen == [5])
        try await store.close()
    }

    @Test("Closing a store that cannot write leaves it open, and loses nothing", arguments: Fixture.allCases)
    func failedClose(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(failure)
        store[Keys.count] = 5
        await #expect(throws: failure) { try await store.close() }
        store[Keys.count] = 6
        backend.fail(nil)
        try await store.close()
        #expect(try storage.entries == ["count": .integer(6)])
    }

    @Test("A store released with unwritten edits stores them", arguments: Fixture.allCases)
    func released(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let other = try storage.open()
        let values = other.values(of: Keys.count)
        try storage.open()[Keys.count] = 5
        for await value in values where value == 5 { break }
    }

    @Test("Opening a backend that cannot be read throws, and stores nothing")
    func unreadable() throws {
        let backend = UnreliableBackend()
        backend.fail(.unreadable(file: "unreliable", reason: "no permission"))
        #expect(throws: StorageError.unreadable(file: "unreliable", reason: "no permission")) {
            try ObservableStore(backend: backend)
        }
        #expect(backend.edits == 0)
    }
}
