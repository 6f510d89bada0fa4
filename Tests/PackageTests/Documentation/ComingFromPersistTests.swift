import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

/// Persist sets values without a transformer as `UserDefaults` does, the output of one as data or as a raw value, and writes the bytes of a
/// value whose key is a URL to that file.
@Suite("Coming from Persist", .timeLimit(.minutes(10)))
struct ComingFromPersistTests {
    // snippet: ComingFromPersist
    enum Theme: Int, Storable { case light = 1, dark }

    nonisolated struct Account: Codable, Equatable { var name: String }

    final class Player {
        @Persisted("volume") var volume = 0.8
        @Persisted("theme") var theme = Theme.light
        @Persisted("account", codec: .json) var account: Account?
        @Persisted("home", codec: .userDefaults) var home: URL?
    }
    // end

    nonisolated struct Window: Codable, Equatable {
        var x = 0
        var y = 0
    }

    struct Keys: KeyGroup {
        // snippet: ComingFromPersist
        let window = StorageKey("window", codec: .propertyList, default: Window())
            .migrating(from: Data.self) { try PropertyListDecoder().decode(Window.self, from: $0) }
        // end
        // snippet: ComingFromPersist
        let id = StorageKey("id", persistsDefault: .whenMissing, default: UUID())
        // end
        let tags = StorageKey<[String]>("tags", default: [])
        let limits = StorageKey<[String: Int]>("limits", default: [:])
        let dotted = StorageKey("player.count", default: 0)
    }

    private let domain = TemporaryDomain()
    private let home = URL(string: "https://example.org/music")
    private let store: ObservableStore

    init() throws {
        let url = try #require(home)
        let defaults = try domain.defaults
        defaults.set(0.5, forKey: "volume")
        defaults.set(2, forKey: "theme")
        defaults.set(try JSONEncoder().encode(Account(name: "Miles")), forKey: "account")
        defaults.set(try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true), forKey: "home")
        defaults.set(try PropertyListEncoder().encode(Window(x: 1, y: 2)), forKey: "window")
        defaults.set(["a", "b"], forKey: "tags")
        defaults.set(["high": 3], forKey: "limits")
        defaults.set(4, forKey: "player.count")
        store = try ObservableStore(backend: domain.makeBackend())
    }

    private func stored() throws -> [String: PropertyListValue] {
        try domain.makeBackend().load().values
    }

    @Test("Every form that Persist has stored is read, and an edit keeps it and all other entries")
    func storedValues() async throws {
        let before = try stored()
        try await ObservableStore.withStandard(store) {
            let player = Player()
            #expect((player.volume, player.theme, player.account, player.home) == (0.5, .dark, Account(name: "Miles"), home))
            let keyed = KeyedStore<Keys>(store)
            #expect((keyed.tags, keyed.limits, keyed.dotted) == (["a", "b"], ["high": 3], 4))
            #expect(try stored() == before)

            let url = try #require(URL(string: "https://example.org/other"))
            player.theme = .light
            player.account?.name = "Bill"
            player.home = url
            try await store.flush()
            let defaults = try domain.defaults
            #expect(defaults.object(forKey: "theme") as? Int == 1)
            let data = try #require(defaults.data(forKey: "account"))
            #expect(try JSONDecoder().decode(Account.self, from: data) == Account(name: "Bill"))
            #expect(defaults.url(forKey: "home") == url)
            let unchanged = try stored().filter { before[$0.key] == $0.value }.keys.sorted()
            #expect(unchanged == ["limits", "player.count", "tags", "volume", "window"])
            player.account = nil
            try await store.flush()
            #expect(defaults.object(forKey: "account") == nil)
        }
    }

    @Test("A property list that was stored as data is read, and replaced by its structure when it is set")
    func propertyLists() async throws {
        let keyed = KeyedStore<Keys>(store)
        #expect(keyed.window == Window(x: 1, y: 2))
        let id = keyed.id
        keyed.window = Window(x: 1, y: 2)
        try await store.flush()
        #expect(try stored()["window"] == ["x": 1, "y": 2])
        #expect(try stored()["id"]?.string == id.uuidString)
    }

    @Test("The file of a value is read into the store once")
    func files() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("session.json")
        try JSONEncoder().encode(Account(name: "Session")).write(to: file)
        func start() async throws {
            // snippet: ComingFromPersist
            let session = StorageKey<Account?>("session", codec: .json)
            try await store.migrate([
                StoreMigration(to: 1) { transaction in
                    guard FileManager.default.fileExists(atPath: file.path) else { return }
                    transaction[session] = try JSONDecoder().decode(Account.self, from: Data(contentsOf: file))
                }
            ])
            // end
            #expect(store[session] == Account(name: "Session"))
        }
        try await start()
        try FileManager.default.removeItem(at: file)
        try await start()
        #expect(try stored()["session"] == .data(Data(#"{"name":"Session"}"#.utf8)))
    }

    @Test("Values are set with their error, and observed")
    func use() async throws {
        let printed = Recorder<String>()
        let print: @Sendable (String) -> Void = { printed.record($0) }
        try ObservableStore.withStandard(store) {
            let player = Player()
            // snippet: ComingFromPersist
            try player.$volume.set(0.3)
            let token = player.$volume.addUpdateListener { change in
                print("\(change.oldValue) is now \(change.newValue)")
            }
            // end
            player.volume = 0.4
            token.cancel()
        }
        #expect(try await printed.elements(count: 1) == ["0.3 is now 0.4"])
    }

    // snippet: ComingFromPersist
    @Test
    func quiet() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["volume": 0.2]))
        ObservableStore.withStandard(store) {
            #expect(Player().volume == 0.2)
        }
    }
    // end
}
