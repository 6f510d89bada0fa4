import Foundation
import ObservableStorage
import UserDefaultsStorage

/// A program that had its settings in Foundation's user defaults, and has them in a store now.
enum MovedSettings {
    private struct Keys: KeyGroup {
        let launches = StorageKey("launches", default: 0)
        let volume = StorageKey("volume", default: 0.8)
        let name = StorageKey<String?>("name")
        let isMuted = StorageKey("isMuted", default: false)
    }

    private struct UnknownRequest: Error {}

    static func run(_ version: String, _ path: String?) async throws {
        switch version {
        case "old": runOldVersion()
        case "new": try await runNewVersion(path.map { try ObservableStore(at: URL(fileURLWithPath: $0)) } ?? .standard)
        default: throw UnknownRequest()
        }
    }

    /// The version with user defaults.
    private static func runOldVersion() {
        let defaults = UserDefaults.standard
        defaults.set(defaults.integer(forKey: "launches") + 1, forKey: "launches")
        defaults.set(0.5, forKey: "volume")
        defaults.set("old", forKey: "name")
        defaults.set(true, forKey: "isMuted")
        defaults.synchronize()
    }

    /// The version with a store: prints the settings it finds, and changes them.
    private static func runNewVersion(_ store: ObservableStore) async throws {
        try await store.importEntries(from: UserDefaultsBackend(), once: "user defaults")
        let settings = KeyedStore<Keys>(store)
        try Peer.say("\(settings.launches) \(settings.volume) \(settings.name ?? "no name") \(settings.isMuted)")
        settings.edit {
            $0.launches += 1
            $0.volume = 0.25
            $0.name = nil
        }
        try await store.close()
    }
}
