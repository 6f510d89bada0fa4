import Foundation
import Observation
import ObservableStorage
import TestSupport
import Testing

private struct PlayerKeys: KeyGroup {
    let volume = StorageKey("volume", default: 0.8)
}

@Observable
private final class WrappedPlayer {
    @ObservationIgnored @Persisted(StorageKey("volume", default: 0.8)) var volume
    var title = ""

    init(_ store: ObservableStore) {
        _volume = Persisted(StorageKey("volume", default: 0.8), in: store)
    }
}

@Observable
private final class SettingsPlayer {
    let settings: KeyedStore<PlayerKeys>

    init(_ store: ObservableStore) {
        settings = KeyedStore(store)
    }
}

@Observable
private final class ComputedPlayer {
    private let settings: KeyedStore<PlayerKeys>
    var volume: Double {
        get { settings.volume }
        set { settings.volume = newValue }
    }

    init(_ store: ObservableStore) {
        settings = KeyedStore(store)
    }
}

/// Stored properties in classes with `@Observable`, in Sendable classes, and in actors.
@Suite("Stored properties in observable types", .timeLimit(.minutes(10)))
struct ObservableClassTests {
    private let store: ObservableStore
    private let woken = Recorder<String>()

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    private func track(_ name: String, _ read: () -> Double) -> Double {
        withObservationTracking(read, onChange: { [woken] in woken.record(name) })
    }

    @Test("Each form is observed, whoever writes the value")
    func observed() throws {
        let (wrapped, settings, computed) = (WrappedPlayer(store), SettingsPlayer(store), ComputedPlayer(store))
        #expect(track("wrapped") { wrapped.volume } == 0.8)
        #expect(track("settings") { settings.settings.volume } == 0.8)
        #expect(track("computed") { computed.volume } == 0.8)
        wrapped.title = "not read"
        #expect(woken.elements == [])
        computed.volume = 0.5
        #expect(Set(woken.elements) == ["wrapped", "settings", "computed"])
        #expect(wrapped.volume == 0.5 && settings.settings.volume == 0.5)
    }

    private final class SendablePlayer: Sendable {
        let volume: Persisted<Double>
        let settings: KeyedStore<PlayerKeys>

        init(_ store: ObservableStore) {
            volume = Persisted(StorageKey("volume", default: 0.8), in: store)
            settings = KeyedStore(store)
        }
    }

    private actor ActorPlayer {
        @Persisted(StorageKey("volume", default: 0.8)) var volume

        init(_ store: ObservableStore) {
            _volume = Persisted(StorageKey("volume", default: 0.8), in: store)
        }

        func turnDown() {
            volume -= 0.3
        }
    }

    @Test("Sendable classes and actors have them as well")
    func concurrent() async {
        let (player, actor) = (SendablePlayer(store), ActorPlayer(store))
        await actor.turnDown()
        #expect(await actor.volume == 0.5)
        #expect(await Task.detached { player.settings.volume }.value == 0.5)
        #expect(player.volume.wrappedValue == 0.5)
    }
}
