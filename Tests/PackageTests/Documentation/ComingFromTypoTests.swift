import Foundation
import ObservableStorage
import PropertyListCoding
import Synchronization
import TestSupport
import Testing
import UserDefaultsStorage

// snippet: ComingFromTypo
nonisolated struct TypoValue<Value: Codable>: Codable {
    var type: String
    var value: Value
}

nonisolated extension StorageCodec where Value: Codable {
    /// The form in which Typo stores a value with a type identifier.
    static func typo(_ identifier: String) -> StorageCodec {
        .custom(
            encode: { .data(try JSONEncoder().encode(TypoValue(type: identifier, value: $0))) },
            decode: { stored in
                let typo = try JSONDecoder().decode(TypoValue<Value>.self, from: Data(propertyListValue: stored))
                guard typo.type == identifier else { throw CocoaError(.coderInvalidValue) }
                return typo.value
            })
    }
}
// end

/// Typo stores data: a JSON object with the identifier of the type and the value. A key is the names of the namespaces, joined with `.`,
/// then `/` and the property's name.
@Suite("Coming from Typo", .timeLimit(.minutes(10)))
struct ComingFromTypoTests {
    // snippet: ComingFromTypo
    struct AppKeys: KeyGroup {
        let launchCount = StorageKey("launchCount", default: 0)
            .migrating(codec: .typo("Swift.Int")) { $0 }
        let audio = AudioKeys()
    }

    struct AudioKeys: KeyGroup {
        var prefix: String? { "audio" }
        let volume = StorageKey("volume", default: 80)
            .migrating(codec: .typo("Swift.Int")) { $0 }
            .migrating(codec: .typo("Swift.Double")) { (volume: Double) in Int(volume * 100) }
        let device = StorageKey<String?>("device")
            .migrating(codec: .typo("Swift.Optional<Swift.String>")) { $0 }
    }
    // end

    struct SameForm: KeyGroup {
        // snippet: ComingFromTypo
        let launchCount = StorageKey("launchCount", codec: .typo("Swift.Int"), default: 0)
        let device = StorageKey<String?>(
            "audio/device", codec: .typo("Swift.Optional<Swift.String>"), default: nil)
        // end
        let presets = StorageKey("presets", codec: .typo("Swift.Dictionary<Swift.String, Swift.Double>"), default: [String: Double]())
        let home = StorageKey<URL?>("home", codec: .typo("Swift.Optional<Foundation.URL>"), default: nil)
        let speaker = StorageKey("audio.speaker/name", codec: .typo("Swift.String"), default: "")
        let date = StorageKey("date", codec: .typo("Foundation.Date"), default: Date.distantPast)
    }

    struct Nested: KeyGroup {
        struct Audio: KeyGroup {
            struct Speaker: KeyGroup {
                var prefix: String? { "speaker" }
                let name = StorageKey("name", codec: .typo("Swift.String"), default: "")
            }

            var prefix: String? { "audio" }
            let speaker = Speaker()
        }

        let audio = Audio()
    }

    private let domain = TemporaryDomain()

    init() throws {
        let defaults = try domain.defaults
        // Written by hand, since the order of JSON's keys is not determined.
        let stored = [
            "launchCount": #"{"type":"Swift.Int","value":5}"#,
            "audio/volume": #"{"value":0.5,"type":"Swift.Double"}"#,
            "audio/device": #"{"type":"Swift.Optional<Swift.String>","value":null}"#,
            "audio.speaker/name": #"{"type":"Swift.String","value":"left"}"#,
            "presets": #"{"type":"Swift.Dictionary<Swift.String, Swift.Double>","value":{"low":0.25}}"#,
            "home": #"{"type":"Swift.Optional<Foundation.URL>","value":"https:\/\/example.org"}"#,
            "date": #"{"type":"Foundation.Date","value":5}"#,
        ]
        for (key, json) in stored { defaults.set(Data(json.utf8), forKey: key) }
        defaults.set("not of the library", forKey: "other.name")
    }

    private func stored() throws -> [String: PropertyListValue] {
        try domain.makeBackend().load().values
    }

    @Test("Every value is read by its type identifier, and an edit keeps its form and all other entries")
    func sameForm() async throws {
        let before = try stored()
        let keyed = KeyedStore<SameForm>(try ObservableStore(backend: domain.makeBackend()))
        #expect((keyed.launchCount, keyed.device, keyed.presets, keyed.speaker) == (5, nil, ["low": 0.25], "left"))
        #expect((keyed.home?.absoluteString, keyed.date) == ("https://example.org", Date(timeIntervalSinceReferenceDate: 5)))
        #expect(try stored() == before)
        keyed.launchCount += 1
        keyed.device = "headphones"
        try await keyed.store.flush()
        let defaults = try domain.defaults
        let count = try JSONDecoder().decode(TypoValue<Int>.self, from: #require(defaults.data(forKey: "launchCount")))
        #expect((count.type, count.value) == ("Swift.Int", 6))
        let device = try JSONDecoder().decode(TypoValue<String?>.self, from: #require(defaults.data(forKey: "audio/device")))
        #expect((device.type, device.value) == ("Swift.Optional<Swift.String>", "headphones"))
        let unchanged = try stored().filter { before[$0.key] == $0.value }.keys.sorted()
        #expect(unchanged == ["audio.speaker/name", "audio/volume", "date", "home", "other.name", "presets"])
        keyed.device = nil
        try await keyed.store.flush()
        #expect(defaults.object(forKey: "audio/device") == nil)
    }

    @Test("A value of another type identifier is an error, and is kept")
    func otherType() throws {
        let store = try ObservableStore(backend: domain.makeBackend())
        let wrong = StorageKey("launchCount", codec: .typo("Swift.UInt"), default: UInt(0))
        #expect(store[wrong] == 0)
        #expect(throws: StorageError.self) { try store.value(for: wrong) }
        #expect(store[StorageKey("launchCount", codec: .typo("Swift.Int"), default: 0)] == 5)
    }

    @Test("Values become native ones of their names when they are set, also from an earlier type")
    func converted() async throws {
        let keyed = KeyedStore<AppKeys>(try ObservableStore(backend: domain.makeBackend()))
        #expect((keyed.launchCount, keyed.audio.volume, keyed.audio.device) == (5, 50, nil))
        (keyed.launchCount, keyed.audio.volume) = (5, 50)
        try await keyed.store.flush()
        #expect(try stored()["launchCount"] == 5)
        #expect(try stored()["audio/volume"] == 50)
        keyed.audio.device = "headphones"
        try await keyed.store.flush()
        #expect(try stored()["audio/device"] == "headphones")
    }

    @Test("An import turns the separators of namespaces into those of groups")
    func imported() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let defaults = try domain.makeBackend()
        let before = try stored()
        // snippet: ComingFromTypo
        try await store.importEntries(from: defaults, once: "Typo") { name in
            name.contains("/") ? name.replacingOccurrences(of: ".", with: "/") : name
        }
        // end
        #expect(KeyedStore<Nested>(store).audio.speaker.name == "left")
        #expect(KeyedStore<AppKeys>(store).audio.volume == 50)
        #expect(store.value(String.self, forKey: "other.name") == "not of the library")
        #expect(try stored() == before)
    }

    /// As a type that conforms to Typo's `Storage`.
    nonisolated final class Safe: Sendable {
        private let values: Mutex<[String: Data]>

        init(_ values: [String: Data]) { self.values = Mutex(values) }

        subscript(name: String) -> Data? {
            get { values.withLock { $0[name] } }
            set { values.withLock { $0[name] = newValue } }
        }
    }

    @Test("A storage with a subscript is read and edited, and what no data can hold is refused")
    func subscripts() async throws {
        let storage = Safe(["launchCount": Data(#"{"type":"Swift.Int","value":5}"#.utf8), "other": Data([1])])
        // snippet: ComingFromTypo
        let names = ["launchCount", "audio/volume", "audio/device"]
        let backend = DictionaryBackend {
            names.reduce(into: [:]) { $0[$1] = storage[$1].map { .data($0) } }
        } set: { entries in
            for name in entries.editedKeys { storage[name] = try entries[name].map { try Data(propertyListValue: $0) } }
        }
        // end
        let store = try ObservableStore(backend: backend)
        let keyed = KeyedStore<SameForm>(store)
        #expect(keyed.launchCount == 5 && keyed.device == nil)
        keyed.launchCount = 6
        keyed.device = "headphones"
        try await store.flush()
        let count = try JSONDecoder().decode(TypoValue<Int>.self, from: #require(storage["launchCount"]))
        #expect((count.type, count.value) == ("Swift.Int", 6))
        #expect(storage["audio/device"] != nil && storage["other"] == Data([1]))
        keyed.device = nil
        try await store.flush()
        #expect(storage["audio/device"] == nil)
        await #expect(throws: StorageError.self) { try await store.update { $0.set(1, forKey: "launchCount") } }
        #expect(keyed.launchCount == 6)
        try await store.close()
    }

    @Test("Keys are properties, which are set and observed")
    func use() async throws {
        let store = try ObservableStore(backend: domain.makeBackend())
        let printed = Recorder<String>()
        let print: @Sendable (String) -> Void = { printed.record($0) }
        let reader = Task {
            // snippet: ComingFromTypo
            let settings = KeyedStore<AppKeys>(store)
            settings.audio.volume = 30
            for await volume in settings.audio.values(of: \.volume) {
                print("\(settings.audio.stored(\.volume).key.name): \(volume)")
            }
            // end
        }
        #expect(try await printed.elements(count: 1) == ["audio/volume: 30"])
        try await store.close()
        await reader.value
    }

    // snippet: ComingFromTypo
    @Test
    func launches() throws {
        let settings = KeyedStore<AppKeys>(try ObservableStore(backend: InMemoryBackend()))
        settings.launchCount += 1
        #expect(settings.store.snapshot.entries == ["launchCount": 1])
    }
    // end
}
