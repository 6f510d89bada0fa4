import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import struct ObservableStorage.StorageKey

private struct DebugKeys: KeyGroup {
    let showConsole = StorageKey("showConsole", default: false)
    let level = LevelKeys()
}

private struct LevelKeys: KeyGroup {
    let verbosity = StorageKey("verbosity", default: 1)
}

private struct AppKeys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
    let nickname = StorageKey<String?>("nickname")
    let debug = DebugKeys()
}

extension StorageKey<Double> {
    fileprivate static let volume = StorageKey("volume", default: 0.8)
}

@Suite("Keyed store", .timeLimit(.minutes(10)))
struct KeyedStoreTests {
    @Test("Keys of a group, and of nested groups, are properties", arguments: Fixture.allCases)
    func properties(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        settings.launchCount += 1
        settings.nickname = "Jo"
        settings.debug.showConsole = true
        settings.debug.level.verbosity += 2
        #expect(settings.launchCount == 1)
        #expect(store.entries == ["launchCount": 1, "nickname": "Jo", "showConsole": true, "verbosity": 3])
        settings.nickname = nil
        #expect(!settings.stored(\.nickname).isSet)
    }

    @Test("Keys accessed by key path, prefix or scene are created once, by whichever thread", arguments: [nil, "group"])
    func madeOnce(prefix: String?) throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<AppKeys>(store, prefix: prefix)
        let copy = settings
        // Each key path here is a separate object.
        #expect(settings.stored(\.launchCount).key.definition === copy.stored(\.launchCount).key.definition)
        #expect(settings.debug.stored(\.showConsole).key.definition === copy.debug.stored(\.showConsole).key.definition)
        #expect(settings.debug.level.stored(\.verbosity).key.definition === copy.debug.level.stored(\.verbosity).key.definition)
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene.stored(.volume).key.definition === scene.stored(.volume).key.definition)
        #expect(scene.stored(.volume).key.definition !== StorageKey.volume.definition)
    }

    @Test("Static members can be used as keys", arguments: Fixture.allCases)
    func staticKeys(fixture: Fixture) throws {
        let store = try fixture.make().open()
        #expect(store[.volume] == 0.8)
        store[.volume] = 0.3
        #expect(try store.value(for: .volume) == 0.3)
    }

    @Test("Values, changes and listeners are available through key paths", arguments: Fixture.allCases)
    func observation(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        let seen = Recorder<Int>()
        let token = settings.addUpdateListener(for: \.launchCount, initial: true) { seen.record($0.newValue) }
        let changes = settings.changes(of: \.debug.showConsole)
        let values = settings.debug.values(of: \.showConsole)
        try settings.stored(\.launchCount).set(5)
        try settings.stored(\.launchCount).set(6, muting: token)
        settings.debug.showConsole = true
        #expect(seen.elements == [0, 5])
        #expect(await changes.first { _ in true }?.newValue == true)
        #expect(await values.first { _ in true } == true)
        settings.stored(\.launchCount).remove()
        #expect(try settings.stored(\.launchCount).get() == 0)
    }

    @Test("A transaction has the keys of the group, and of nested groups, as properties", arguments: Fixture.allCases)
    func transaction(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<AppKeys>(store)
        let result = try await settings.update { settings in
            settings.launchCount += 1
            settings.debug.level.verbosity = 7
            settings.nickname = "Jo"
            settings.nickname = nil
            return settings.launchCount
        }
        #expect(result == 1)
        #expect(store.entries == ["launchCount": 1, "verbosity": 7])
    }
}
