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
