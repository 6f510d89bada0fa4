import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

@Suite("Moving from UserDefaults", .timeLimit(.minutes(10)))
struct MovingFromUserDefaultsTests {
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend(["title": "kept"]))
    }

    @Test("Values of a suite are imported once, and do not replace stored ones")
    func importing() async throws {
        let domain = TemporaryDomain()
        let (title, skip) = (StorageKey("title", default: ""), StorageKey("skip", default: 0))
        try domain.defaults.set("other", forKey: "title")
        try domain.defaults.set(5, forKey: "skip")
        func start() async throws {
            let suite = domain.name
            // The suite of the article, under a name that no other test uses.
            if let defaults = UserDefaultsBackend(suiteName: suite) {
                try await store.importEntries(from: defaults, once: "UserDefaults")
            }
        }
        try await start()
        #expect((store[title], store[skip]) == ("kept", 5))
        store.remove(skip)
        try await start()
        #expect(store[skip] == 0)
        #expect(try domain.defaults.integer(forKey: "skip") == 5)
    }

    @Test("A suite without values imports none")
    func emptySuite() async throws {
        // snippet: MovingFromUserDefaults
        if let defaults = UserDefaultsBackend(suiteName: "com.example.player") {
            try await store.importEntries(from: defaults, once: "UserDefaults")
        }
        // end
        #expect(store[StorageKey("title", default: "")] == "kept")
    }

    // snippet: MovingFromUserDefaults
    struct PlayerKeys: KeyGroup {
        let skip = StorageKey("skip", codec: .lenient, default: 10)
        let home = StorageKey<URL?>("home", codec: .userDefaults)
        let volume = StorageKey("volume", default: 80)
            .migrating(from: Double.self) { Int($0 * 100) }
            .renamed(from: "AudioVolume")
    }
    // end

    @Test("Values of other types are read, and converted by the key")
    func otherTypes() throws {
        let backend = InMemoryBackend(["skip": "15", "home": "/srv/music", "AudioVolume": 0.5])
        let player = KeyedStore<PlayerKeys>(try ObservableStore(backend: backend))
        #expect((player.skip, player.home?.path, player.volume) == (15, "/srv/music", 50))
        #expect(player.store.snapshot.entries["AudioVolume"] == 0.5)
        player.volume = 60
        #expect(player.store.snapshot.entries["volume"] == 60)
        #expect(player.store.snapshot.entries["AudioVolume"] == nil)
    }

    @Test("User defaults can be the storage")
    func storage() throws {
        // snippet: MovingFromUserDefaults
        let defaults = try ObservableStore(backend: UserDefaultsBackend())
        // end
        #expect(try defaults.snapshot.entries == UserDefaultsBackend().load().values)
    }
}
