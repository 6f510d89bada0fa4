import Foundation
import ObservableStorage

nonisolated extension StorageKey<Double> {
    static let volume = StorageKey("volume", default: 0.8)
}

nonisolated extension StorageKey<Bool> {
    static let isMuted = StorageKey("isMuted", default: false)
}

/// Calls closures when values change, for as long as their tokens are kept.
@main
enum UpdateListeners {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "UpdateListeners-\(UUID())")
        let store = try ObservableStore(at: folder.appending(path: "player.plist"))

        print("A listener with its initial value:")
        let slider = store.addUpdateListener(for: .volume, initial: true) { change in
            print("  slider: \(change.oldValue) -> \(change.newValue)")
        }
        store[.volume] = 0.5
        print("Writing what is there already is no change:")
        store[.volume] = 0.5

        print("A second listener, kept in a set, writes another key:")
        var tokens: Set<ObservationToken> = []
        store.addUpdateListener(for: .volume) { change in store[.isMuted] = change.newValue == 0 }.store(in: &tokens)
        store.addUpdateListener(for: .isMuted) { change in
            print("  muted: \(change.newValue)")
        }.store(in: &tokens)
        store[.volume] = 0

        print("A writer that passes its own token is the only one that is not told:")
        try store.set(0.9, for: .volume, muting: slider)

        print("Nothing is delivered once a token is cancelled or released:")
        slider.cancel()
        tokens.removeAll()
        store[.volume] = 0.1
        print("  the volume is \(store[.volume]), and nobody was told")

        try await store.close()
        try FileManager.default.removeItem(at: folder)
    }
}
