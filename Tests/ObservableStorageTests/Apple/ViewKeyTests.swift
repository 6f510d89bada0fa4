#if canImport(SwiftUI)
    import Dispatch
    import Observation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    extension ApplicationKeys {
        fileprivate var viewCount: StorageKey<Int> { StorageKey(default: 0) }
    }

    private struct RangeKeys: KeyGroup {
        let low = StorageKey("low", default: 0)
        let high = StorageKey("high", default: 10)

        func validate(_ snapshot: KeyedSnapshot<Self>) throws {
            if snapshot.low > snapshot.high { throw CancellationError() }
        }
    }

    /// The stored values of views' properties, as their environment determines them.
    @Suite("Keys of views", .timeLimit(.minutes(10)))
    @MainActor
    struct ViewKeyTests {
        private let store: ObservableStore
        private let other: ObservableStore

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
            other = try ObservableStore(backend: InMemoryBackend())
        }

        private func name<Value>(_ key: ViewKey<Value>, in location: some StoreLocation = .environment, _ stores: ViewStores) -> String {
            key.stored(location.selection, in: stores).key.name
        }

        @Test("A property is in the environment's store, in the standard one without, or in its own")
        func stores() {
            let key = ViewKey(Keys.count)
            let stores = ViewStores(store: store)
            #expect(key.stored(.environment, in: stores).store === store)
            #expect(key.stored(other.selection, in: stores).store === other)
            ObservableStore.withStandard(other) {
                #expect(key.stored(.environment, in: ViewStores()).store === other)
            }
        }

        @Test("In a scene, keys have the scene's names; without one, the application's")
        func scenes() {
            let stores = ViewStores(store: store, sceneID: "main")
            let scene = SceneStore(sceneID: "side", base: other)
            for key in [ViewKey(Keys.count), ViewKey("count") { Keys.count }] {
                #expect(name(key, in: .scene, stores) == "scenes/main/count")
                #expect(name(key, in: .scene, ViewStores(store: store)) == "count")
                #expect(name(key, stores) == "count")
                #expect(name(key, in: scene, stores) == "scenes/side/count")
                #expect(key.stored(scene.selection, in: stores).store === other)
            }
        }

        @Test("A scene and its keys are created again only for another store or scene")
        func sceneReadAgain() {
            func definition(_ stores: ViewStores, _ base: ObservableStore) -> KeyDefinition<Int>? {
                StoreSelection.scene.scene(in: stores, over: base)?.stored(Keys.count).key.definition
            }
            var stores = ViewStores(store: store, sceneID: "main")
            let first = definition(stores, store)
            #expect(first != nil && definition(stores, store) === first)
            #expect(StoreSelection.scene.scene(in: stores, over: other)?.base === other)
            stores.sceneID = "side"
            #expect(definition(stores, store)?.entryName.text == "scenes/side/count")
            stores.store = other
            #expect(stores.scene(over: other)?.base === other)
            stores.sceneID = nil
            #expect(stores.scene(over: other) == nil)
        }

        @Test("A key path leads to the group of the environment with its store and prefix, or else to one over the environment's store")
        func groups() {
            var stores = ViewStores(store: store, sceneID: "main")
            let key = ViewKey(\RangeKeys.low)
            #expect(name(key, stores) == "low")
            #expect(name(ViewKey(\ApplicationKeys.viewCount), stores) == "viewCount")
            stores.set(KeyedStore<RangeKeys>(other, prefix: "range"))
            #expect(name(key, stores) == "range/low")
            #expect(key.stored(.environment, in: stores).store === other)
            #expect(name(key, in: .scene, stores) == "scenes/main/range~1low")
            #expect(name(key, in: store, stores) == "low")
        }

        @Test("In a scene, the rule of a group checks the scene's values")
        func sceneRule() throws {
            let stores = ViewStores(store: store, sceneID: "main")
            let (low, high) = (ViewKey(\RangeKeys.low), ViewKey(\RangeKeys.high))
            try store.set(20, for: high.stored(.scene, in: stores).key)
            let scene = low.stored(.scene, in: stores)
            try store.set(15, for: scene.key)
            #expect(scene.value == 15)
            #expect(throws: StorageError.self) { try store.set(15, for: low.stored(store.selection, in: stores).key) }
        }

        @Test("A view that is created again does not create a key declared by name or by a computed property again")
        func createdAgain() {
            let stores = ViewStores(store: store)
            let made = Recorder<Int>()
            let value = MainActorValue { [store] in store.stored(Keys.count) }
            for number in 1...3 {
                let key = ViewKey("count") {
                    made.record(number)
                    return StorageKey("count", default: number)
                }
                key.connect(value, .environment, in: stores)
            }
            #expect(made.elements == [1])
            #expect(value.value == 1)
            let first: KeyedStore<ApplicationKeys> = StoreSelection.environment.keyedStore(in: stores)
            let second: KeyedStore<ApplicationKeys> = StoreSelection.environment.keyedStore(in: stores)
            #expect(first.stored(\.viewCount).key.definition === second.stored(\.viewCount).key.definition)
        }

        @Test("A property follows the store, the scene and the group of its environment")
        func followed() throws {
            let value = MainActorValue { [store] in store.stored(StorageKey("low", default: 0)) }
            let key = ViewKey(\RangeKeys.low)
            var stores = ViewStores(store: store)
            key.connect(value, .scene, in: stores)
            value.value = 1
            stores.sceneID = "main"
            key.connect(value, .scene, in: stores)
            #expect(value.value == 1)
            value.value = 2
            #expect(store.entries == ["low": 1, "scenes/main/low": 2])
            stores.set(KeyedStore<RangeKeys>(other, prefix: "range"))
            key.connect(value, .scene, in: stores)
            value.value = 3
            #expect(other.entries == ["scenes/main/range~1low": 3])
        }

        @Test("A view's property in a scene that was discarded is connected again when the scene is opened again")
        func discarded() {
            let value = MainActorValue { [store] in store.stored(Keys.count) }
            let key = ViewKey(Keys.count)
            key.connect(value, .scene, in: ViewStores(store: store, sceneID: "one"))
            value.value = 4
            store.discard(sceneID: "one")
            value.value = 5
            #expect(store.entries.isEmpty)
            key.connect(value, .scene, in: ViewStores(store: store, sceneID: "one"))
            value.value = 6
            #expect(store.entries == ["scenes/one/count": 6])
        }

        @Test("The values of a group are created again only for another store, scene or group")
        func groupValues() {
            let group = ViewGroup<RangeKeys>()
            var stores = ViewStores(store: store)
            let first = group.values(.scene, in: stores)
            #expect(group.values(.scene, in: stores) === first)
            stores.sceneID = "main"
            let second = group.values(.scene, in: stores)
            second.low = 4
            #expect(store.entries == ["scenes/main/low": 4])
            #expect(group.values(.scene, in: stores) === second)
            stores.set(KeyedStore<RangeKeys>(other))
            #expect(group.values(.scene, in: stores) !== second)
        }

        @Test("Environments are equal if the store, the scene and the groups are the same")
        func equality() {
            let settings = KeyedStore<RangeKeys>(store)
            var stores = ViewStores(store: store, sceneID: "main")
            #expect(stores == ViewStores(store: store, sceneID: "main"))
            #expect(stores != ViewStores(store: other, sceneID: "main"))
            #expect(stores != ViewStores(store: store, sceneID: "side"))
            stores.set(settings)
            #expect(stores != ViewStores(store: store, sceneID: "main"))
            var others = ViewStores(store: store, sceneID: "main")
            others.set(settings)
            #expect(stores == others)
            others.set(KeyedStore<RangeKeys>(store))
            #expect(stores != others)
        }
    }
#endif
