import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct DebugKeys: KeyGroup {
    let prefix: String? = "debug"
    let showConsole = StorageKey("showConsole", default: false)
    let odd = StorageKey("a/b~c", default: 0)
    let renamed = StorageKey("now", default: 0).renamed(from: "before")
    var level: StorageKey<Int> { .init(default: 0) }
}

private struct AppKeys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
    var volume: StorageKey<Double> { .init(default: 0.8) }
    var note: StorageKey<String?> { .init() }
    let debug = DebugKeys()
    var computed: DebugKeys { DebugKeys() }
}

private struct SceneNames: KeyGroup {
    let prefix: String? = "scenes"
    let nested = NestedKeys()
    let plain = StorageKey("main", default: 0)

    struct NestedKeys: KeyGroup {
        let prefix: String? = "main"
        let zoom = StorageKey("zoom", default: 1.0)
    }
}

private struct RepeatedKeys: KeyGroup {
    let first = StorageKey("same", default: 0)
    let second = StorageKey("same", default: "")
}

extension StorageKey<Double> {
    fileprivate static let unnamed = StorageKey(default: 0.8)
}

extension StorageKey<String?> {
    fileprivate static let unnamed = StorageKey()
}

private struct UnnamedKeys: KeyGroup {
    let only = StorageKey(default: 0)
    let nested = NestedKeys()
    // Named like the computed property.
    let alias = AppKeys().volume

    struct NestedKeys: KeyGroup {
        let first = StorageKey(default: 0).renamed(from: "earlier")
        let second = StorageKey<String?>()
        let named = StorageKey("NestedKeys2", default: 0)
    }
}

private struct Window: KeyGroup {
    let title = StorageKey("Window", default: "")
}

@Suite("Key names", .timeLimit(.minutes(10)))
struct KeyNamesTests {
    @Test("A group's prefix precedes its keys, and separators inside names are escaped", arguments: Fixture.allCases)
    func prefixes(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        settings.launchCount = 1
        settings.debug.showConsole = true
        settings.debug.odd = 2
        try await settings.update { $0.debug.odd += 1 }
        #expect(store.entries == ["launchCount": 1, "debug/showConsole": true, "debug/a~1b~0c": 3])
        #expect(settings.stored(\.debug.showConsole).key.name == "debug/showConsole")
        #expect(settings.stored(\.launchCount).key.name == "launchCount")
        #expect(settings.debug.stored(\.odd).isSet)
    }

    @Test("A keyed store can add a prefix and transform all names, including earlier ones", arguments: Fixture.allCases)
    func naming(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store, prefix: "app", naming: { $0.lowercased() })
        store[StorageKey("app/debug/before", default: 0)] = 7
        settings.launchCount = 1
        #expect(settings.debug.renamed == 7)
        settings.debug.renamed += 1
        #expect(store.entries == ["app/launchcount": 1, "app/debug/now": 8])
    }

    @Test("A computed key is named after its property", arguments: Fixture.allCases)
    func computed(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        settings.volume = 0.5
        settings.note = "n"
        #expect(store.entries == ["volume": 0.5, "note": "n"])
        #expect(settings.stored(\.volume).key.name == "volume")
    }

    @Test("A computed key of a nested group has the group's prefix, also by one key path", arguments: Fixture.allCases)
    func computedInNested(fixture: Fixture) throws {
        let settings = KeyedStore<AppKeys>(try fixture.make().open())
        settings.debug.level = 2
        #expect(settings.stored(\.debug.level).value == 2 && settings.snapshot.debug.level == 2)
        #expect(settings.stored(\.debug.level).key.name == "debug/level")
        #expect(settings.computed.stored(\.odd).key.name == "debug/a~1b~0c")
        #expect(settings.computed.stored(\.level).key.name == "debug/level")
    }

    @Test("A key of a group that is named like a value of a scene is reported, as it is removed with the scene")
    func namedLikeSceneValue() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<SceneNames>(store)
        #expect(throws: StorageError.self) { try settings.check() }
        _ = KeyedStore<SceneNames>(SceneStore(sceneID: "main", base: store))
        try await store.close()
        let failures = await store.failures.reduce(into: [String]()) { $0.append("\($1)") }
        #expect(failures.count == 1 && failures[0].contains("the key \"scenes/main/zoom\": cannot be used: its name is that of a value"))
    }

    @Test("Two keys with one name are reported when the group is used", arguments: Fixture.allCases)
    func repeated(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        _ = KeyedStore<AppKeys>(store)
        _ = KeyedStore<RepeatedKeys>(store)
        #expect(await store.failures.first { _ in true } == .repeatedName(key: "same", group: "RepeatedKeys"))
    }

    @Test("A key that is a static stored property needs a name: without, every such key has the same one")
    func unnamed() async {
        await #expect(processExitsWith: .failure) { _ = StorageKey<Double>.unnamed }
        await #expect(processExitsWith: .failure) { _ = StorageKey<String?>.unnamed }
    }

    @Test("A key that is a stored property of a group and has no name is reported, also if it is the only one")
    func unnamedInGroup() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        _ = KeyedStore<UnnamedKeys>(store)
        _ = KeyedStore<Window>(store)
        #expect(throws: StorageError.self) { try KeyedStore<UnnamedKeys>(store).check() }
        #expect(throws: Never.self) { try KeyedStore<Window>(store).check() }
        try await store.close()
        let failures = await store.failures.reduce(into: [String]()) { $0.append("\($1)") }
        let reported = ["UnnamedKeys.only", "NestedKeys.first", "NestedKeys.second"].map { name in
            failures.filter { $0.contains("the key \(name)") && $0.contains("computed property") }.count
        }
        // Twice, as the group is used twice.
        #expect(reported == [2, 2, 2])
        #expect(failures.count == 8 && failures.filter { $0.contains("alias") || $0.contains("Window") }.isEmpty)
    }

    @Test(
        "Resetting a group removes its keys and those of nested groups in one revision, and nothing else", arguments: Fixture.allCases)
    func reset(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        settings.launchCount = 1
        settings.debug.showConsole = true
        store[Keys.text] = "other"
        let revision = store.revision
        settings.debug.reset()
        #expect(store.entries == ["launchCount": 1, "text": "other"])
        settings.reset()
        #expect(store.entries == ["text": "other"])
        #expect(store.revision == revision + 2)
    }
}
