import Foundation
import ObservableStorage

struct LampKeys: KeyGroup {
    let brightness = StorageKey("brightness", default: 100)
    let scene = StorageKey<String?>("scene")
}

/// Reads typed values and changes with `for await`.
@main
enum AsyncObservation {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "AsyncObservation-\(UUID())")
        let file = folder.appending(path: "lamp.plist")
        let store = try ObservableStore(at: file)
        let lamp = KeyedStore<LampKeys>(store)

        print("values(of:) gives the current value, then each newer one:")
        for await brightness in lamp.values(of: \.brightness) {
            print("  brightness is \(brightness)")
            if brightness == 0 { break }
            lamp.brightness = brightness - 25
        }

        print("changes(of:) gives every change, old and new, and who made it:")
        let changes = lamp.changes(of: \.scene)
        lamp.scene = "reading"
        lamp.scene = "dinner"
        lamp.scene = nil
        try await store.flush()

        // A second store on the same file is to the first one what another process is.
        let other = KeyedStore<LampKeys>(try ObservableStore(at: file))
        try await other.update { $0.scene = "party" }

        for await change in changes {
            print("  \(change.revision): \(change.oldValue ?? "no scene") -> \(change.newValue ?? "no scene") (\(change.origin))")
            if change.origin == .external { break }
        }

        try await other.store.close()
        try await store.close()
        try FileManager.default.removeItem(at: folder)
    }
}
