import Observation
import ObservableStorage
import TestSupport
import Testing

/// An object whose scene may not exist yet.
private final class Late: SceneStoring {
    var sceneID: String?
    let applicationStore: ObservableStore
    @SceneStored(Keys.count) var count
    @SceneStored("name") var name: String?
    @SceneStored("tags", codec: .json) var tags = ["none"]

    init(_ store: ObservableStore) {
        applicationStore = store
    }
}

/// An object in a scene of another store than the application's, which it must not use.
private final class Elsewhere: SceneStoring {
    let sceneID: String?
    let base: ObservableStore
    var applicationStore: ObservableStore {
        Issue.record("used although there is a scene")
        return .standard
    }
    var sceneStore: SceneStore? { sceneID.map { SceneStore(sceneID: $0, base: base, writesThrough: true) } }
    @SceneStored(Keys.count) var count

    init(_ sceneID: String, _ base: ObservableStore) {
        (self.sceneID, self.base) = (sceneID, base)
    }
}

private final class Plain: SceneStoring {
    var sceneID: String?
    @SceneStored(Keys.count) var count
}

@Suite("Properties of objects that are created before their scene", .timeLimit(.minutes(10)))
struct LateSceneTests {
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend(["count": 3, "scenes/one/count": 1, "scenes/two/count": 2]))
    }

    @Test("A property has the application's value before there is a scene, and the scene's as soon as there is one")
    func reading() {
        let late = Late(store)
        #expect(late.count == 3)
        store[Keys.count] = 4
        #expect(late.count == 4)
        late.sceneID = "one"
        #expect(late.count == 1)
        late.count = 5
        #expect(store.entries["scenes/one/count"] == 5)
        #expect(store.entries["count"] == 4)
    }

    @Test("A value written before there is a scene is kept, and set in the scene at the first access after there is one")
    func writing() throws {
        let late = Late(store)
        let before = store.entries
        late.count = 7
        late.count += 1
        late.tags.append("more")
        #expect(late.count == 8)
        #expect(late.tags == ["none", "more"])
        #expect(store.entries == before)
        late.sceneID = "one"
        #expect(store.entries == before)
        #expect(late.count == 8)
        #expect(store.entries["scenes/one/count"] == 8)
        #expect(late.$tags.value == ["none", "more"])
        #expect(late.$tags.isSet)
        #expect(store.entries["count"] == 3)
        late.count = 9
        #expect(store.entries["scenes/one/count"] == 9)
    }

    @Test("Only the last value is set in the scene, if the first access after there is one is a write")
    func writingAgain() {
        let seen = Recorder<Int>()
        let token = SceneStore(sceneID: "one", base: store).stored(Keys.count).addUpdateListener { seen.record($0.newValue) }
        let late = Late(store)
        late.count = 7
        late.sceneID = "one"
        late.count = 8
        late.count += 1
        #expect(seen.elements == [8, 9])
        withExtendedLifetime(token) {}
    }

    @Test("A modification in place begins with the application's value before there is a scene")
    func modifying() {
        let late = Late(store)
        late.count += 10
        late.sceneID = "one"
        #expect(late.count == 13)
    }

    @Test("Nil written before there is a scene is set in the scene")
    func removing() {
        let scene = SceneStore(sceneID: "one", base: store)
        scene.set("Jo", forKey: "name")
        store.set("Al", forKey: "name")
        let late = Late(store)
        late.name = nil
        #expect(late.name == nil)
        late.sceneID = "one"
        #expect(late.name == nil)
        #expect(scene.value(String.self, forKey: "name") == nil)
        #expect(store.value(String.self, forKey: "name") == "Al")
    }

    @Test("A value that never reaches a scene is reported by the application's store when its object ends")
    func lost() async {
        let failures = store.failures
        let before = store.entries
        do {
            let late = Late(store)
            late.count = 7
            late.tags = []
            late.sceneID = "one"
            #expect(late.tags == [])
        }
        let expected = "the object to which it belongs ended before it was in a scene"
        #expect(await failures.first { _ in true } == .unencodable(key: "count", reason: expected))
        #expect(store.entries.count == before.count + 1)
    }

    @Test("A waiting value that cannot be stored is reported when there is a scene, and the scene's value is read")
    func refused() async {
        let failures = store.failures
        let key = StorageKey("ratio", default: 0.5).validated(in: 0...1)
        final class Owner: SceneStoring {
            var sceneID: String?
            let applicationStore: ObservableStore
            @SceneStored<Double> var ratio: Double
            init(_ key: StorageKey<Double>, _ store: ObservableStore) {
                _ratio = SceneStored(key)
                applicationStore = store
            }
        }
        let owner = Owner(key, store)
        owner.ratio = 2
        owner.sceneID = "one"
        #expect(owner.ratio == 0.5)
        let failure = await failures.first { _ in true }
        let isRefused = if case .unencodable? = failure { true } else { false }
        #expect(isRefused)
    }

    @Test("The projected value is the application's handle before there is a scene, and then the scene's")
    func projection() {
        let late = Late(store)
        late.count = 7
        #expect(late.$count.key.name == "count")
        #expect(late.$count.value == 3)
        late.sceneID = "one"
        #expect(late.$count.key.name == "scenes/one/count")
        #expect(late.$count.value == 7)
    }

    @Test("A property follows its object to another scene, and stays in the last one while the object is in none")
    func moving() {
        let late = Late(store)
        late.sceneID = "one"
        #expect(late.count == 1)
        late.sceneID = nil
        #expect(late.count == 1)
        late.count = 5
        #expect(store.entries["scenes/one/count"] == 5)
        #expect(store.entries["count"] == 3)
        late.sceneID = "two"
        #expect(late.count == 2)
        late.count += 1
        #expect(store.entries["scenes/two/count"] == 3)
        #expect(store.entries["scenes/one/count"] == 5)
    }

    @Test("A listener that is called while a waiting value is set reads it, and what it writes is set afterwards")
    func listening() {
        // Safe because everything happens on this thread.
        nonisolated(unsafe) let late = Late(store)
        let seen = Recorder<String>()
        late.count = 7
        let token = SceneStore(sceneID: "one", base: store).stored(Keys.count).addUpdateListener { change in
            seen.record("\(change.newValue) \(late.count)")
            if change.newValue == 7 { late.count = 8 }
        }
        late.sceneID = "one"
        #expect(late.count == 8)
        #expect(seen.elements == ["7 7", "8 8"])
        #expect(store.entries["scenes/one/count"] == 8)
        withExtendedLifetime(token) {}
    }

    @Test("Observation notices a value that is kept, and another scene")
    func tracking() {
        let late = Late(store)
        let woken = Recorder<String>()
        func track(_ name: String) {
            withObservationTracking {
                _ = late.count
            } onChange: {
                woken.record(name)
            }
        }
        track("application")
        store[Keys.count] = 4
        #expect(woken.elements == ["application"])
        track("kept")
        late.count = 7
        #expect(woken.elements == ["application", "kept"])
        track("scene")
        late.sceneID = "one"
        _ = late.count
        #expect(woken.elements == ["application", "kept", "scene"])
        track("other scene")
        late.sceneID = "two"
        _ = late.count
        #expect(woken.elements == ["application", "kept", "scene", "other scene"])
    }

    @Test("Writes by two threads, while a value waits for the scene, leave the value that both then read")
    func threads() async {
        for round in 0..<200 {
            // Safe because the object is constant while both threads use it.
            nonisolated(unsafe) let late = Late(store)
            late.count = -1
            late.sceneID = "round \(round)"
            await withTaskGroup(of: Void.self) { group in
                for number in 1...2 { group.addTask { for step in 0..<5 { late.count = number * 10 + step } } }
            }
            let last = late.count
            #expect([14, 24].contains(last))
            #expect(SceneStore(sceneID: "round \(round)", base: store)[Keys.count] == last)
        }
    }

    @Test("The application's store is not used while there is a scene")
    func otherStore() throws {
        let other = try ObservableStore(backend: InMemoryBackend())
        let owner = Elsewhere("one", other)
        owner.count += 1
        owner.count = owner.$count.value + 1
        #expect(other.entries == ["count": 2, "scenes/one/count": 2])
    }

    @Test("Without another one, the application's store is the standard store")
    func standard() {
        ObservableStore.withStandard(store) {
            let plain = Plain()
            #expect(plain.count == 3)
            #expect(plain.sceneStore?.sceneID == nil)
            plain.sceneID = "one"
            #expect(plain.count == 1)
            #expect(plain.sceneStore?.base === store)
        }
    }
}
