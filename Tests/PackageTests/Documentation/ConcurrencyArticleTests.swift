import Observation
import ObservableStorage
import TestSupport
import Testing

nonisolated extension StorageKey<Double> {
    fileprivate static let volume = StorageKey("volume", default: 0.8)
}

nonisolated private let printed = Recorder<String>()

/// Replaces the standard library's function for the snippets.
nonisolated private func print(_ line: String) {
    printed.record(line)
}

@Suite("Observation, the main actor and actors", .timeLimit(.minutes(10)))
struct ConcurrencyArticleTests {
    struct PlayerKeys: KeyGroup {
        let volume = StorageKey("volume", default: 0.8)
    }

    // snippet: Concurrency
    @MainActor
    final class PlayerModel {
        private let settings: KeyedStore<PlayerKeys>

        var volume: Double {
            get { settings.volume }
            set { settings.volume = newValue }
        }

        init(_ store: ObservableStore = .standard) {
            settings = KeyedStore(store)
        }
    }
    // end

    // snippet: Concurrency
    @Observable
    final class Player {
        @ObservationIgnored @Persisted("volume") var volume = 0.8
        var isPlaying = false
    }
    // end

    // snippet: Concurrency
    @MainActor
    final class Slider {
        var position = 0.0
        private var token: ObservationToken?

        init(_ store: ObservableStore) {
            token = store.stored(.volume).addMainActorListener(initial: true) { [weak self] change in
                self?.position = change.newValue
            }
        }
    }
    // end

    // snippet: Concurrency
    actor Mixer {
        @Persisted("volume") var volume = 0.8

        func follow(_ store: ObservableStore) async {
            for await volume in store.values(of: .volume) {
                print("mixing at \(volume)")
            }
        }

        func turnDown() {
            $volume.value = max(0, $volume.value - 0.1)
        }
    }
    // end

    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    @Test("Reads in a class are tracked, with and without @Observable")
    @MainActor
    func tracked() {
        let (model, player) = (PlayerModel(store), ObservableStore.withStandard(store) { Player() })
        let changed = Recorder<String>()
        withObservationTracking {
            #expect(model.volume == 0.8)
        } onChange: {
            changed.record("model")
        }
        withObservationTracking {
            #expect(player.volume == 0.8)
        } onChange: {
            changed.record("player")
        }
        player.isPlaying = true
        #expect(changed.elements == [])
        model.volume = 0.5
        #expect(Set(changed.elements) == ["model", "player"])
        #expect(player.volume == 0.5)
    }

    @Test("A listener on the main actor has the new value before the setter returns")
    @MainActor
    func slider() {
        let slider = Slider(store)
        #expect(slider.position == 0.8)
        store[.volume] = 0.3
        #expect(slider.position == 0.3)
    }

    @Test("An actor reads, writes and follows values")
    func mixer() async throws {
        let mixer = ObservableStore.withStandard(store) { Mixer() }
        let task = Task { await mixer.follow(store) }
        #expect(try await printed.elements { $0.contains("mixing at 0.8") }.count == 1)
        await mixer.turnDown()
        #expect(try await printed.elements(count: 2).last == "mixing at \(0.8 - 0.1)")
        task.cancel()
        await task.value
    }
}
