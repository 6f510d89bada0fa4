import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Names of imported entries", .timeLimit(.minutes(10)))
struct ImportNamingTests {
    private let old = InMemoryBackend(["app.count": 7, "app.text": "old", "other": 1])

    private static let withoutPrefix: @Sendable (String) -> String? = { $0.hasPrefix("app.") ? String($0.dropFirst(4)) : nil }

    @Test("Imported entries get other names, and those without one are not copied", arguments: Fixture.allCases)
    func names(fixture: Fixture) async throws {
        let store = try fixture.make(["count": 1]).open()
        try await store.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        #expect(store[Keys.count] == 1)
        #expect(store[Keys.text] == "old")
        #expect(store.entries.keys.filter { !$0.hasPrefix("ObservableStorage.") }.sorted() == ["count", "text"])
        store.remove(Keys.text)
        try await store.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        #expect(!store.isSet(Keys.text))
    }

    @Test("Of several imported entries with the same new name, the first in order is copied")
    func sameName() async throws {
        for _ in 0..<20 {
            let entries: [String: PropertyListValue] = ["b": 2, "a": 1, "d": 4, "c": 3]
            let store = try ObservableStore(backend: InMemoryBackend())
            try await store.importEntries(from: InMemoryBackend(entries), once: "old") { _ in "count" }
            #expect(store[Keys.count] == 1)
        }
    }

    @Test(
        "An import into a scene changes neither the application nor other scenes, and is made once for each scene",
        arguments: Fixture.allCases)
    func scene(fixture: Fixture) async throws {
        let store = try fixture.make(["count": 1]).open()
        let (one, two) = (SceneStore(sceneID: "a/b", base: store), SceneStore(sceneID: "a", base: store))
        try await one.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        #expect((one[Keys.count], two[Keys.count], store[Keys.count]) == (7, 1, 1))
        #expect(one.stored(Keys.text).isSet && !two.stored(Keys.text).isSet && !store.isSet(Keys.text))
        one.reset()
        try await one.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        #expect(!one.stored(Keys.count).isSet)
        try await two.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        try await store.importEntries(from: old, once: "old") { $0 == "app.text" ? "text" : nil }
        #expect((one[Keys.count], two[Keys.count], store[Keys.text]) == (1, 7, "old"))
    }

    @Test("An import that another process has made meanwhile is not made again")
    func madeByOthers() async throws {
        let storage = InMemoryBackend()
        let store = try ObservableStore(backend: storage)
        try await store.importEntries(from: old, once: "old") { name in
            do { _ = try storage.edit { $0["ObservableStorage.imports"] = ["old"] } } catch { Issue.record(error) }
            return name
        }
        #expect(storage.load().values == ["ObservableStorage.imports": ["old"]])
    }

    @Test("An import of no entries is not noted, so that it can be repeated")
    func nothing() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        try await store.importEntries(from: old, once: "old") { _ in nil }
        #expect(store.entries == [:])
        try await store.importEntries(from: old, once: "old", naming: Self.withoutPrefix)
        #expect(store[Keys.count] == 7)
    }
}
