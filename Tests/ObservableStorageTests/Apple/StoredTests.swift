#if canImport(SwiftUI)
    import ObservableStorage
    import Observation
    import SwiftUI
    import TestSupport
    import Testing

    extension ApplicationKeys {
        fileprivate var viewVolume: StorageKey<Double> { StorageKey(default: 0.8) }
    }

    private struct PanelKeys: KeyGroup {
        let isSoundOn = StorageKey("isSoundOn", default: true)
        let debug = DebugKeys()

        struct DebugKeys: KeyGroup {
            let level = StorageKey("level", default: 0)
            var prefix: String? { "debug" }
        }
    }

    /// Properties of views, used as SwiftUI uses them, but outside a view: the environment has its default values.
    @Suite("Properties of views", .timeLimit(.minutes(10)))
    @MainActor
    struct StoredTests {
        private let store: ObservableStore
        private let woken = Recorder<String>()

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
        }

        private func track<Value>(_ name: String, _ read: () -> Value) -> Value {
            withObservationTracking(read) { [woken] in woken.record(name) }
        }

        @Test("A property reads, sets and observes its key, and so does its binding")
        func binding() {
            let count = Stored(Keys.count, in: store)
            count.update()
            #expect(track("property") { count.wrappedValue } == 0)
            count.projectedValue.wrappedValue = 1
            #expect(woken.elements == ["property"])
            #expect(track("binding") { count.projectedValue.wrappedValue } == 1)
            count.wrappedValue += 1
            #expect(woken.elements == ["property", "binding"])
            #expect(store[Keys.count] == 2)
        }

        @Test("Modifying in place keeps a value that cannot be decoded")
        func modifying() throws {
            let store = try ObservableStore(backend: InMemoryBackend(["count": "garbage"]))
            let count = Stored(Keys.count, in: store)
            count.update()
            count.wrappedValue += 1
            #expect(store.entries == ["count": "garbage"])
            count.wrappedValue = 1
            count.wrappedValue += 1
            #expect(store.entries == ["count": 2])
        }

        @Test("A part of a value has a binding as well")
        func part() {
            let names = Stored(wrappedValue: ["a", "b"], "names", in: store)
            names.update()
            names.projectedValue[1].wrappedValue = "c"
            #expect(store.entries["names"] == ["a", "c"])
        }

        @Test("Before its first update, a property has the value but does not observe it")
        func beforeUpdate() {
            let count = Stored(Keys.count, in: store)
            store[Keys.count] = 3
            #expect(track("count") { count.wrappedValue } == 3)
            store[Keys.count] = 4
            #expect(woken.elements == [])
        }

        @Test("Without a store in the environment, properties are in the standard store, and scenes are the application")
        func standard() {
            ObservableStore.withStandard(store) {
                let volume = Stored(\.viewVolume)
                volume.update()
                volume.wrappedValue = 0.5
                let title = Stored<String?>("title", in: .scene)
                title.update()
                title.wrappedValue = "So What"
            }
            #expect(store.entries == ["viewVolume": 0.5, "title": "So What"])
        }

        @Test("A group has a binding for each key, nested ones too, and each key is observed by itself")
        func group() {
            let settings = StoredGroup(PanelKeys.self, in: store)
            _ = track("sound") { settings.wrappedValue.isSoundOn }
            _ = track("level") { settings.projectedValue.debug.level.wrappedValue }
            settings.projectedValue.debug.level.wrappedValue = 2
            #expect(woken.elements == ["level"])
            settings.wrappedValue.isSoundOn = false
            #expect(woken.elements == ["level", "sound"])
            #expect(store.entries == ["isSoundOn": false, "debug/level": 2])
        }

        @Test("The environment has the standard store, and no scene, until a view sets them")
        func environment() throws {
            let other = try ObservableStore(backend: InMemoryBackend())
            ObservableStore.withStandard(store) {
                var values = EnvironmentValues()
                #expect(values.observableStore === store)
                #expect(values.sceneStore == nil)
                values.observableStore = other
                #expect(values.observableStore === other)
            }
        }
    }
#endif
