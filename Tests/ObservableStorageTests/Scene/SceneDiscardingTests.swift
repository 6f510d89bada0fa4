import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Discarding scenes", .timeLimit(.minutes(10)))
struct SceneDiscardingTests {
    private static let names = ["one", "two/more", "~1", "", "e\u{301}", "\u{301}accent"]

    private func filled() throws -> ObservableStore {
        let store = try ObservableStore(backend: InMemoryBackend())
        store[Keys.count] = 9
        for name in Self.names {
            let scene = SceneStore(sceneID: name, base: store)
            scene[Keys.count] = 1
            scene[StorageKey("a/b", default: 0)] = 2
        }
        return store
    }

    @Test("The scenes with stored values are known by their identifiers, whatever text these are")
    func identifiers() throws {
        let store = try filled()
        #expect(store.sceneIDs == Set(Self.names))
        SceneStore(sceneID: "one", base: store).reset()
        #expect(store.sceneIDs == Set(Self.names.dropFirst()))
    }

    @Test("Discarding all scenes except some removes the others' values in one revision, and nothing else", arguments: names)
    func discarding(kept: String) throws {
        let store = try filled()
        let expected = store.entries.filter { $0.key == "count" }.count + 2
        let revision = store.revision
        store.discardScenes(except: [kept, "unknown"])
        #expect(store.revision == revision + 1)
        #expect(store.sceneIDs == [kept])
        #expect(store.entries.count == expected)
        #expect(SceneStore(sceneID: kept, base: store)[Keys.count] == 1)
        #expect(store[Keys.count] == 9)
        store.discardScenes(except: [kept])
        #expect(store.revision == revision + 1)
    }

    @Test("Discarding all scenes except those of sessions keeps the scenes of SwiftUI, which have no sessions' identifiers")
    func sessions() throws {
        let store = try filled()
        let view = SceneStore.prefixOfViews + "view"
        SceneStore(sceneID: view, base: store)[Keys.count] = 3
        let revision = store.revision
        store.discardScenes(exceptSessions: ["one"])
        #expect(store.revision == revision + 1)
        #expect(store.sceneIDs == ["one", view])
        #expect(SceneStore(sceneID: view, base: store)[Keys.count] == 3)
        store.discardScenes(except: ["one"])
        #expect(store.sceneIDs == ["one"])
    }

    @Test(
        "Entries that only look like those of a scene are kept",
        arguments: ["scenes", "scenes/one", "scene/one/count", "Scenes/one/count", "scenes/a~2/count", "scenes/a~/count"])
    func otherEntries(name: String) throws {
        let store = try ObservableStore(backend: InMemoryBackend([name: 1]))
        store.discardScenes(except: [])
        #expect(store.entries == [name: 1])
        #expect(store.sceneIDs.isEmpty)
    }
}

/// A value that is set in a discarded scene would stay in the store for ever.
@Suite("Discarded scenes", .timeLimit(.minutes(10)))
struct DiscardedSceneTests {
    private struct SceneKeys: KeyGroup {
        let count = StorageKey("count", default: 0)
        let level = StorageKey<Int?>("log", "level")
    }

    private final class Editor: SceneStoring {
        var sceneID: String?
        let applicationStore: ObservableStore
        @SceneStored(Keys.count) var count

        init(_ store: ObservableStore, _ sceneID: String? = "one") {
            (applicationStore, self.sceneID) = (store, sceneID)
        }
    }

    private static let refused = StorageError.discardedScene(key: "scenes/one/count")

    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend(["count": 9, "scenes/one/count": 1, "scenes/two/count": 2]))
    }

    /// The entries after the scene was discarded.
    private let rest: [String: PropertyListValue] = ["count": 9, "scenes/two/count": 2]

    /// The failures that were reported until the store is closed.
    private func failures(_ body: () async throws -> Void) async throws -> [StorageError] {
        let failures = store.failures
        try await body()
        try await store.close()
        return await failures.reduce(into: []) { $0.append($1) }
    }

    @Test("A handle to a discarded scene, which still exists, sets nothing: its setter throws", arguments: [false, true])
    func handles(writesThrough: Bool) async throws {
        let scene = SceneStore(sceneID: "one", base: store, writesThrough: writesThrough)
        let (handle, settings) = (scene.stored(Keys.count), KeyedStore<SceneKeys>(scene))
        store.discard(sceneID: "one")
        #expect(throws: Self.refused) { try scene.stored(Keys.count).set(5) }
        #expect(throws: Self.refused) { try handle.set(5) }
        #expect(throws: Self.refused) { try handle.modify { $0 += 1 } }
        #expect(throws: Self.refused) { try settings.stored(\.count).set(5) }
        #expect(throws: StorageError.self) { try settings.stored(\.level).set(5) }
        await #expect(throws: Self.refused) { try await settings.update { $0.count = 5 } }
        await #expect(throws: StorageError.discardedScene(key: "scenes/one/import")) {
            try await scene.importEntries(from: InMemoryBackend(["count": 5]), once: "import")
        }
        #expect(store.entries == rest)
        #expect((scene[Keys.count], handle.value, settings.count) == (9, 9, 9))
    }

    @Test("An import into a scene that is discarded meanwhile leaves neither entries nor a record", arguments: [true, false])
    func importing(isBeforeCommit: Bool) async throws {
        let backend = UnreliableBackend(InMemoryBackend(["count": 9, "scenes/two/count": 2]))
        let store = try ObservableStore(backend: backend)
        let (scene, old) = (SceneStore(sceneID: "one", base: store), InMemoryBackend(["count": 5]))
        try await store.importEntries(from: InMemoryBackend(["count": 5]), once: "application")
        if !isBeforeCommit { backend.pause { store.discard(sceneID: "one") } }
        await #expect(throws: StorageError.discardedScene(key: "scenes/one/import")) {
            try await scene.importEntries(from: old, once: "import") { name in
                if isBeforeCommit { store.discard(sceneID: "one") }
                return name
            }
        }
        backend.pause(nil)
        try await store.flush()
        let record = ["ObservableStorage.imports": ["application"]] as [String: PropertyListValue]
        #expect(try backend.load().values == rest.merging(record) { $1 })
        let next = SceneStore(sceneID: "one", base: store)
        try await next.importEntries(from: old, once: "import")
        #expect(next[Keys.count] == 5)
        store.discard(sceneID: "one")
        try await store.flush()
        #expect(try backend.load().values == rest.merging(record) { $1 })
    }

    @Test("A setter of a discarded scene that cannot throw reports the error, and changes nothing")
    func properties() async throws {
        let scene = SceneStore(sceneID: "one", base: store, writesThrough: true)
        let settings = KeyedStore<SceneKeys>(scene)
        let reported = try await failures {
            store.discard(sceneID: "one")
            scene[Keys.count] = 5
            settings.count += 1
            scene.stored(Keys.count).value = 6
            settings.edit { $0.count = 7 }
            #expect(store.entries == rest)
        }
        #expect(reported == Array(repeating: Self.refused, count: 4))
    }

    @Test("Removing and resetting in a discarded scene, and reading it, are no errors")
    func removing() async throws {
        let scene = SceneStore(sceneID: "one", base: store)
        let reported = try await failures {
            store.discard(sceneID: "one")
            scene.stored(Keys.count).remove()
            scene.reset()
            #expect(!scene.stored(Keys.count).isSet && scene[Keys.count] == 9)
        }
        #expect(reported == [])
    }

    @Test("A scene store that is created after the scene was discarded opens it again, for itself")
    func openedAgain() throws {
        let scene = SceneStore(sceneID: "one", base: store)
        let handle = scene.stored(Keys.count)
        store.discard(sceneID: "one")
        let again = SceneStore(sceneID: "one", base: store)
        again[Keys.count] = 3
        #expect(store.entries["scenes/one/count"] == 3)
        #expect(throws: Self.refused) { try handle.set(5) }
        #expect((handle.value, again[Keys.count]) == (3, 3))
        store.discard(sceneID: "one")
        #expect(throws: Self.refused) { try again.stored(Keys.count).set(5) }
        try SceneStore(sceneID: "one", base: store).stored(Keys.count).set(4)
        #expect(store.entries["scenes/one/count"] == 4)
    }

    @Test("Other scenes, a scene that is reset, and the scenes of another store are not concerned")
    func others() throws {
        let other = try ObservableStore(backend: InMemoryBackend())
        let (two, elsewhere) = (SceneStore(sceneID: "two", base: store), SceneStore(sceneID: "one", base: other))
        store.discard(sceneID: "one")
        two.reset()
        try two.stored(Keys.count).set(5)
        try elsewhere.stored(Keys.count).set(6)
        #expect((two[Keys.count], elsewhere[Keys.count]) == (5, 6))
    }

    @Test("Scenes that are discarded because they are not listed refuse values, too, and those that are listed accept them")
    func notListed() throws {
        let (one, two) = (SceneStore(sceneID: "one", base: store), SceneStore(sceneID: "two", base: store))
        store.discardScenes(except: ["two"])
        #expect(throws: Self.refused) { try one.stored(Keys.count).set(5) }
        try two.stored(Keys.count).set(5)
        #expect(store.entries == ["count": 9, "scenes/two/count": 5])
    }

    @Test("A property of an object that was created before its scene was discarded is not set, whether it was used before or not")
    func objects() async throws {
        let (used, unused, late) = (Editor(store), Editor(store), Editor(store, nil))
        #expect(used.count == 1)
        let reported = try await failures {
            store.discard(sceneID: "one")
            late.count = 4
            late.sceneID = "one"
            used.count = 5
            unused.count += 1
            #expect((used.count, unused.count, late.count) == (9, 9, 9))
            #expect(store.entries == rest)
            // Another object does not open the scene for the former ones.
            let new = Editor(store)
            new.count = 6
            used.count = 7
            #expect((used.count, new.count) == (6, 6))
            used.sceneID = "two"
            used.count = 8
            #expect(store.entries == ["count": 9, "scenes/one/count": 6, "scenes/two/count": 8])
        }
        #expect(reported == Array(repeating: Self.refused, count: 4))
    }

    @Test("A closure of edits that a discarding interrupts runs again, and sets nothing")
    func duringEdit() async throws {
        let settings = KeyedStore<SceneKeys>(SceneStore(sceneID: "one", base: store))
        store.reset()
        var runs = 0
        let reported = try await failures {
            settings.edit { settings in
                settings.count = 5
                runs += 1
                store.discard(sceneID: "one")
            }
            #expect(store.entries.isEmpty)
        }
        #expect(runs == 2)
        #expect(reported == [Self.refused])
    }

    @Test("What a transaction has set in a scene that is discarded before it ends is removed, in the storage as well")
    func duringTransaction() async throws {
        let backend = InMemoryBackend(["scenes/two/count": 2])
        let store = try ObservableStore(backend: backend)
        let (one, two) = (SceneStore(sceneID: "one", base: store), SceneStore(sceneID: "two", base: store))
        let (first, second) = (one.stored(Keys.count).key, two.stored(Keys.count).key)
        try await store.update { transaction in
            transaction[first] = 5
            transaction[second] = 6
            transaction[Keys.count] = 7
            store.discard(sceneID: "one")
        }
        #expect(store.entries == ["count": 7, "scenes/two/count": 6])
        try await store.flush()
        #expect(backend.load().values == ["count": 7, "scenes/two/count": 6])
    }

    @Test("Observers of a discarded scene remain, and receive the application's values")
    func observers() {
        let scene = SceneStore(sceneID: "one", base: store)
        let seen = Recorder<Int>()
        let token = scene.stored(Keys.count).addUpdateListener { seen.record($0.newValue) }
        store.discard(sceneID: "one")
        store[Keys.count] = 10
        #expect(seen.elements == [9, 10])
        withExtendedLifetime(token) {}
    }

    @Test("A service that discards any number of scenes keeps the latest in mind only")
    func memory() {
        var scopes = DiscardedScopes()
        func isDiscarded(_ index: Int) -> Bool {
            scopes.contains(KeyScope(prefix: SceneStore.prefix("\(index)"), writesThrough: false))
        }
        for index in 0..<5_000 { scopes.insert([SceneStore.prefix("\(index)")]) }
        #expect((4_000..<5_000).allSatisfy(isDiscarded))
        #expect(!(0..<3_000).contains(where: isDiscarded))
    }
}
