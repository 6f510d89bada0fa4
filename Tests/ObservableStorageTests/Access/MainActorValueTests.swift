import Dispatch
import Observation
import TestSupport
import Testing

@testable import ObservableStorage

private struct PlayerKeys: KeyGroup {
    let volume = StorageKey("volume", default: 0)
    let title = StorageKey("title", default: "")
    let debug = DebugKeys()

    struct DebugKeys: KeyGroup {
        let level = StorageKey("level", default: 0)
        var prefix: String? { "debug" }
    }
}

private struct RangeKeys: KeyGroup {
    let low = StorageKey("low", default: 0)
    let high = StorageKey("high", default: 10)

    func validate(_ snapshot: KeyedSnapshot<Self>) throws {
        if snapshot.low > snapshot.high { throw CancellationError() }
    }
}

/// Values that notify views.
@Suite("Values on the main actor", .timeLimit(.minutes(10)))
@MainActor
struct MainActorValueTests {
    private let store: ObservableStore
    private let woken = Recorder<String>()

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    private func value<Value>(_ key: StorageKey<Value>) -> MainActorValue<Value> {
        let value = MainActorValue<Value> { [store] in store.stored(key) }
        value.connect(StoredValueID(store: store, key: key.definition.id)) { store.stored(key) }
        return value
    }

    private func track<Value>(_ name: String, _ read: () -> Value) -> Value {
        withObservationTracking(read) { [woken] in
            MainActor.preconditionIsolated()
            woken.record(name)
        }
    }

    /// Waits until everything that was scheduled on the main queue before has run.
    private func mainQueue() async {
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    }

    @Test("A change made on the main actor notifies before its setter returns, through the store or the value")
    func synchronous() {
        let count = value(Keys.count)
        #expect(track("first") { count.value } == 0)
        store[Keys.count] = 1
        #expect(woken.elements == ["first"])
        #expect(track("second") { count.value } == 1)
        count.value = 2
        #expect(woken.elements == ["first", "second"])
        #expect(store[Keys.count] == 2)
    }

    @Test("Changes of other keys, and setting an equal value, do not notify")
    func otherKeys() {
        let (count, text) = (value(Keys.count), value(Keys.text))
        store[Keys.count] = 1
        _ = track("count") { count.value }
        _ = track("text") { text.value }
        store[Keys.count] = 1
        store[Keys.text] = "a"
        #expect(woken.elements == ["text"])
    }

    @Test("A change made by another thread or another store notifies on the main actor", arguments: [false, true])
    func elsewhere(isExternal: Bool) async throws {
        let backend = InMemoryBackend()
        let (mine, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        let count = MainActorValue(mine.stored(Keys.count))
        _ = track("count") { count.value }
        await Task.detached { (isExternal ? other : mine)[Keys.count] = 1 }.value
        _ = try await woken.elements(count: 1)
        #expect(count.value == 1)
    }

    @Test("A read that stores the default of the key notifies nobody until the present work of the main actor is done")
    func storedDefault() async throws {
        let persisted = StorageKey("new", persistsDefault: .whenMissing, default: "a")
        // The default is stored when the key is read, not when it is connected.
        let (count, text) = (value(StorageKey("new", default: "")), MainActorValue { [store] in store.stored(persisted) })
        #expect(track("text") { count.value } == "")
        #expect(woken.elements == [])
        #expect(text.value == "a")
        #expect(store[StorageKey("new", default: "")] == "a")
        #expect(woken.elements == [])
        await mainQueue()
        #expect(woken.elements == ["text"])
    }

    @Test("Connecting to a key whose default it stores notifies nobody until the present work of the main actor is done")
    func defaultStoredByConnecting() async {
        let plain = value(StorageKey("new", default: ""))
        _ = track("plain") { plain.value }
        let persisted = value(StorageKey("new", persistsDefault: .whenMissing, default: "a"))
        #expect(woken.elements == [])
        #expect(persisted.value == "a")
        await mainQueue()
        #expect(woken.elements == ["plain"])
    }

    @Test("Connecting again to the same value does nothing, and creates no key")
    func sameConnection() async {
        let count = value(Keys.count)
        _ = track("count") { count.value }
        count.connect(StoredValueID(store: store, key: Keys.count.definition.id)) {
            Issue.record("not needed")
            return store.stored(Keys.count)
        }
        await mainQueue()
        #expect(woken.elements == [])
        store[Keys.count] = 1
        #expect(woken.elements == ["count"])
    }

    @Test("After connecting to another store, its values are read and observed, and those of the first are not")
    func anotherStore() async throws {
        let other = try ObservableStore(backend: InMemoryBackend(["count": 5]))
        let count = value(Keys.count)
        _ = track("connected") { count.value }
        count.connect(StoredValueID(store: other, key: Keys.count.definition.id)) { other.stored(Keys.count) }
        #expect(woken.elements == [])
        await mainQueue()
        #expect(woken.elements == ["connected"])
        #expect(track("other") { count.value } == 5)
        store[Keys.count] = 1
        #expect(woken.elements == ["connected"])
        other[Keys.count] = 6
        #expect(woken.elements == ["connected", "other"])
    }

    @Test("It can be connected on any thread, by several at once")
    func anyThread() async {
        let count = MainActorValue { [store] in store.stored(Keys.count) }
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<8 {
                tasks.addTask { [store] in
                    let key = StorageKey("count\(number % 2)", default: 0)
                    count.connect(StoredValueID(store: store, key: key.name)) { store.stored(key) }
                }
            }
        }
        await mainQueue()
        let key = StorageKey("count1", default: 0)
        count.connect(StoredValueID(store: store, key: key.name)) { store.stored(key) }
        await mainQueue()
        _ = track("count") { count.value }
        store[StorageKey("count0", default: 0)] = 1
        #expect(woken.elements == [])
        store[key] = 1
        #expect(woken.elements == ["count"])
    }

    @Test("Before it is connected, it reads and sets the value, and subscribes to nothing")
    func unconnected() {
        let count = MainActorValue { [store] in store.stored(Keys.count) }
        #expect(track("count") { count.value } == 0)
        count.value = 1
        #expect(store[Keys.count] == 1 && count.value == 1)
        #expect(woken.elements == [])
    }

    @Test("A default that is stored by reading it through the store notifies soon after the read")
    func defaultStoredByReading() async {
        let key = StorageKey("count", persistsDefault: .whenMissing, default: 7)
        let count = value(Keys.count)
        _ = track("count") { count.value }
        #expect(store[key] == 7 && store.isSet(key))
        #expect(woken.elements == [])
        await mainQueue()
        #expect(woken.elements == ["count"])
    }

    @Test("What reading a value sets notifies in order, when the present work of the main actor is done")
    func setByReading() async {
        let (count, text) = (value(Keys.count), value(Keys.text))
        let derived = value(
            StorageKey("derived", default: 0).dynamicDefault { [store] in
                store[Keys.text] += "a"
                store[Keys.count] += 1
                store[Keys.text] += "b"
                return 7
            })
        _ = track("count") { count.value }
        _ = track("text") { text.value }
        #expect(derived.value == 7)
        #expect(woken.elements == [])
        await mainQueue()
        #expect(woken.elements == ["text", "count"])
    }

    @Test("A run loop inside a read neither notifies nor tries again until the read ends")
    func runLoopInsideRead() async {
        let count = value(Keys.count)
        let derived = value(
            StorageKey("derived", default: 0).dynamicDefault { [store, woken] in
                store[Keys.count] += 1
                // As the main queue does in that run loop.
                MainActorRegistrar.notifyPostponed()
                #expect(woken.elements == [] && DeliveryThread.current.afterReading != nil)
                return 7
            })
        _ = track("count") { count.value }
        #expect(derived.value == 7)
        #expect(woken.elements == [] && DeliveryThread.current.afterReading == nil)
        await mainQueue()
        #expect(woken.elements == ["count"])
    }

    @Test("It is not retained by what it observes")
    func released() {
        weak var released: MainActorValue<Int>?
        do {
            let count = value(Keys.count)
            _ = track("count") { count.value }
            released = count
        }
        #expect(released == nil)
        store[Keys.count] = 1
        #expect(woken.elements == [])
    }

    @Test("A value that cannot be stored is reported, and notifies nobody")
    func unencodable() async {
        let key = StorageKey("count", default: 0).validated { if $0 < 0 { throw CancellationError() } }
        let count = value(key)
        _ = track("count") { count.value }
        count.value = -1
        #expect(count.value == 0)
        #expect(woken.elements == [])
        for await failure in store.failures {
            #expect("\(failure)".contains("count"))
            break
        }
    }

    @Test("Modifying in place changes no value that cannot be decoded, and not one that an override hides, as in a keyed store")
    func modifying() async throws {
        let store = try ObservableStore(
            backend: InMemoryBackend(["volume": "garbage", "debug/level": 5]), overrides: [.texts(["debug/level": "100"])])
        let failures = store.failures
        let values = ObservableValues(KeyedStore<PlayerKeys>(store))
        let volume = MainActorValue(values.settings.stored(\.volume))
        _ = track("level") { values.debug.level }
        values.volume += 1
        volume.value += 1
        values.debug.level += 1
        #expect(store.entries == ["volume": "garbage", "debug/level": 6])
        volume.value = 3
        values.volume += 1
        #expect(store.entries["volume"] == 4)
        try await store.close()
        var reported: [StorageError] = []
        for await failure in failures { reported.append(failure) }
        #expect(reported.count == 2)
    }

    @Test("Modifying in place changes no value of a group that is not valid by its rule, and is reported")
    func modifyingInvalid() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["low": 99]))
        let failures = store.failures
        let values = ObservableValues(KeyedStore<RangeKeys>(store))
        #expect(values.low == 99 && values.settings.low == 0)
        values.low += 1
        #expect(store.entries == ["low": 99])
        values.low = 1
        values.low += 1
        #expect(store.entries == ["low": 2])
        try await store.close()
        var reported: [StorageError] = []
        for await failure in failures { reported.append(failure) }
        #expect(reported.first == .invalidGroup(group: "RangeKeys", reason: "CancellationError()"))
    }

    @Test("The values of a group notify for each key, nested groups too, and have the group's names")
    func group() {
        let values = ObservableValues(KeyedStore<PlayerKeys>(store, prefix: "app"))
        _ = track("volume") { values.volume }
        _ = track("title") { values.title }
        _ = track("level") { values.debug.level }
        values.debug.level = 2
        #expect(woken.elements == ["level"])
        store[StorageKey("app/volume", default: 0)] = 3
        #expect(woken.elements == ["level", "volume"])
        #expect(values.volume == 3)
        #expect(values.settings.debug.level == 2 && store.entries["app/debug/level"] == 2)
        // The same object, so that a view that reads one is notified of changes through another.
        #expect(values.debug === values.debug)
    }
}
