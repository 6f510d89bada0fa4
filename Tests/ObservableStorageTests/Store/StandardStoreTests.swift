import TestSupport
import Testing

@testable import ObservableStorage

private struct PlayerKeys: KeyGroup {
    let volume = StorageKey("volume", default: 0.8)
}

/// A view model as an application writes it: nothing in it knows of tests.
@MainActor
private final class PlayerModel {
    @Persisted("title") var title: String?
    private let settings = KeyedStore<PlayerKeys>(.standard)

    var label: String { "\(title ?? "untitled") at \(Int(settings.volume * 100)) %" }

    func turnDown() {
        settings.volume = max(0, settings.volume - 0.1)
    }
}

@Suite("The standard store", .timeLimit(.minutes(10)))
struct StandardStoreTests {
    @Test("Many tests of a model run in parallel, each with a standard store of its own", arguments: 0..<50)
    @MainActor
    func model(number: Int) async throws {
        let backend = InMemoryBackend(["title": .string("song \(number)")])
        let label = try await ObservableStore.withStandard(ObservableStore(backend: backend)) {
            let model = PlayerModel()
            model.turnDown()
            // Other tests run meanwhile.
            await Task.yield()
            let other = PlayerModel()
            try await ObservableStore.standard.flush()
            return other.label
        }
        #expect(label == "song \(number) at 70 %")
        #expect(backend.load().values["title"] == .string("song \(number)"))
    }

    @Test("It is replaced for the closure and its tasks, and only for these")
    func scope() async throws {
        let outer = ObservableStore.standard
        let (store, inner) = (try ObservableStore(backend: InMemoryBackend()), try ObservableStore(backend: InMemoryBackend()))
        ObservableStore.withStandard(store) {
            #expect(ObservableStore.standard === store)
            ObservableStore.withStandard(inner) { #expect(ObservableStore.standard === inner) }
            #expect(ObservableStore.standard === store)
        }
        await ObservableStore.withStandard(store) {
            #expect(await Task { ObservableStore.standard === store }.value)
            #expect(await Task.detached { ObservableStore.standard === outer }.value)
        }
        #expect(ObservableStore.standard === outer)
    }

    @Test("It is in memory in this test process")
    func here() {
        #expect(ObservableStore.standard.backend is InMemoryBackend)
    }

    @Test(
        "It is in memory in test processes and previews, unless the environment states otherwise",
        arguments: [
            ("/app/.build/debug/AppPackageTests.xctest", [:], true),
            ("/Xcode/usr/bin/xctest", [:], true),
            ("/usr/libexec/swift/pm/swiftpm-testing-helper", [:], true),
            ("/app/App", ["XCTestConfigurationFilePath": ""], true),
            ("/app/App", ["XCODE_RUNNING_FOR_PREVIEWS": "1"], true),
            ("/app/App", ["XCODE_RUNNING_FOR_PREVIEWS": "0"], false),
            ("/app/App", [:], false),
            ("/app/xctest/App", [:], false),
            ("", [:], false),
            ("/app/App", ["OBSERVABLE_STORAGE_STANDARD": "memory"], true),
            ("/Xcode/usr/bin/xctest", ["OBSERVABLE_STORAGE_STANDARD": "file"], false),
            ("/Xcode/usr/bin/xctest", ["OBSERVABLE_STORAGE_STANDARD": "something"], true),
        ] as [(String, [String: String], Bool)])
    func detection(executable: String, environment: [String: String], isInMemory: Bool) {
        #expect(ObservableStore.isStandardInMemory(executable: executable, environment: environment) == isInMemory)
    }
}
