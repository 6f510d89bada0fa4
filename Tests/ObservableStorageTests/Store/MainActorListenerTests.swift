import Dispatch
import ObservableStorage
import TestSupport
import Testing

private struct CounterKeys: KeyGroup {
    let count = StorageKey("count", default: 0)
}

/// Listeners that are called on the main actor.
@Suite("Listeners on the main actor", .timeLimit(.minutes(10)))
@MainActor
struct MainActorListenerTests {
    private let store: ObservableStore
    private let heard = Recorder<Int>()

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    @Test("A change made on the main actor is delivered before its setter returns")
    func synchronous() {
        let token = store.stored(Keys.count).addMainActorListener { heard.record($0.newValue) }
        store[Keys.count] = 1
        #expect(heard.elements == [1])
        store[Keys.count] = 2
        #expect(heard.elements == [1, 2])
        token.cancel()
        store[Keys.count] = 3
        #expect(heard.elements == [1, 2])
    }

    @Test("The initial value is delivered first, before subscribing returns")
    func initial() {
        let token = store.stored(Keys.count).addMainActorListener(initial: true) { heard.record($0.newValue) }
        #expect(heard.elements == [0])
        store[Keys.count] = 1
        #expect(heard.elements == [0, 1])
        token.cancel()
    }

    @Test("Changes by other threads are delivered on the main actor, in order, each once, with those made there")
    func otherThreads() async throws {
        let token = store.stored(Keys.count).addMainActorListener { change in
            MainActor.preconditionIsolated()
            heard.record(change.newValue)
        }
        // Not delivered while this test occupies the main actor.
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) { [store] in for number in 1...200 { store[Keys.count] = number } }
        group.wait()
        #expect(heard.elements == [])
        for number in 201...250 { store[Keys.count] = number }
        #expect(try await heard.elements(count: 250) == Array(1...250))
        token.cancel()
    }

    @Test("A change that the listener makes is delivered after the present one", arguments: [true, false])
    func reentrant(isOnMainActor: Bool) async throws {
        let nested = Recorder<Int>()
        let token = store.stored(Keys.count).addMainActorListener { [store] change in
            if change.newValue < 3 { store[Keys.count] = change.newValue + 1 }
            nested.record(heard.elements.count)
            heard.record(change.newValue)
        }
        if isOnMainActor {
            store[Keys.count] = 1
            #expect(heard.elements == [1, 2, 3])
        } else {
            DispatchQueue.global().async { [store] in store[Keys.count] = 1 }
            #expect(try await heard.elements(count: 3) == [1, 2, 3])
        }
        #expect(nested.elements == [0, 1, 2])
        token.cancel()
    }

    @Test("After cancelling on the main actor, nothing is delivered, not even what was changed before")
    func cancelled() async throws {
        let token = store.stored(Keys.count).addMainActorListener { heard.record($0.newValue) }
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) { [store] in store[Keys.count] = 1 }
        group.wait()
        token.cancel()
        // Runs after everything that was scheduled before.
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(heard.elements == [])
    }

    @Test("A writer that mutes the token does not receive its own change")
    func muted() throws {
        let token = store.stored(Keys.count).addMainActorListener { heard.record($0.newValue) }
        try store.set(1, for: Keys.count, muting: token)
        try store.set(2, for: Keys.count)
        #expect(heard.elements == [2])
        token.cancel()
    }

    @Test("Settings, stored values and scenes have such listeners, which may change the state of the main actor")
    func everywhere() {
        let model = Model()
        let settings = KeyedStore<CounterKeys>(store)
        let scene = SceneStore(sceneID: "main", base: store)
        let tokens = [
            settings.stored(\.count).addMainActorListener { model.counts.append($0.newValue) },
            settings.stored(\.count).addMainActorListener { model.counts.append($0.newValue) },
            scene.stored(Keys.count).addMainActorListener { model.counts.append($0.newValue) },
        ]
        settings.count = 5
        #expect(model.counts == [5, 5, 5])
        withExtendedLifetime(tokens) {}
    }

    @MainActor private final class Model {
        var counts: [Int] = []
    }
}
