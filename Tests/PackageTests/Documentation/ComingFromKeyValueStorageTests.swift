import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

/// key-value-storage sets plain values as `UserDefaults` does, raw values of enumerations, the property list of a value that serializes
/// itself, and JSON as data, in which an optional without a value is `null`. Groups do not change the names of their keys.
@Suite("Coming from key-value-storage", .timeLimit(.minutes(10)))
struct ComingFromKeyValueStorageTests {
    // snippet: ComingFromKeyValueStorage
    enum Fruit: Int, Storable { case apple, banana }

    struct Person: Codable, CodableStorable, Equatable {
        var name: String
        var age: Int
    }

    nonisolated struct Account: Codable, Equatable { var name: String }

    struct AppKeys: KeyGroup {
        let launchCount = StorageKey("launchCount", default: 0)
        let lastLaunch = StorageKey<Date?>("lastLaunch")
        let fruits = StorageKey("fruits", codec: .lossy(), default: [Fruit.apple])
        let person = StorageKey<Person?>("person")
        let account = StorageKey<Account?>("account", codec: .json, default: nil)
        let debug = DebugKeys()
    }

    struct DebugKeys: KeyGroup {
        let showConsole = StorageKey("showConsole", default: false)
    }
    // end

    struct OtherKeys: KeyGroup {
        let ratio = StorageKey("ratio", default: Float(0))
        let names = StorageKey("names", default: [String: [String: [Int]]]())
        let none = StorageKey<Account?>("none", codec: .json, default: nil)
        let list = StorageKey("list", codec: .json, default: [Account]())
    }

    private let domain = TemporaryDomain()
    private let launch = Date(timeIntervalSinceReferenceDate: 800_000_000)

    init() throws {
        let defaults = try domain.defaults
        defaults.set(3, forKey: "launchCount")
        defaults.set(launch, forKey: "lastLaunch")
        // The last one is a case that an earlier version has had.
        defaults.set([1, 7], forKey: "fruits")
        defaults.set(["name": "Ann", "age": 30] as [String: Any], forKey: "person")
        defaults.set(try JSONEncoder().encode(Account(name: "ann")), forKey: "account")
        defaults.set(true, forKey: "showConsole")
        defaults.set(Float(0.25), forKey: "ratio")
        defaults.set(["a": ["b": [1, 2]]], forKey: "names")
        defaults.set(try JSONEncoder().encode(Account?.none), forKey: "none")
        defaults.set(try JSONEncoder().encode([Account(name: "bob")]), forKey: "list")
    }

    private func stored() throws -> [String: PropertyListValue] {
        try domain.makeBackend().load().values
    }

    @Test("Every form that key-value-storage has stored is read, and an edit keeps it and all other entries")
    func storedValues() async throws {
        let before = try stored()
        let store = try ObservableStore(backend: domain.makeBackend())
        let (app, other) = (KeyedStore<AppKeys>(store), KeyedStore<OtherKeys>(store))
        #expect((app.launchCount, app.lastLaunch, app.fruits, app.account) == (3, launch, [.banana], Account(name: "ann")))
        #expect(app.person == Person(name: "Ann", age: 30))
        #expect((app.debug.showConsole, other.ratio, other.names) == (true, 0.25, ["a": ["b": [1, 2]]]))
        #expect((other.none, other.list) == (nil, [Account(name: "bob")]))
        #expect(try other.stored(\.none).get() == nil)
        #expect(try stored() == before)

        app.launchCount += 1
        app.person?.age = 31
        app.account?.name = "cid"
        app.fruits = [.apple, .banana]
        try await store.flush()
        let defaults = try domain.defaults
        #expect(defaults.object(forKey: "launchCount") as? Int == 4)
        #expect(defaults.dictionary(forKey: "person")?["age"] as? Int == 31)
        #expect(defaults.array(forKey: "fruits") as? [Int] == [0, 1])
        #expect(try JSONDecoder().decode(Account?.self, from: #require(defaults.data(forKey: "account"))) == Account(name: "cid"))
        let unchanged = try stored().filter { before[$0.key] == $0.value }.keys.sorted()
        #expect(unchanged == ["lastLaunch", "list", "names", "none", "ratio", "showConsole"])
        app.account = nil
        app.lastLaunch = nil
        try await store.flush()
        #expect(defaults.object(forKey: "account") == nil && defaults.object(forKey: "lastLaunch") == nil)
    }

    @Test("Keys are properties, which are set and observed")
    func use() async throws {
        let domain = domain.name
        let printed = Recorder<String>()
        let print: @Sendable (String) -> Void = { printed.record($0) }
        // snippet: ComingFromKeyValueStorage
        guard let defaults = UserDefaultsBackend(suiteName: domain) else { throw CocoaError(.fileNoSuchFile) }
        let storage = KeyedStore<AppKeys>(try ObservableStore(backend: defaults))
        storage.launchCount += 1
        storage.debug.showConsole = false
        // end
        let reader = Task {
            // snippet: ComingFromKeyValueStorage
            for await count in storage.values(of: \.launchCount) {
                print("launch \(count)")
            }
            // end
        }
        #expect(try await printed.elements(count: 1) == ["launch 4"])
        try await storage.store.close()
        await reader.value
        #expect(!storage.debug.showConsole)
    }

    // snippet: ComingFromKeyValueStorage
    @Test
    func firstLaunch() throws {
        let storage = KeyedStore<AppKeys>(try ObservableStore(backend: InMemoryBackend()))
        #expect(storage.launchCount == 0 && !storage.debug.showConsole)
    }
    // end
}
