import Observation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct PlayerKeys: KeyGroup {
    let volume = StorageKey("volume", default: 0.8).validated(in: 0...1)
    let isMuted = StorageKey("isMuted", default: false)
    let title = StorageKey<String?>("title")
}

/// A view model as an application writes it: the store is passed in, and nothing in it knows of tests.
@MainActor
@Observable
private final class PlayerModel {
    private(set) var isPlaying = false
    let settings: KeyedStore<PlayerKeys>

    init(_ store: ObservableStore) {
        settings = KeyedStore(store)
    }

    var label: String {
        let volume = settings.isMuted ? "muted" : "\(Int(settings.volume * 100)) %"
        return "\(isPlaying ? "playing" : "paused"): \(settings.title ?? "untitled"), \(volume)"
    }

    func play(_ title: String) {
        settings.edit {
            $0.title = title
            $0.isMuted = false
        }
        isPlaying = true
    }

    func turnDown() {
        settings.volume = max(0, settings.volume - 0.1)
    }
}

/// Tests of a view model as an application has them: in parallel, each with a store of its own.
@Suite("A view model", .timeLimit(.minutes(10)))
@MainActor
struct ViewModelTests {
    private let backend = InMemoryBackend()
    private let store: ObservableStore
    private let model: PlayerModel

    init() throws {
        store = try ObservableStore(backend: backend)
        model = PlayerModel(store)
    }

    /// Whether an action causes the label to be computed again.
    private func redraws(_ action: () throws -> Void) rethrows -> Bool {
        let redrawn = Recorder<Void>()
        _ = withObservationTracking {
            model.label
        } onChange: {
            redrawn.record(())
        }
        try action()
        return !redrawn.elements.isEmpty
    }

    @Test("Each test has its own values", arguments: 0..<50)
    func isolated(number: Int) async throws {
        #expect(model.label == "paused: untitled, 80 %")
        model.play("song \(number)")
        for _ in 0..<number % 8 { model.turnDown() }
        try await store.flush()
        #expect(backend.load().values["title"] == .string("song \(number)"))
        #expect(PlayerModel(store).settings.title == "song \(number)")
        #expect(model.label.hasPrefix("playing: song \(number), "))
    }

    @Test("The view is drawn again after changes of stored and of other properties, and only then")
    func redrawn() {
        #expect(redraws { model.turnDown() })
        #expect(redraws { model.play("song") })
        #expect(!redraws { model.play("song") })
        #expect(!redraws { model.settings.isMuted = false })
    }

    @Test("Several properties that are set together are observed together")
    func together() async {
        model.settings.isMuted = true
        var values = model.settings.values(of: \.title, \.isMuted).makeAsyncIterator()
        #expect(await values.next()! == (nil, true))
        model.play("song")
        #expect(await values.next()! == ("song", false))
    }

    @Test("A change by another process is shown")
    func otherProcess() async throws {
        let changes = model.settings.changes(of: \.title)
        let isRedrawn = Recorder<Void>()
        #expect(
            withObservationTracking {
                model.label
            } onChange: {
                isRedrawn.record(())
            } == "paused: untitled, 80 %")
        let other = KeyedStore<PlayerKeys>(try ObservableStore(backend: backend))
        try await other.update { $0.title = "theirs" }
        for await change in changes {
            #expect(change.origin == .external)
            break
        }
        _ = try await isRedrawn.elements(count: 1)
        #expect(model.label == "paused: theirs, 80 %")
    }

    @Test("A value that is not valid does not reach the view, and is reported")
    func invalid() async throws {
        let failures = store.failures
        #expect(!redraws { model.settings.volume = 2 })
        for await failure in failures {
            #expect("\(failure)".contains("2.0 is not in 0.0...1.0"))
            break
        }
        #expect(model.label == "paused: untitled, 80 %")
    }
}
