import Dispatch
import Foundation
import ObservableStorage

/// Listeners on the main actor, in a process whose main queue runs on other threads than the first one.
@MainActor
struct MainQueue {
    private let store: ObservableStore
    private let key = StorageKey("count", default: 0)

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    /// Prints what a listener received before each setter returned.
    func run() async throws {
        let heard = Heard()
        let token = store.stored(key).addMainActorListener { heard.counts.append($0.newValue) }
        // The first thread ends in `dispatchMain` when the main function waits for the first time.
        await Task.detached { try? await Task.sleep(for: .milliseconds(1)) }.value
        store[key] = 1
        try Peer.say("set 1, heard \(heard.counts)")
        await Task.detached { [store, key] in store[key] = 2 }.value
        store[key] = 3
        try Peer.say("set 3, heard \(heard.counts)")
        withExtendedLifetime(token) {}
    }

    private final class Heard {
        var counts: [Int] = []
    }
}
