import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A key caches its last read; this must not be observable.
@Suite("Cached reads of a key", .timeLimit(.minutes(10)))
struct RememberedReadingTests {
    @Test("The next read returns what was written, removed, registered or stored by another process since", arguments: Fixture.quick)
    func changes(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let key = StorageKey("count", default: 0)
        let changes = store.changes(of: key)
        #expect(store[key] == 0)
        try store.register(1, for: key)
        #expect(store[key] == 1)
        store[key] = 2
        #expect(store[key] == 2)
        store[StorageKey("count", default: 0)] = 3
        #expect(store[key] == 3)
        store[StorageKey<String?>("count")] = "many"
        #expect(store[key] == 3)
        #expect(throws: StorageError.self) { try store.value(for: key) }
        store.remove(key)
        #expect(store[key] == 1)
        try await store.flush()
        _ = try storage.edit { $0["count"] = 9 }
        #expect(await changes.first { $0.origin == .external }?.newValue == 9)
        #expect(store[key] == 9)
    }

    @Test("A key used with several stores has the value of each")
    func stores() throws {
        let key = StorageKey("count", default: 0)
        let stores = try (1...3).map { try ObservableStore(backend: InMemoryBackend(["count": .integer(PropertyListInteger(Int64($0)))])) }
        for _ in 0..<2 { #expect(stores.map { $0[key] } == [1, 2, 3]) }
        stores[0][key] = 4
        #expect(stores.map { $0[key] } == [4, 2, 3])
    }

    @Test("A key of a scene has the application's newer value, and its own after it is set")
    func scenes() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let value = SceneStore(sceneID: "one", base: store).stored(Keys.count)
        #expect(value.value == 0)
        store[Keys.count] = 1
        #expect(value.value == 1)
        value.value = 2
        store[Keys.count] = 3
        #expect(value.value == 2)
        value.remove()
        #expect(value.value == 3)
    }

    @Test("A renamed key reads the earlier name while its own has no value")
    func earlierNames() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let key = StorageKey("now", default: 0).renamed(from: "before")
        #expect(store[key] == 0)
        store[StorageKey("before", default: 0)] = 5
        #expect(store[key] == 5)
        store[StorageKey("before", default: 0)] = 6
        #expect(store[key] == 6)
        store[StorageKey("now", default: 0)] = 7
        #expect(store[key] == 7)
        #expect(store.entries == ["now": 7, "before": 6])
    }

    @Test("A stored value is decoded once for reading, observing and migrating", arguments: Fixture.quick)
    func decodedOnce(fixture: Fixture) async throws {
        let storage = try fixture.make(["object": "one"])
        let store = try storage.open()
        let decoded = Recorder<String>()
        let key = Object.key(decoded)
        let upkept = key.migrating(from: Int.self) { Object("\($0)") }
        #expect(store[key].name == "one")
        let heard = Recorder<Change<Object>>()
        let token = store.addUpdateListener(for: key) { heard.record($0) }
        let scene = SceneStore(sceneID: "one", base: store)
        for (count, name) in ["two", "three"].enumerated() {
            _ = try storage.edit { $0["object"] = .string(name) }
            _ = try await heard.elements(count: count + 1)
            for _ in 0..<2 {
                #expect(store[key].name == name)
                #expect(store.stored(key).value.name == name)
                #expect(scene[key].name == name)
                #expect(store[upkept].name == name)
                let transactional = try await store.update { $0[key] }
                #expect(transactional.name == name)
            }
        }
        #expect(heard.elements.map(\.oldValue.name) == ["one", "two"])
        #expect(decoded.elements == ["one", "two", "three"])
        withExtendedLifetime(token) {}
    }

    @Test("A number stored by a codec is decoded once for reading and observing", arguments: Fixture.quick)
    func plainDecodedOnce(fixture: Fixture) async throws {
        let storage = try fixture.make(["count": "1"])
        let store = try storage.open()
        let decoded = Recorder<Int>()
        let key = StorageKey<Int>(
            "count",
            codec: .custom(
                encode: { .string("\($0)") },
                decode: { stored in
                    let number = try #require(Int(String(propertyListValue: stored)))
                    decoded.record(number)
                    return number
                }), default: 0)
        let migrating = key.migrating(from: Bool.self) { $0 ? 1 : 0 }
        #expect(store[key] == 1)
        let heard = Recorder<Int>()
        let token = store.addUpdateListener(for: key) { heard.record($0.newValue) }
        for number in 2...3 {
            _ = try storage.edit { $0["count"] = .string("\(number)") }
            _ = try await heard.elements(count: number - 1)
            for _ in 0..<2 {
                #expect(store[key] == number && store.stored(key).value == number && store[migrating] == number)
                #expect(try await store.update { $0[key] } == number)
            }
        }
        #expect(decoded.elements == [1, 2, 3])
        withExtendedLifetime(token) {}
    }

    @Test("Changes that a listener receives later than several others are decoded once each")
    func burst() async throws {
        let (decoded, heard, begun) = (Recorder<String>(), Recorder<String>(), Recorder<Void>())
        let raw = StorageKey<String?>("object")
        let store = try ObservableStore(backend: InMemoryBackend())
        let goesOn = DispatchSemaphore(value: 0)
        let token = store.addUpdateListener(for: Object.key(decoded)) { change in
            if change.newValue.name == "one" {
                begun.record(())
                goesOn.wait()
            }
            heard.record(change.newValue.name)
        }
        Thread.detachNewThread { store[raw] = "one" }
        _ = try await begun.elements(count: 1)
        for name in ["two", "three", "four"] { store[raw] = name }
        goesOn.signal()
        #expect(try await heard.elements(count: 4) == ["one", "two", "three", "four"])
        #expect(decoded.elements == ["one", "two", "three", "four"])
        withExtendedLifetime(token) {}
    }

    @Test("A cached value is not released on the queue of a store whose entry another process removed", arguments: Fixture.quick)
    func releasedElsewhere(fixture: Fixture) async throws {
        let storage = try fixture.make(["object": "one"])
        let store = try storage.open()
        let released = Recorder<Bool>()
        let key = Object.key(Recorder(), onRelease: { [executor = store.executor] in released.record(executor.isCurrent) })
        #expect(store[key].name == "one")
        _ = try storage.edit { $0["object"] = nil }
        #expect(try await released.elements(count: 1) == [false])
        #expect(store[key].name == "")
    }

    @Test(
        "A cached value is released when its entry is removed, and with the store, however long the key lives",
        arguments: [true, false])
    func release(isRemoved: Bool) throws {
        let key = Object.key(Recorder())
        let text = StorageKey("text", default: [""])
        weak var object: Object?
        weak var inherited: Object?
        weak var told: Object?
        do {
            let store = try ObservableStore(backend: InMemoryBackend(["object": "one", "text": ["a"], "told": "one"]))
            object = store[key]
            inherited = SceneStore(sceneID: "one", base: store)[key]
            #expect(object != nil && object === store[key] && inherited === object)
            #expect(store[text] == ["a"])
            let other = key.with { $0.entryName.rename { _ in "told" } }
            let token = store.addUpdateListener(for: other) { _ in }
            store[StorageKey<String?>("told")] = "two"
            told = store[other]
            #expect(told != nil)
            token.cancel()
            if isRemoved {
                store.remove(key)
                store.remove(other)
                #expect(object == nil)
                #expect(told == nil)
                #expect(store[key].name == "")
                store[StorageKey<String?>("object")] = "two"
                #expect(store[key].name == "two")
                object = store[key]
            }
            // Work on the store's queue retains it; the events that it sends to itself come after that.
            for _ in 0..<4 { store.executor.queue.sync {} }
        }
        #expect(object == nil)
        #expect(inherited == nil)
        #expect(told == nil)
    }

    @Test("Entries that nothing retains are removed, retained ones are not")
    func forgotten() {
        var table = EntryTable(["set": 1], store: 1)
        let held = table.ensureEntry("held")
        _ = table.ensureEntry("set")
        for number in 0..<10_000 { _ = table.ensureEntry("name \(number)") }
        #expect(table.entry("held") === held)
        #expect(table["set"] == 1)
        #expect((0..<9_000).allSatisfy { table.entry("name \($0)") == nil })
    }
}

/// A value that records its release and how it was decoded.
private final class Object: Sendable {
    let name: String
    private let onRelease: @Sendable () -> Void

    init(_ name: String, onRelease: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.onRelease = onRelease
    }

    deinit {
        onRelease()
    }

    static func key(_ decoded: Recorder<String>, onRelease: @escaping @Sendable () -> Void = {}) -> StorageKey<Object> {
        StorageKey(
            "object",
            codec: .custom(
                encode: { .string($0.name) },
                decode: { stored in
                    let name = try String(propertyListValue: stored)
                    decoded.record(name)
                    return Object(name, onRelease: onRelease)
                }), default: Object(""))
    }
}
