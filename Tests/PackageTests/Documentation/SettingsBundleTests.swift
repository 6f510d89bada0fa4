import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

// snippet: SettingsBundle
extension ObservableStore {
    /// Registers the defaults of a page of the settings bundle.
    nonisolated func registerDefaults(of page: URL) throws {
        let page = try PropertyListValue.decode(Data(contentsOf: page)).value
        var defaults: [String: PropertyListValue] = [:]
        for element in page["PreferenceSpecifiers"]?.array ?? [] {
            if let name = element["Key"]?.string { defaults[name] = element["DefaultValue"] }
        }
        try register(defaults)
    }
}
// end

@Suite("Settings in the Settings application", .timeLimit(.minutes(10)))
struct SettingsBundleTests {
    // snippet: SettingsBundle
    struct PageKeys: KeyGroup {
        let isSoundOn = StorageKey("sound", codec: .lenient, default: true)
        let volume = StorageKey("volume", default: 0.8)
        let port = StorageKey("port", codec: .lenient, default: 80)
        let quality = StorageKey("quality", codec: .lenient, default: 1)
    }
    // end

    private static let page: PropertyListValue = [
        "PreferenceSpecifiers": [
            ["Type": "PSGroupSpecifier", "Title": "Sound"],
            ["Type": "PSToggleSwitchSpecifier", "Key": "sound", "DefaultValue": false],
            ["Type": "PSSliderSpecifier", "Key": "volume", "DefaultValue": 0.25],
            ["Type": "PSTextFieldSpecifier", "Key": "port", "DefaultValue": "8080"],
            ["Type": "PSMultiValueSpecifier", "Key": "quality", "Values": ["1", "2"], "DefaultValue": "2"],
        ]
    ]

    private let domain = TemporaryDomain()

    /// The store of the application's domain, which no test has.
    private func open() throws -> KeyedStore<PageKeys> {
        // snippet: SettingsBundle
        let store = try ObservableStore(backend: UserDefaultsBackend())
        let settings = KeyedStore<PageKeys>(store)
        // end
        return settings
    }

    @Test("A key has the user's value in any form that an element stores, else the default of the page, else its own")
    func values() async throws {
        let folder = try TemporaryFolder()
        let root = folder.file("Root.plist")
        try Self.page.encoded(as: .xml).write(to: root)
        let defaults = try domain.defaults
        defaults.set("YES", forKey: "sound")
        defaults.set("443", forKey: "port")
        let store = try ObservableStore(backend: domain.makeBackend())
        let settings = KeyedStore<PageKeys>(store)
        #expect((settings.isSoundOn, settings.volume, settings.port, settings.quality) == (true, 0.8, 443, 1))
        try store.registerDefaults(of: root)
        #expect((settings.isSoundOn, settings.volume, settings.port, settings.quality) == (true, 0.25, 443, 2))
        #expect(store.snapshot.entries.count == 2)
        store.remove(settings.stored(\.isSoundOn).key)
        #expect(!settings.isSoundOn)
        try await store.close()
    }
}
