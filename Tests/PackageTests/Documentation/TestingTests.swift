import ObservableStorage
import ObservableStorageTesting
import PropertyListCoding
import Testing

nonisolated extension StorageKey<Int> {
    fileprivate static let volume = StorageKey("volume", default: 80)
}

/// The tests of the article are themselves its snippets.
@Suite("Testing", .timeLimit(.minutes(10)))
struct TestingTests {
    struct PlayerKeys: KeyGroup {
        let volume = StorageKey("volume", default: 80)
    }

    // snippet: Testing
    @MainActor
    final class PlayerModel {
        @Persisted("title") var title: String?
        let settings = KeyedStore<PlayerKeys>(.standard)

        var label: String { "\(title ?? "nothing") at \(settings.volume)" }
    }
    // end

    // snippet: Testing
    @Test @MainActor
    func label() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["title": "So What"]))
        ObservableStore.withStandard(store) {
            #expect(PlayerModel().label == "So What at 80")
        }
    }
    // end

    // snippet: Testing
    @Suite(.standardStore(["title": "So What"]))
    @MainActor
    struct PlayerModelTests {
        let model = PlayerModel()

        @Test(arguments: [0, 20])
        func volume(volume: Int) {
            model.settings.volume = volume
            #expect(model.label == "So What at \(volume)")
        }
    }
    // end

    // snippet: ObservableStorageTesting
    @Test(.standardStore(["title": "So What"]))
    @MainActor
    func labelOfStoredTitle() {
        #expect(PlayerModel().label == "So What at 80")
    }
    // end

    // snippet: Testing
    @Test
    func external() async throws {
        let backend = InMemoryBackend()
        let (mine, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        let changes = mine.changes(of: .volume)
        try await other.update { $0[.volume] = 20 }
        for await change in changes {
            #expect(change.newValue == 20)
            #expect(change.origin == .external)
            break
        }
    }
    // end

    // snippet: Testing
    @Test
    func failure() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["volume": "loud"]))
        #expect(store[.volume] == 80)
        for await failure in store.failures {
            #expect(failure == .undecodable(key: "volume", expected: "Int", found: "string"))
            break
        }
    }
    // end
}
