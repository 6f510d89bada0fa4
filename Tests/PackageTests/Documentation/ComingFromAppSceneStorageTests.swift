import Foundation
import ObservableStorage
import TestSupport
import Testing
import UserDefaultsStorage

/// AppSceneStorage sets every value twice, as `Scene_` and its key: in a suite named by the identifier of the scene's session, and in the
/// standard user defaults.
@Suite("Coming from AppSceneStorage", .timeLimit(.minutes(10)))
struct ComingFromAppSceneStorageTests {
    // snippet: ComingFromAppSceneStorage
    struct EditorKeys: KeyGroup {
        let fontSize = StorageKey("fontSize", default: 14)
        let document = StorageKey<String?>("document")
        let isWrapped = StorageKey("isWrapped", default: true)
        let home = StorageKey<URL?>("home", codec: .userDefaults)
    }
    // end

    // snippet: ComingFromAppSceneStorage
    /// Takes over what AppSceneStorage has stored for a scene, once.
    func importScene(_ scene: SceneStore, standard: UserDefaultsBackend = UserDefaultsBackend()) async throws {
        let withoutPrefix: @Sendable (String) -> String? = { $0.hasPrefix("Scene_") ? String($0.dropFirst(6)) : nil }
        if let suite = UserDefaultsBackend(suiteName: scene.sceneID) {
            try await scene.importEntries(from: suite, once: "AppSceneStorage", naming: withoutPrefix)
        }
        try await scene.base.importEntries(from: standard, once: "AppSceneStorage", naming: withoutPrefix)
    }
    // end

    private let standard = TemporaryDomain()
    private let sessions = (one: TemporaryDomain(), two: TemporaryDomain(), three: TemporaryDomain())
    private let home = URL(string: "https://example.org/notes")
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    /// As `set(_:forKey:)` of AppSceneStorage does.
    private func set(_ value: Any, forKey key: String, in session: TemporaryDomain) throws {
        try session.defaults.set(value, forKey: "Scene_\(key)")
        try standard.defaults.set(value, forKey: "Scene_\(key)")
    }

    private func fill() throws {
        try standard.defaults.set("kept apart", forKey: "document")
        try set(12, forKey: "fontSize", in: sessions.one)
        try set("intro.md", forKey: "document", in: sessions.one)
        try set(false, forKey: "isWrapped", in: sessions.one)
        let url = try #require(home)
        let archive = try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true)
        try set(archive, forKey: "home", in: sessions.one)
        try set(18, forKey: "fontSize", in: sessions.two)
        try sessions.two.defaults.set("not of the library", forKey: "other")
    }

    @Test("The values of each session become those of its scene, and the last ones are those of new scenes")
    func storedValues() async throws {
        try fill()
        let domains = [standard, sessions.one, sessions.two]
        let before = try domains.map { try $0.makeBackend().load().values }
        let standard = try standard.makeBackend()
        for session in [sessions.one, sessions.two, sessions.three] {
            try await importScene(SceneStore(sceneID: session.name, base: store), standard: standard)
        }
        let editors = [sessions.one, sessions.two, sessions.three].map {
            KeyedStore<EditorKeys>(SceneStore(sceneID: $0.name, base: store, writesThrough: true))
        }
        #expect(editors.map(\.fontSize) == [12, 18, 18])
        #expect(editors.map(\.document) == ["intro.md", "intro.md", "intro.md"])
        #expect(editors.map(\.isWrapped) == [false, false, false])
        #expect(editors.map(\.home) == [home, home, home])
        #expect(editors.map { $0.stored(\.document).isSet } == [true, false, false])
        #expect(SceneStore(sceneID: sessions.two.name, base: store).value(String.self, forKey: "other") == nil)

        editors[1].document = "outline.md"
        #expect(editors.map(\.document) == ["intro.md", "outline.md", "outline.md"])
        try await importScene(SceneStore(sceneID: sessions.two.name, base: store), standard: standard)
        #expect(editors[1].document == "outline.md")
        // An earlier version of the application still finds its own values.
        #expect(try domains.map { try $0.makeBackend().load().values } == before)
    }

    @Test("A scene is read and set by keys or by names, observed, and discarded")
    func use() async throws {
        let sceneID = sessions.one.name
        // snippet: ComingFromAppSceneStorage
        let scene = SceneStore(sceneID: sceneID, base: store, writesThrough: true)
        let editor = KeyedStore<EditorKeys>(scene)
        editor.fontSize += 2
        scene.set("intro.md", forKey: "document")
        // end
        #expect((editor.fontSize, editor.document) == (16, "intro.md"))
        let printed = Recorder<String>()
        let print: @Sendable (String) -> Void = { printed.record($0) }
        // snippet: ComingFromAppSceneStorage
        let token = editor.addUpdateListener(for: \.document) { change in
            print("\(change.newValue ?? "nothing") instead of \(change.oldValue ?? "nothing")")
        }
        // end
        editor.document = "outline.md"
        #expect(try await printed.elements(count: 1) == ["outline.md instead of intro.md"])
        token.cancel()
        // snippet: ComingFromAppSceneStorage
        store.discard(sceneID: sceneID)
        // end
        #expect(!editor.stored(\.document).isSet)
        #expect(editor.document == "outline.md")
    }

    // snippet: ComingFromAppSceneStorage
    @Test
    func newScene() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["fontSize": 18]))
        let scene = SceneStore(sceneID: "test", base: store)
        #expect(scene[EditorKeys().fontSize] == 18)
    }
    // end
}
