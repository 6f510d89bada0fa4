#if canImport(SwiftUI)
    /// The stores that views find in their environment.
    struct ViewStores: Sendable {
        /// The store; nil for the standard one.
        var store: ObservableStore? {
            didSet { lastScene = LastScene() }
        }
        /// The scene to which the views belong; nil if it was not given.
        var sceneID: String? {
            didSet { lastScene = LastScene() }
        }
        private var lastScene = LastScene()
        // By the type of the group.
        private var settings: [ObjectIdentifier: (keyedStore: any Sendable, table: any AnyObject & Sendable)] = [:]

        init(store: ObservableStore? = nil, sceneID: String? = nil) {
            self.store = store
            self.sceneID = sceneID
        }

        /// The scene in a store, the same one at each call unless the store changes; nil without a scene.
        func scene(over base: ObservableStore) -> SceneStore? {
            sceneID.map { lastScene.scene($0, over: base) }
        }

        /// Access through a group of keys, if one was given for its type.
        func keyedStore<Keys: KeyGroup>(_ type: Keys.Type) -> KeyedStore<Keys>? {
            settings[ObjectIdentifier(type)]?.keyedStore as? KeyedStore<Keys>
        }

        /// Gives access through a group of keys, for its type.
        mutating func set<Keys: KeyGroup>(_ settings: KeyedStore<Keys>) {
            self.settings[ObjectIdentifier(Keys.self)] = (settings, settings.table)
        }
    }

    extension ViewStores: Equatable {
        static func == (left: ViewStores, right: ViewStores) -> Bool {
            left.store === right.store && left.sceneID == right.sceneID
                && left.settings.mapValues { ObjectIdentifier($0.table) } == right.settings.mapValues { ObjectIdentifier($0.table) }
        }
    }

    /// The scene that views read last, kept because each instance creates its keys again.
    private final class LastScene: Sendable {
        private let last = Lock<SceneStore?>(nil)

        func scene(_ sceneID: String, over base: ObservableStore) -> SceneStore {
            if let last = last.take({ $0 }), last.base === base { return last }
            let scene = SceneStore(sceneID: sceneID, base: base)
            last.exchange(scene)
            return scene
        }
    }

    /// The store or scene of a ``StoreLocation``.
    public struct StoreSelection: Sendable {
        enum Selected: Sendable {
            case environment
            case scene
            case store(ObservableStore)
            case sceneStore(SceneStore)
        }

        let selected: Selected

        /// The store, without the scene.
        func store(in stores: ViewStores) -> ObservableStore {
            switch selected {
            case .environment, .scene: stores.store ?? .standard
            case .store(let store): store
            case .sceneStore(let scene): scene.base
            }
        }

        /// The access through a group of keys, without the scene.
        func keyedStore<Keys: KeyGroup>(in stores: ViewStores) -> KeyedStore<Keys> {
            switch selected {
            case .environment, .scene: stores.keyedStore(Keys.self) ?? store(in: stores).keyedStore()
            case .store, .sceneStore: store(in: stores).keyedStore()
            }
        }

        /// The scene over a store; nil for the application's values.
        func scene(in stores: ViewStores, over base: ObservableStore) -> SceneStore? {
            switch selected {
            case .environment, .store: nil
            case .scene: stores.scene(over: base)
            case .sceneStore(let scene): scene
            }
        }
    }

    /// Where a view's property is stored: an ``ObservableStore``, a ``SceneStore``, `.standard`, `.scene` or `.environment`.
    ///
    /// An extension can name a store for views:
    ///
    /// ```swift
    /// extension StoreLocation where Self == ObservableStore {
    ///     static var shared: ObservableStore { sharedStore }
    /// }
    /// ```
    public protocol StoreLocation: Sendable {
        /// The store or scene.
        var selection: StoreSelection { get }
    }

    extension ObservableStore: StoreLocation {
        /// This store.
        public nonisolated var selection: StoreSelection { StoreSelection(selected: .store(self)) }
    }

    extension StoreLocation where Self == ObservableStore {
        /// The application's own store: ``ObservableStore/standard``, whatever store the environment has.
        public static var standard: ObservableStore { ObservableStore.standard }
    }

    extension SceneStore: StoreLocation {
        /// This scene.
        public var selection: StoreSelection { StoreSelection(selected: .sceneStore(self)) }
    }

    extension StoreSelection: StoreLocation {
        /// This selection.
        public var selection: StoreSelection { self }
    }

    extension StoreLocation where Self == StoreSelection {
        /// The store in the environment of the view.
        public static var environment: StoreSelection { StoreSelection(selected: .environment) }

        /// The scene of the view, in the store in its environment; the store itself if the environment has no scene.
        public static var scene: StoreSelection { StoreSelection(selected: .scene) }
    }

    extension ObservableStore {
        /// Access to the store through a group of keys; one for each type of group.
        fileprivate nonisolated func keyedStore<Keys: KeyGroup>(_ type: Keys.Type = Keys.self) -> KeyedStore<Keys> {
            let table = tables.object(of: ObjectIdentifier(type)) { KeyedStore<Keys>(self).table }
            // The table of a type of group has its type.
            return KeyedStore(self, unsafeDowncast(table, to: KeyTable<Keys>.self))
        }
    }
#endif
