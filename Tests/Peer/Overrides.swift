import Foundation
import ObservableStorage

/// A tool whose settings may be given as arguments and in the environment.
enum Overrides {
    private struct Keys: KeyGroup {
        let port = StorageKey("port", default: 80)
        let name = StorageKey("name", default: "")
    }

    private struct UnknownRequest: Error {}

    /// Prints the settings and the other arguments, and stores a port.
    static func run(_ kind: String, _ path: String) async throws {
        let overrides = [OverrideSource.arguments(), .environment(prefix: "PEER")]
        let store =
            switch kind {
            case "file": try ObservableStore(at: URL(fileURLWithPath: path), overrides: overrides)
            case "suite": ObservableStore(suiteName: "suite", overrides: overrides)
            case "standard": try ObservableStore.openStandard(overrides: overrides)
            default: throw UnknownRequest()
            }
        let settings = try KeyedStore<Keys>(store).check()
        try Peer.say("\(settings.port) \(settings.name) \(settings.remainingArguments.dropFirst().joined(separator: " "))")
        settings.port = 1
        try await store.flush()
    }
}
