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

/// Programs that do not compile.
@Suite("Messages of the compiler", .timeLimit(.minutes(10)))
struct CompilerMessageTests {
    /// The errors of the compiler for a program that uses the library.
    private func errors(of program: String) async throws -> [String] {
        let folder = try TemporaryFolder()
        let file = folder.file("Program.swift")
        try Data("import ObservableStorage\nstruct Theme: Sendable {}\n\(program)\n".utf8).write(to: file)
        let modules = Subprocess.executable("Modules").path
        let compiled = try await Subprocess.finished("swiftc", ["-typecheck", "-swift-version", "6", "-I", modules, file.path])
        return compiled.errors.split(separator: "\n").filter { $0.hasPrefix(file.path) && $0.contains("error: ") }.map { line in
            String(line.components(separatedBy: "error: ").last ?? "")
        }
    }

    @Test(
        "A property of a type that cannot be stored leads to the remedy",
        arguments: [
            "final class Model { @Persisted(\"theme\") var theme = Theme() }",
            "final class Model { @Persisted(\"theme\") var theme: Theme? }",
            "final class Model: SceneStoring { let sceneID = \"\"; @SceneStored(\"theme\") var theme = Theme() }",
            "final class Model: SceneStoring { let sceneID = \"\"; @SceneStored(\"theme\") var theme: Theme? }",
            "let key = StorageKey(\"theme\", default: Theme())",
        ])
    func remedy(program: String) async throws {
        let errors = try await errors(of: program)
        #expect(errors.count == 1)
        #expect(errors.allSatisfy { $0.contains("to Storable, or to CodableStorable if it is Codable, or pass 'codec:'") }, "\(errors)")
    }

    @Test("The same properties compile with a type that can be stored")
    func accepted() async throws {
        let program = "final class Model { @Persisted(\"theme\") var theme = 1; @Persisted(\"name\") var name: String? }"
        #expect(try await errors(of: program) == [])
    }
}
