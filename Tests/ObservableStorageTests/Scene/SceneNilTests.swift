import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Nil in a scene", .timeLimit(.minutes(10)))
struct SceneNilTests {
    private struct Keys: KeyGroup {
        let selection = StorageKey<String?>("selection")
        let limit = StorageKey<Int?>("limit", default: 5)
        let account = StorageKey<Account?>("account", codec: .json)
        let level = StorageKey<Int?>("log", "level")
    }

    private struct Account: Codable, Sendable, Equatable {
        var name: String
    }

    private static let stored: [String: PropertyListValue] = [
        "selection": "a", "limit": 1, "account": "{\"name\":\"Jo\"}", "log": ["level": 2],
    ]

    @Test("A key set to nil is nil, until it is removed: then it is inherited again", arguments: Fixture.ofEveryType, [false, true])
    func hiding(fixture: Fixture, writesThrough: Bool) async throws {
        let storage = try fixture.make(Self.stored)
        let store = try storage.open()
        let scene = SceneStore(sceneID: "one", base: store, writesThrough: writesThrough)
        let (settings, shared) = (KeyedStore<Keys>(scene), KeyedStore<Keys>(store))
        #expect((settings.selection, settings.limit, settings.account, settings.level) == ("a", 1, Account(name: "Jo"), 2))
        settings.selection = nil
        settings.edit {
            $0.limit = nil
            $0.account = nil
        }
        try await settings.update { $0.level = nil }
        #expect((settings.selection, settings.limit, settings.account, settings.level) == (nil, nil, nil, nil))
        #expect(settings.stored(\.selection).isSet && settings.stored(\.limit).isSet)
        #expect(settings.stored(\.account).isSet && settings.stored(\.level).isSet)
        #expect(shared.selection == (writesThrough ? nil : "a"))
        #expect(shared.limit == (writesThrough ? 5 : 1))
        #expect(shared.level == (writesThrough ? nil : 2))
        shared.selection = "b"
        shared.account = Account(name: "Al")
        try await store.flush()
        let again = KeyedStore<Keys>(SceneStore(sceneID: "one", base: try storage.open()))
        #expect((again.selection, again.limit, again.account, again.level) == (nil, nil, nil, nil))
        settings.stored(\.selection).remove()
        #expect((settings.selection, settings.account) == ("b", nil))
        settings.reset()
        #expect(settings.account == Account(name: "Al"))
        #expect(settings.level == shared.level)
    }

    @Test("Every reader has nil: values, snapshots, streams, transactions, handles, names and lists of settings")
    func readers() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["selection": "a"]))
        try store.register("registered", for: Keys().selection)
        let scene = SceneStore(sceneID: "one", base: store)
        let settings = KeyedStore<Keys>(scene)
        let seen = Recorder<String>()
        let token = scene.stored(Keys().selection).addUpdateListener {
            seen.record("\($0.oldValue ?? "nil") \($0.newValue ?? "nil") \($0.kind)")
        }
        let (values, elements) = (settings.values(of: \.selection), settings.values(of: \.selection, \.limit))
        scene.set(String?.none, forKey: "selection")
        store.set("b", forKey: "selection")
        #expect(scene[Keys().selection] == nil)
        #expect(try scene.stored(Keys().selection).get() == nil)
        #expect(scene.stored(Keys().selection).value == nil)
        #expect(settings.snapshot.selection == nil)
        #expect(settings.edit { $0.selection } == nil)
        #expect(try await settings.update { $0.selection } == nil)
        #expect(scene.value(String.self, forKey: "selection") == nil)
        #expect(scene.value(PropertyListValue.self, forKey: "selection") == nil)
        #expect(settings.stored(\.selection).source == .stored)
        let listed = try #require(settings.storedValues.first)
        #expect(listed.isSet)
        #expect(try listed.value == nil)
        #expect(try listed.defaultValue == nil)
        for await value in values {
            #expect(value == nil)
            break
        }
        for await (selection, _) in elements {
            #expect(selection == nil)
            break
        }
        scene.removeValue(forKey: "selection")
        #expect(settings.selection == "b")
        #expect(seen.elements == ["a nil set", "nil b removed"])
        withExtendedLifetime(token) {}
    }

    @Test("Every way of setting nil stores nil: assigning, setting, modifying in place, modifying atomically, edits and transactions")
    func writers() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(Self.stored))
        let settings = KeyedStore<Keys>(SceneStore(sceneID: "one", base: store))
        let selection = settings.stored(\.selection)
        func makeNil(_ value: inout String?) { value = nil }
        let ways: [() async throws -> Void] = [
            { settings.selection = nil }, { try selection.set(nil) }, { makeNil(&settings.selection) },
            { try selection.modify { $0 = nil } }, { settings.edit { $0.selection = nil } },
            { try await settings.update { $0.selection = nil } },
        ]
        for (number, setNil) in ways.enumerated() {
            settings.selection = "mine"
            try await setNil()
            #expect(settings.selection == nil && selection.isSet, "way \(number)")
        }
    }

    @Test("Nil is the last valid value of a scene's key, and is not migrated")
    func validity() async throws {
        let backend = InMemoryBackend(["limit": 1])
        let store = try ObservableStore(backend: backend)
        let key = Keys().limit.migrating(from: String.self) { $0.count }
        let scene = SceneStore(sceneID: "one", base: store)
        scene[key] = nil
        try await store.flush()
        #expect(scene[key] == nil)
        let changes = scene.stored(key).changes
        _ = try backend.edit { $0["scenes/one/limit"] = ["no", "number"] }
        for await _ in changes { break }
        #expect(scene[key] == nil)
        #expect(KeyedStore<Keys>(scene).limit == nil)
        #expect(throws: StorageError.self) { try scene.stored(key).get() }
    }

    @Test("A scene's value of an earlier type that is converted to nil is kept as it is stored")
    func converted() throws {
        let stored: [String: PropertyListValue] = ["limit": 1, "scenes/one/limit": "none"]
        let store = try ObservableStore(backend: InMemoryBackend(stored))
        let key = Keys().limit.migrating(from: String.self) { Int($0) }
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[key] == nil)
        try store.migrateValue(of: scene.stored(key).key)
        #expect(scene[key] == nil && store.entries == stored)
    }

    @Test("A string that denotes nil is refused in a scene, and is itself in the application")
    func refused() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let scene = SceneStore(sceneID: "one", base: store)
        store[Keys().selection] = "$null"
        #expect(scene[Keys().selection] == "$null")
        #expect(
            throws: StorageError.unencodable(key: "scenes/one/selection", reason: "string \"$null\" denotes nil in a scene")
        ) {
            try scene.stored(Keys().selection).set("$null")
        }
        #expect(!scene.stored(Keys().selection).isSet)
    }
}
