import Dispatch
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Presence", .timeLimit(.minutes(10)))
struct PresenceTests {
    private static let key = StorageKey<String?>("workers/7")
    private let backend = InMemoryBackend()

    @Test("Another store sees the entry until the presence ends")
    func seen() async throws {
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        var values = other.values(of: Self.key).makeAsyncIterator()
        #expect(await values.next() == .some(nil))
        let presence = try await store.presence("workers/7", "here")
        #expect(await values.next() == "here")
        try await presence.end()
        #expect(await values.next() == .some(nil))
        #expect(backend.load()["workers/7"] == nil)
        try await presence.end()
        try await store.close()
        try await other.close()
    }

    @Test("An entry is removed after its presence is released")
    func released() async throws {
        let store = try ObservableStore(backend: backend)
        var values = store.values(of: Self.key).makeAsyncIterator()
        do {
            let presence = try await store.presence("workers/7", "here")
            while let value = await values.next(), value != "here" {}
            withExtendedLifetime(presence) {}
        }
        while let value = await values.next(), value != nil {}
        #expect(backend.load()["workers/7"] == nil)
        try await store.close()
    }

    @Test("What another store has set under the name stays")
    func replaced() async throws {
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        let presence = try await store.presence("workers/7", "here")
        try await other.update { $0[Self.key] = "there" }
        try await presence.end()
        #expect(backend.load()["workers/7"] == "there")
        try await store.close()
        try await other.close()
    }

    @Test("What another thread sets as soon as it sees the presence stays")
    func replacedAtOnce() async throws {
        for _ in 0..<20 {
            let backend = InMemoryBackend()
            // Each edit takes the longer, the more stores watch.
            let queue = DispatchQueue(label: "watches")
            let watches = (0..<500).map { _ in backend.watch(since: nil, on: queue) { _ in } }
            let isReplaced = Recorder<Bool>()
            Thread.detachNewThread {
                while backend.load()["a"] == nil { sched_yield() }
                do { isReplaced.record(try backend.edit { $0["a"] = "there" }["a"] == "there") } catch { Issue.record(error) }
            }
            let store = try ObservableStore(backend: backend)
            let presence = try await store.presence("a", "here")
            _ = try await isReplaced.elements(count: 1)
            try await presence.end()
            #expect(backend.load()["a"] == "there")
            withExtendedLifetime(watches) {}
            try await store.close()
        }
    }

    @Test("A later presence under the name outlives an earlier one, also with an equal value")
    func successor() async throws {
        let store = try ObservableStore(backend: backend)
        let earlier = try await store.presence("workers/7", "here")
        let later = try await store.presence("workers/7", "here")
        try await earlier.end()
        #expect(backend.load()["workers/7"] == "here")
        try await later.end()
        #expect(backend.load()["workers/7"] == nil)
        try await store.close()
    }

    @Test("A file does not remove entries by itself: the error says so, and nothing is stored")
    func file() async throws {
        let folder = try TemporaryFolder()
        let store = try ObservableStore(at: folder.file("a.plist"))
        let error = await #expect(throws: StorageError.self) { _ = try await store.presence("workers/7", "here") }
        #expect("\(try #require(error))".contains("does not remove entries when a process ends"))
        #expect(store.snapshot.entries.isEmpty)
        try await store.close()
    }

    @Test("A name whose value is mandatory has no presence: nobody would see it")
    func mandatory() async throws {
        let layer = InMemoryBackend(["workers/7": "prescribed"])
        let store = try ObservableStore(backend: backend, defaults: [], mandatory: [layer])
        await #expect(throws: StorageError.mandatory(key: "workers/7")) { _ = try await store.presence("workers/7", "here") }
        #expect(backend.load()["workers/7"] == nil)
        try await store.close()
    }

    @Test("A store that is closed has no presence, and nil is no value of one")
    func refused() async throws {
        let store = try ObservableStore(backend: backend)
        await #expect(throws: StorageError.unencodable(key: "workers/7", reason: "nil is no value of a presence")) {
            _ = try await store.presence("workers/7", String?.none)
        }
        try await store.close()
        await #expect(throws: StorageError.closed) { _ = try await store.presence("workers/7", "here") }
        #expect(backend.load()["workers/7"] == nil)
    }
}
