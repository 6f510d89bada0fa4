import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Managed settings", .timeLimit(.minutes(10)))
struct ManagedSettingsTests {
    struct AppKeys: KeyGroup {
        let telemetry = StorageKey("telemetry", default: true)
        let proxy = StorageKey("proxy", default: "none")
        let size = StorageKey("size", default: 10)
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func file(_ name: String, _ entries: PropertyListValue) throws -> URL {
        let file = folder.file(name)
        try entries.encoded(as: .xml).write(to: file)
        return file
    }

    @Test("A value comes from the first layer that has it, and a mandatory one cannot be set")
    func layers() async throws {
        let userFile = try file("user.plist", ["telemetry": true])
        let siteDefaults = try file("site.plist", ["proxy": "site"])
        let vendorDefaults = try file("vendor.plist", ["proxy": "vendor", "size": 20])
        let sitePolicy = try file("policy.plist", ["telemetry": false])
        // snippet: ManagedSettings
        let store = try ObservableStore(
            at: userFile, defaults: [siteDefaults, vendorDefaults], mandatory: [sitePolicy])
        let settings = KeyedStore<AppKeys>(store)
        // end
        #expect((settings.telemetry, settings.proxy, settings.size) == (false, "site", 20))
        // snippet: ManagedSettings
        let isEnabled = !settings.stored(\.telemetry).isMandatory
        // end
        #expect(!isEnabled)
        #expect(throws: StorageError.mandatory(key: "telemetry")) { try settings.stored(\.telemetry).set(true) }

        func describe() -> String {
            // snippet: ManagedSettings
            let source =
                switch settings.stored(\.proxy).source {
                case .mandatory(let file): "prescribed in \(file)"
                case .argument(let name), .environment(let name), .override(let name): "given as \(name)"
                case .stored, .inherited: "set by the user"
                case .registered, .keyDefault: "default"
                case .defaults(let file): "default of \(file)"
                }
            // end
            return source
        }
        #expect(describe() == "default of \(siteDefaults.path)")
        settings.proxy = "mine"
        #expect(describe() == "set by the user")

        var changes = settings.changes(of: \.telemetry).makeAsyncIterator()
        try PropertyListValue.dictionary([:]).encoded(as: .xml).write(to: sitePolicy, options: .atomic)
        let change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.origin) == (false, true, .external))
        try await store.close()
    }
}
