#if canImport(SwiftUI)
    import FoundationSubset
    public import SwiftUI

    extension EnvironmentValues {
        private enum ViewStoresKey: EnvironmentKey {
            static var defaultValue: ViewStores { ViewStores() }
        }

        var viewStores: ViewStores {
            get { self[ViewStoresKey.self] }
            set { self[ViewStoresKey.self] = newValue }
        }

        /// The store of the views; by default ``ObservableStore/standard``, which is in memory in previews and tests.
        public var observableStore: ObservableStore {
            get { viewStores.store ?? .standard }
            set { viewStores.store = newValue }
        }

        /// The scene of the views, in their store; nil outside of `storedScene()`.
        public var sceneStore: SceneStore? {
            viewStores.scene(over: observableStore)
        }
    }

    extension View {
        /// Sets the store of the properties with `@Stored` and `@StoredGroup` in this view.
        public nonisolated func observableStore(_ store: ObservableStore) -> some View {
            environment(\.observableStore, store)
        }

        /// Sets the store, prefix and naming of a group of keys for the properties with `@Stored` and `@StoredGroup` in this view.
        ///
        /// It applies to keys of this type of group, whichever store the environment has.
        public nonisolated func keyedStore<Keys: KeyGroup>(_ settings: KeyedStore<Keys>) -> some View {
            transformEnvironment(\.viewStores) { $0.set(settings) }
        }

        /// Makes this view the root of a scene, whose identifier SwiftUI keeps in its `SceneStorage`, as long as it keeps the scene itself.
        ///
        /// Properties with `in: .scene` in this view have the scene's own values: see ``SceneStore``. macOS discards scenes when the
        /// application is quit; a window that always exists has a better identifier of its own: `storedScene("main")`.
        public func storedScene() -> some View {
            StoredScene(self)
        }

        /// Makes this view the root of a scene with an identifier.
        public nonisolated func storedScene(_ sceneID: String) -> some View {
            transformEnvironment(\.viewStores) { $0.sceneID = sceneID }
        }
    }

    /// The root of a scene, with which SwiftUI keeps the scene's identifier.
    private struct StoredScene<Root: View>: View {
        @SceneStorage("ObservableStorage.sceneID") private var kept = ""
        @State private var new = SceneStore.prefixOfViews + UUID().uuidString
        private let root: Root

        init(_ root: Root) {
            self.root = root
        }

        var body: some View {
            root
                .storedScene(kept.isEmpty ? new : kept)
                // Not in `body`, where a view must not change its state.
                .onAppear { if kept.isEmpty { kept = new } }
        }
    }
#endif
