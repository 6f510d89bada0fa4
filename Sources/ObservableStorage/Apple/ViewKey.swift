#if canImport(SwiftUI)
    /// The key of a view's property, which is created when the property is connected, because SwiftUI creates the structs of views often.
    struct ViewKey<Value: Sendable>: @unchecked Sendable {
        // Sendable because a key path never changes.

        private typealias Found = (id: StoredValueID, make: () -> StoredValue<Value>)

        private let find: (StoreSelection, ViewStores) -> Found

        init(_ key: StorageKey<Value>) {
            self.init(id: key.definition.id) { key }
        }

        /// A key by its name; of two properties that differ only in the default or codec, a view keeps the first.
        init(_ name: String, _ make: @escaping @Sendable () -> StorageKey<Value>) {
            self.init(id: name, make)
        }

        private init(id: AnyHashable, _ make: @escaping () -> StorageKey<Value>) {
            find = { selection, stores in
                let store = selection.store(in: stores)
                let scene = selection.scene(in: stores, over: store)
                return (StoredValueID(store: store, scope: scene?.scope, key: id), { scene?.stored(make()) ?? store.stored(make()) })
            }
        }

        init<Keys: KeyGroup>(_ path: KeyPath<Keys, StorageKey<Value>>) {
            find = { selection, stores in
                let settings: KeyedStore<Keys> = selection.keyedStore(in: stores)
                let scene = selection.scene(in: stores, over: settings.store)
                return (
                    StoredValueID(store: settings.store, table: settings.table, scope: scene?.scope, key: path),
                    { settings.scoped(to: scene).stored(path) }
                )
            }
        }

        func stored(_ selection: StoreSelection, in stores: ViewStores) -> StoredValue<Value> {
            find(selection, stores).make()
        }

        /// Connects a value to the stored one, unless it is connected to it.
        func connect(_ value: MainActorValue<Value>, _ selection: StoreSelection, in stores: ViewStores) {
            let (id, make) = find(selection, stores)
            value.connect(id, make)
        }
    }

    /// The values of a group for a view, created again only if the view is in another store or scene.
    final class ViewGroup<Keys: KeyGroup>: Sendable {
        private let last = Lock<(table: KeyTable<Keys>, scope: KeyScope?, values: ObservableValues<Keys>)?>(nil)

        /// The values in a store or scene.
        func values(_ selection: StoreSelection, in stores: ViewStores) -> ObservableValues<Keys> {
            let settings: KeyedStore<Keys> = selection.keyedStore(in: stores)
            let scene = selection.scene(in: stores, over: settings.store)
            if let last = last.take({ $0 }), last.table === settings.table, last.scope == scene?.scope { return last.values }
            let values = ObservableValues(settings.scoped(to: scene))
            last.exchange((settings.table, scene?.scope, values))
            return values
        }
    }

    extension KeyedStore {
        /// The same keys in a scene of the same store; unchanged without one.
        fileprivate func scoped(to scene: SceneStore?) -> KeyedStore {
            guard let scene else { return self }
            return KeyedStore(store, KeyTable(table.keys, naming: table.naming.scoped(to: scene.scope), in: store.cache))
        }
    }
#endif
