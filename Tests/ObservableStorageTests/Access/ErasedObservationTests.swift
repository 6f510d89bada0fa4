import ObservableStorage
import Observation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Observing keys that are known at run time", .timeLimit(.minutes(10)))
struct ErasedObservationTests {
    private struct AppKeys: KeyGroup {
        let count = StorageKey("count", default: 0)
        let text = StorageKey("text", default: "").renamed(from: "note")
        let port = StorageKey<Int?>("server", "port")
        let token = StorageKey<String?>("erasedToken").secret()
    }

    private let backend = InMemoryBackend()
    private let store: ObservableStore
    private let settings: KeyedStore<AppKeys>

    init() throws {
        store = try ObservableStore(backend: backend)
        settings = KeyedStore(store)
    }

    @Test("A value has its present value and each newer one, by whomever it was set")
    func values() async throws {
        settings.count = 1
        let value = AnyStoredValue(settings.stored(\.count))
        var values = store.values(ofAll: [value]).makeAsyncIterator()
        #expect(await values.next() == [1])
        settings.count = 2
        #expect(await values.next() == [2])
        let other = try ObservableStore(backend: backend)
        try await store.flush()
        try await other.update { $0[StorageKey("count", default: 0)] = 3 }
        #expect(await values.next() == [3])
        value.remove()
        #expect(await values.next() == [0])
    }

    @Test("Every change of each key of a list is told, with its values as a property list")
    func changes() async throws {
        var changes = store.changes(of: settings.storedValues).makeAsyncIterator()
        settings.text = "a"
        settings.port = 80
        settings.edit { edit in
            edit.count = 1
            edit.text = "b"
        }
        settings.token = "secret"
        settings.port = nil
        let first = try #require(await changes.next())
        #expect((first.key, first.oldValue, first.newValue, first.kind) == ("text", "", "a", .set))
        let second = try #require(await changes.next())
        #expect((second.key, second.oldValue, second.newValue) == (".server.port", nil, 80))
        let pair = [try #require(await changes.next()), try #require(await changes.next())]
        #expect(Set(pair.map(\.key)) == ["count", "text"])
        #expect(pair[0].revision == pair[1].revision)
        let secret = try #require(await changes.next())
        #expect((secret.key, secret.newValue, secret.isSecret) == ("erasedToken", "<redacted>", true))
        let removal = try #require(await changes.next())
        #expect((removal.key, removal.oldValue, removal.newValue, removal.kind) == (".server.port", 80, nil, .removed))
    }

    @Test("Each element of a list's values is one revision")
    func combined() async throws {
        let list = [AnyStoredValue(settings.stored(\.text)), AnyStoredValue(settings.stored(\.count))]
        var values = store.values(ofAll: list).makeAsyncIterator()
        #expect(await values.next() == ["", 0])
        for number in 1...100 {
            settings.edit { edit in
                edit.count = number
                edit.text = "\(number)"
            }
        }
        while let element = await values.next() {
            #expect(element[0]?.string == element[1]?.int.map { "\($0)" })
            if element[1] == 100 { break }
        }
    }

    @Test("Streams end with the store")
    func end() async throws {
        let (changes, values) = (store.changes(of: settings.storedValues), store.values(ofAll: settings.storedValues))
        try await store.close()
        for await _ in changes {}
        for await _ in values {}
    }

    @Test("Streams of no keys have the one element there is, nothing at a change, and end with the store")
    func noKeys() async throws {
        struct NoKeys: KeyGroup {}
        let (changes, values) = (store.changes(of: []), store.values(ofAll: []))
        let snapshots = KeyedStore<NoKeys>(store).snapshots()
        settings.count = 1
        try await store.close()
        for await change in changes { Issue.record("\(change)") }
        var seen = (values: [[PropertyListValue?]](), snapshots: 0)
        for await element in values { seen.values.append(element) }
        for await _ in snapshots { seen.snapshots += 1 }
        #expect(seen.values == [[]] && seen.snapshots == 1)
        for await _ in store.values(ofAll: []) { break }
        for await change in store.changes(of: []) { Issue.record("\(change)") }
    }

    @Test("everyListener mutes the listeners of an edit, but no stream and no view")
    func muting() async throws {
        let seenByListener = Recorder<Int>()
        let token = settings.addUpdateListener(for: \.count) { seenByListener.record($0.newValue) }
        defer { withExtendedLifetime(token) {} }
        let view = ObservableValues(settings)
        let isTold = Recorder<Bool>()
        await MainActor.run {
            withObservationTracking {
                _ = view.count
            } onChange: {
                isTold.record(true)
            }
        }
        var changes = settings.changes(of: \.count).makeAsyncIterator()
        settings.edit(muting: .everyListener) { $0.count = 1 }
        try store.set(2, for: AppKeys().count, muting: .everyListener)
        settings.stored(\.count).remove(muting: .everyListener)
        #expect(try await isTold.elements(count: 1) == [true])
        #expect(seenByListener.elements == [])
        settings.count = 3
        #expect(seenByListener.elements == [3])
        var seen: [Int] = []
        for _ in 0..<4 { seen.append(try #require(await changes.next()).newValue) }
        #expect(seen == [1, 2, 0, 3])
        ObservationToken.everyListener.cancel()
        settings.edit(muting: .everyListener) { $0.count = 4 }
        #expect(seenByListener.elements == [3])
    }
}
