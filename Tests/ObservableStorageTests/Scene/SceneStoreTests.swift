import Observation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Scenes", .timeLimit(.minutes(10)))
struct SceneStoreTests {
    @Test("A scene reads its own value, then the application's, the registered one, and the key's default", arguments: Fixture.allCases)
    func order(fixture: Fixture) throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[Keys.count] == 0)
        try store.register(1, for: Keys.count)
        #expect(scene[Keys.count] == 1)
        store[Keys.count] = 2
        #expect(scene[Keys.count] == 2)
        scene[Keys.count] = 3
        #expect(scene[Keys.count] == 3)
        scene.stored(Keys.count).remove()
        #expect(scene[Keys.count] == 2)
        store.remove(Keys.count)
        #expect(scene[Keys.count] == 1)
    }

    @Test("What a scene sets is separate, and is still there after the store is opened again", arguments: Fixture.allCases)
    func isolation(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let (one, two) = (SceneStore(sceneID: "one", base: store), SceneStore(sceneID: "two", base: store))
        one[Keys.count] = 1
        two[Keys.count] = 2
        #expect(one[Keys.count] == 1)
        #expect(store[Keys.count] == 0)
        #expect(!store.isSet(Keys.count))
        two.stored(Keys.count).remove()
        #expect(!two.stored(Keys.count).isSet)
        #expect(one.stored(Keys.count).isSet)
        try await store.flush()
        #expect(SceneStore(sceneID: "one", base: try storage.open())[Keys.count] == 1)
    }

    @Test("With writesThrough a new scene starts with the last value, until its own write separates it")
    func lastValue() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let scenes = ["one", "two"].map { SceneStore(sceneID: $0, base: store, writesThrough: true) }
        scenes[0][Keys.count] = 1
        #expect(scenes[1][Keys.count] == 1)
        #expect(!scenes[1].stored(Keys.count).isSet)
        scenes[1][Keys.count] = 2
        scenes[0].stored(Keys.count).remove()
        scenes[0][Keys.count] = 3
        #expect(scenes.map { $0[Keys.count] } == [3, 2])
        #expect(SceneStore(sceneID: "three", base: store, writesThrough: true)[Keys.count] == 3)
        scenes[0].stored(Keys.count).remove()
        #expect(scenes[0][Keys.count] == 3)
    }

    @Test("A write that also sets the application's value is one revision")
    func lastValueIsOneRevision() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let scene = SceneStore(sceneID: "one", base: store, writesThrough: true)
        let seen = Recorder<String>()
        let tokens = [
            scene.stored(Keys.count).addUpdateListener { seen.record("scene \($0.oldValue) \($0.newValue) \($0.revision)") },
            store.addUpdateListener(for: Keys.count) { seen.record("application \($0.oldValue) \($0.newValue) \($0.revision)") },
        ]
        scene[Keys.count] = 5
        #expect(seen.elements == ["application 0 5 1", "scene 0 5 1"])
        withExtendedLifetime(tokens) {}
    }

    @Test("A scene's observers receive the application's changes while the scene has no value of its own", arguments: [false, true])
    func observation(isExternal: Bool) async throws {
        let backend = InMemoryBackend()
        let store = try ObservableStore(backend: backend)
        let writer = isExternal ? try ObservableStore(backend: backend) : store
        let scene = SceneStore(sceneID: "one", base: store)
        let own = SceneStore(sceneID: "one", base: writer)
        let seen = Recorder<String>()
        let token = scene.stored(Keys.count).addUpdateListener(initial: true) {
            seen.record("\($0.oldValue) \($0.newValue) \($0.kind)")
        }
        func write(_ count: Int, _ body: () -> Void) async throws {
            body()
            _ = try await seen.elements(count: count)
        }
        try await write(2) { writer[Keys.count] = 1 }
        try await write(3) { own[Keys.count] = 2 }
        writer[Keys.count] = 3
        try await write(4) { own.stored(Keys.count).remove() }
        try await write(5) { writer.remove(Keys.count) }
        #expect(seen.elements == ["0 0 removed", "0 1 set", "1 2 set", "2 3 removed", "3 0 removed"])
        withExtendedLifetime(token) {}
    }

    @Test("Streams of a scene end with its last effective value, and skip changes that its own value hides")
    func streams() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let scene = SceneStore(sceneID: "one", base: store)
        let (values, changes) = (scene.stored(Keys.count).values, scene.stored(Keys.count).changes)
        store[Keys.count] = 1
        scene[Keys.count] = 2
        for number in 3...9 { store[Keys.count] = number }
        try await store.update { $0[Keys.count] = 10 }
        try await store.close()
        var seen: [Int] = []
        for await change in changes { seen.append(change.newValue) }
        #expect(seen == [1, 2])
        #expect(await values.first { _ in true } == 2)
    }

    @Test("A transaction that changes a scene and the application is one change for the scene")
    func transaction() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1]))
        let scene = SceneStore(sceneID: "one", base: store)
        let settings = KeyedStore<SceneKeys>(scene)
        let seen = Recorder<String>()
        let token = scene.stored(Keys.count).addUpdateListener { seen.record("\($0.oldValue) \($0.newValue) \($0.revision)") }
        try await settings.update { settings in
            #expect(settings.count == 1)
            settings.count = 5
            settings.transaction[Keys.count] = 7
        }
        #expect(seen.elements == ["1 5 1"])
        #expect(store.entries == ["count": 7, "scenes/one/count": 5])
        withExtendedLifetime(token) {}
    }

    @Test("A transaction that removes a scene's value and sets the application's is one change for the scene, too")
    func removingTransaction() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1, "scenes/one/count": 5]))
        let scene = SceneStore(sceneID: "one", base: store)
        let settings = KeyedStore<SceneKeys>(scene)
        let key = settings.stored(\.count).key
        let seen = Recorder<String>()
        let token = scene.stored(Keys.count).addUpdateListener { seen.record("\($0.oldValue) \($0.newValue) \($0.kind)") }
        try await store.update { transaction in
            transaction.remove(key)
            transaction[Keys.count] = 7
        }
        #expect(seen.elements == ["5 7 removed"])
        withExtendedLifetime(token) {}
    }

    @Test("Discarding a scene removes everything that it has set in one revision, and nothing else")
    func discarding() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let names = ["one", "one/more", "on"]
        for name in names {
            let scene = SceneStore(sceneID: name, base: store)
            scene[Keys.count] = 1
            scene[Keys.text] = "a"
        }
        store[Keys.count] = 9
        let revision = store.revision
        store.discard(sceneID: "one")
        #expect(store.revision == revision + 1)
        #expect(names.map { SceneStore(sceneID: $0, base: store)[Keys.count] } == [9, 1, 1])
        SceneStore(sceneID: "on", base: store).reset()
        #expect(store.entries.keys.sorted() == ["count", "scenes/one~1more/count", "scenes/one~1more/text"])
    }

    @Test(
        "Resetting a scene removes every name in it, including one that begins with a combining mark, and no other scene's",
        arguments: ["\u{301}accent", "\u{200d}joined", "plain", "a/b~"], ["one", "e\u{301}", "a/b"])
    func resettingAnyName(name: String, sceneID: String) throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let others = ["other", sceneID + "\u{301}", sceneID + "/x", ""].map { SceneStore(sceneID: $0, base: store) }
        let key = StorageKey(name, default: 0)
        store[key] = 1
        for other in others { other[key] = 2 }
        let rest = store.entries
        let scene = SceneStore(sceneID: sceneID, base: store)
        scene[key] = 3
        #expect(scene.stored(key).isSet)
        scene.reset()
        #expect(!scene.stored(key).isSet)
        #expect(store.entries == rest)
    }

    @Test("A scene accessed through groups of keys, with a prefix and transformed names")
    func groups() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<SceneKeys>(SceneStore(sceneID: "one", base: store), prefix: "app", naming: { $0.uppercased() })
        let shared = KeyedStore<SceneKeys>(store, prefix: "app", naming: { $0.uppercased() })
        shared.count = 3
        #expect(settings.count == 3)
        settings.count = 4
        #expect(settings.stored(\.count).key.name == "scenes/one/app~1COUNT")
        #expect(store.entries == ["app/COUNT": 3, "scenes/one/app~1COUNT": 4])
        settings.reset()
        #expect(store.entries == ["app/COUNT": 3])
    }

    @Test("Reading in a scene is tracked: by its own entry, and by the application's while that is in effect")
    func tracking() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let value = SceneStore(sceneID: "one", base: store).stored(Keys.count)
        let woken = Recorder<Int>()
        func track(_ number: Int) {
            withObservationTracking {
                _ = value.value
            } onChange: {
                woken.record(number)
            }
        }
        track(1)
        store[Keys.count] = 1
        #expect(woken.elements == [1])
        track(2)
        value.value = 5
        #expect(woken.elements == [1, 2])
        track(3)
        store[Keys.count] = 6
        #expect(woken.elements == [1, 2])
        value.remove()
        #expect(woken.elements == [1, 2, 3])
    }

    @Test("What is inherited in place of an invalid value is observed, by tracked reads too")
    func invalid() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1, "scenes/one/count": "many"]))
        let value = SceneStore(sceneID: "one", base: store).stored(Keys.count)
        let (values, told, woken) = (value.values, Recorder<Int>(), Recorder<Int>())
        let token = value.addUpdateListener { told.record($0.newValue) }
        for number in 2...3 {
            withObservationTracking {
                #expect(value.value == number - 1)
            } onChange: {
                woken.record(number)
            }
            store[Keys.count] = number
        }
        #expect(try await (told.elements(count: 2), woken.elements(count: 2)) == ([2, 3], [2, 3]))
        value.value = 5
        withObservationTracking {
            #expect(value.value == 5)
        } onChange: {
            woken.record(5)
        }
        store[Keys.count] = 6
        #expect(try await (told.elements(count: 3), woken.elements) == ([2, 3, 5], [2, 3]))
        value.remove()
        store[Keys.count] = 7
        #expect(try await told.elements(count: 5) == [2, 3, 5, 6, 7])
        try await store.close()
        #expect(await values.reduce(nil) { $1 } == 7)
        withExtendedLifetime(token) {}
    }

    @Test("A change of the application's value does not decode the values that scenes have, except once at first")
    func decodedOnce() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 1]))
        let validated = Recorder<Int>()
        let key = Keys.count.validated { validated.record($0) }
        let scenes = (0..<3).map { SceneStore(sceneID: "\($0)", base: store).stored(key) }
        for scene in scenes { scene.value = 9 }
        let tokens = scenes.map { $0.addUpdateListener { _ in } }
        let count = validated.elements.filter { $0 == 9 }.count
        for number in 2...6 { store[key] = number }
        // As the old and as the new value of the first change.
        #expect(validated.elements.filter { $0 == 9 }.count <= count + 2 * scenes.count)
        withExtendedLifetime(tokens) {}
    }

    @Test("modify starts with the inherited value, and does not change it")
    func modify() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 5]))
        let scene = SceneStore(sceneID: "one", base: store)
        try scene.stored(Keys.count).modify { $0 += 1 }
        #expect(scene[Keys.count] == 6)
        #expect(store[Keys.count] == 5)
    }

    @Test("A value of the application with an earlier type or name is inherited in its present form")
    func migration() throws {
        let key = StorageKey("interval", default: 60).migrating(from: Double.self) { Int($0) }.renamed(from: "period")
        let store = try ObservableStore(backend: InMemoryBackend(["period": 90.5]))
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[key] == 90)
        #expect(store.entries == ["period": 90.5])
        scene[key] = 70
        #expect(store.entries == ["period": 90.5, "scenes/one/interval": 70])
    }

    @Test("An undecodable value of a scene reads as the application's, and throws when requested")
    func undecodable() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 5, "scenes/one/count": "many"]))
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[Keys.count] == 5)
        #expect(throws: StorageError.self) { try scene.stored(Keys.count).get() }
    }

    @Test("Reading in a scene persists a default for the application, never for the scene")
    func persistedDefault() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        #expect(SceneStore(sceneID: "one", base: store)[StorageKey("kept", persistsDefault: .whenMissing, default: 3)] == 3)
        #expect(store.entries == ["kept": 3])
    }
}

private struct SceneKeys: KeyGroup {
    let count = StorageKey("count", default: 0)
}
