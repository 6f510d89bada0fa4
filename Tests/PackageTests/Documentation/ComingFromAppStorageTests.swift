import Foundation
import ObservableStorage
import TestSupport
import Testing
import UserDefaultsStorage

/// What a view with `@AppStorage` has stored: `UserDefaults.set(_:forKey:)` for each type, the raw values of enumerations, and an archive
/// for a URL, as Apple documents it.
@Suite("Coming from AppStorage and SceneStorage", .timeLimit(.minutes(10)))
struct ComingFromAppStorageTests {
    // snippet: ComingFromAppStorage
    enum Theme: String, Storable { case light, dark }

    struct PlayerKeys: KeyGroup {
        let volume = StorageKey("volume", default: 0.8)
        let theme = StorageKey("theme", default: Theme.light)
        let title = StorageKey<String?>("title")
        let home = StorageKey<URL?>("home", codec: .userDefaults)
    }
    // end

    enum Quality: Int, Storable { case low, high }

    struct OtherKeys: KeyGroup {
        let isMuted = StorageKey("muted", default: false)
        let quality = StorageKey("quality", default: Quality.low)
        let image = StorageKey<Data?>("image")
        let missing = StorageKey<String?>("missing")
        let tags = StorageKey("tags", codec: .json, default: [String]())
        let library = StorageKey<URL?>("library", codec: .userDefaults)
    }

    private let domain = TemporaryDomain()
    private let home = URL(string: "https://example.org/music?a=b")

    private func fill() throws {
        let defaults = try domain.defaults
        defaults.set(0.5, forKey: "volume")
        defaults.set("dark", forKey: "theme")
        defaults.set("So What", forKey: "title")
        let url = try #require(home)
        defaults.set(try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true), forKey: "home")
        defaults.set("~/Music", forKey: "library")
        defaults.set(true, forKey: "muted")
        defaults.set(1, forKey: "quality")
        defaults.set(Data([0, 255]), forKey: "image")
        defaults.set("[\"jazz\"]", forKey: "tags")
    }

    private func open() throws -> ObservableStore {
        let suite = domain.name
        // snippet: ComingFromAppStorage
        guard let domain = UserDefaultsBackend(suiteName: suite) else { throw CocoaError(.fileNoSuchFile) }
        let store = try ObservableStore(backend: domain)
        // end
        return store
    }

    @Test("Every type that AppStorage has stored is read, and an edit keeps its form and all other entries")
    func storedValues() async throws {
        try fill()
        let store = try open()
        let before = store.snapshot.entries
        let (player, other) = (KeyedStore<PlayerKeys>(store), KeyedStore<OtherKeys>(store))
        #expect((player.volume, player.theme, player.title, player.home) == (0.5, .dark, "So What", home))
        #expect((other.isMuted, other.quality, other.image, other.missing) == (true, .high, Data([0, 255]), nil))
        #expect(other.tags == ["jazz"])
        #expect(other.library?.path == URL.homeDirectory.appending(path: "Music").path)
        #expect(store.snapshot.entries == before)

        let url = try #require(URL(string: "https://example.org/other"))
        player.theme = .light
        player.volume = 1
        player.home = url
        player.title = nil
        try await store.flush()
        let defaults = try domain.defaults
        #expect(defaults.string(forKey: "theme") == "light")
        #expect(defaults.double(forKey: "volume") == 1)
        #expect(defaults.url(forKey: "home") == url)
        #expect(defaults.object(forKey: "title") == nil)
        #expect(
            try domain.makeBackend().load().values.filter { before[$0.key] == $0.value }.keys.sorted() == [
                "image", "library", "muted", "quality", "tags",
            ])
    }

    @Test("The values of a domain are imported into a file with their types")
    func imported() async throws {
        try fill()
        let store = try ObservableStore(backend: InMemoryBackend())
        try await store.importEntries(from: domain.makeBackend(), once: "AppStorage")
        let player = KeyedStore<PlayerKeys>(store)
        #expect((player.volume, player.theme, player.title, player.home) == (0.5, .dark, "So What", home))
    }

    @Test("Values are read, set and observed outside of views")
    func anywhere() async throws {
        try fill()
        let store = try open()
        let printed = Recorder<String>()
        let print: @Sendable (String) -> Void = { printed.record($0) }
        let reader = Task {
            // snippet: ComingFromAppStorage
            let player = KeyedStore<PlayerKeys>(store)
            player.volume = 0.3
            for await volume in player.values(of: \.volume) {
                print("\(Int(volume * 100)) %")
            }
            // end
        }
        #expect(try await printed.elements(count: 1) == ["30 %"])
        try await store.close()
        await reader.value
    }

    // snippet: ComingFromAppStorage
    @Test
    func quiet() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["theme": "dark"]))
        #expect(KeyedStore<PlayerKeys>(store).theme == .dark)
    }
    // end

    // snippet: ComingFromAppStorage
    final class Library: SceneStoring {
        let sceneID: String?
        let sceneStore: SceneStore?
        @SceneStored("selection") var selection: String?

        init(sceneID: String, in store: ObservableStore) {
            self.sceneID = sceneID
            sceneStore = SceneStore(sceneID: sceneID, base: store)
        }
    }
    // end

    @Test("The state of a scene is its own, and still there when the store is opened again")
    func scene() async throws {
        try fill()
        let store = try open()
        Library(sceneID: "one", in: store).selection = "Blue in Green"
        try await store.flush()
        let again = try open()
        #expect(Library(sceneID: "one", in: again).selection == "Blue in Green")
        #expect(Library(sceneID: "two", in: again).selection == nil)
    }
}
