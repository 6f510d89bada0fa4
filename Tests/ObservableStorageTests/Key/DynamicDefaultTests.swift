import Observation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// Counts the evaluations of a default.
private final class Counter: Sendable {
    private let number = Lock(0)

    var count: Int { number.withLock { $0 } }

    func next() -> Int {
        number.withLock { number in
            number += 1
            return number
        }
    }
}

@Suite("Defaults that each read evaluates", .timeLimit(.minutes(10)))
struct DynamicDefaultTests {
    private let counter = Counter()
    private let store: ObservableStore
    private let key: StorageKey<Int>

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
        key = StorageKey("dynamic", default: 0).dynamicDefault { [counter] in counter.next() }
    }

    private struct Keys: KeyGroup {
        static let counter = Counter()
        let count = StorageKey("dynamicCount", default: 0).dynamicDefault { Keys.counter.next() }
    }

    @Test("Each read evaluates it while no value is stored, and none does afterwards")
    func reading() throws {
        #expect([store[key], store[key], store[key]] == [1, 2, 3])
        #expect(store.snapshot[key] == 4)
        store[key] = 100
        #expect([store[key], store[key]] == [100, 100])
        #expect(counter.count <= 6)
        let before = counter.count
        store.remove(key)
        #expect(store[key] == before + 1)
        #expect(store[key] == before + 2)
        store[key] += 10
        #expect(store.entries["dynamic"] == .integer(PropertyListInteger(Int64(before + 13))))
    }

    @Test("So do handles, properties of a group, and keys of a scene")
    func handles() {
        let stored = store.stored(key)
        #expect(stored.value != stored.value)
        let settings = KeyedStore<Keys>(store)
        #expect(settings.count != settings.count)
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[key] != scene[key])
        scene[key] = 5
        #expect(scene[key] == 5)
    }

    @Test("A registered value precedes it, and a stored value that cannot be decoded does not keep one")
    func others() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["dynamic": "text"]))
        #expect(store[key] != store[key])
        #expect(throws: StorageError.self) { try store.value(for: key) }
        store.remove(key)
        try store.register(7, for: key)
        #expect([store[key], store[key]] == [7, 7])
    }

    @Test("A snapshot and a transaction evaluate it once in each read of a value that cannot be decoded")
    func invalid() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["dynamic": "text"]))
        let snapshot = store.snapshot
        #expect([snapshot[key], snapshot[key]] == [1, 2])
        #expect(store.edit { [$0[key], $0[key]] } == [3, 4])
    }

    @Test("A key with a codec evaluates it as well")
    func codec() {
        let key = StorageKey("coded", codec: .json, default: 0).dynamicDefault { [counter] in counter.next() }
        #expect(store[key] != store[key])
        store[key] = 5
        #expect(store[key] == 5)
    }

    @Test("So does a key of an optional, of a value in a dictionary, and one that is changed afterwards")
    func forms() {
        let plain = StorageKey<String?>("dynamicServer", "name").dynamicDefault { [counter] in "\(counter.next())" }
        let name = plain.renamed(from: "dynamicName").secret()
        #expect([store[name], store[name]] == ["1", "2"])
        store[name] = "a"
        #expect(store[name] == "a")
        store[name] = nil
        #expect([store[name], store[name]] == ["3", "4"])
    }

    @Test("One that is persisted is evaluated until it is stored")
    func persisted() {
        let key = StorageKey("persisted", persistsDefault: .whenMissing, default: 0).dynamicDefault { [counter] in counter.next() }
        let first = store[key]
        #expect(first > 0)
        #expect([store[key], store[key]] == [first, first])
        #expect(store.entries["persisted"] == .integer(PropertyListInteger(Int64(first))))
    }
}
