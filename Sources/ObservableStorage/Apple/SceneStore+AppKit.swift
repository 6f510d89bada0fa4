#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit

    // A window is a scene if it has an identifier: the one under which AppKit restores it. Windows with the same identifier are one scene.

    extension SceneStore {
        /// The values of a window; returns nil if it has no identifier.
        ///
        /// AppKit restores windows by their identifiers, which have to be different for windows with values of their own.
        ///
        /// - Parameters:
        ///   - window: the window.
        ///   - base: the store with the values.
        ///   - writesThrough: whether a value set here also becomes the application's value, so that new windows start with it.
        @MainActor public init?(_ window: NSWindow, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let sceneID = window.ownSceneID else { return nil }
            self.init(sceneID: sceneID, base: base, writesThrough: writesThrough)
        }

        /// The values of the window of a controller; returns nil if it is not loaded or has no identifier.
        @MainActor public init?(_ windowController: NSWindowController, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let sceneID = windowController.ownSceneID else { return nil }
            self.init(sceneID: sceneID, base: base, writesThrough: writesThrough)
        }

        /// The values of the window in which a view is shown; returns nil while there is none with an identifier.
        @MainActor public init?(_ view: NSView, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let sceneID = view.window?.ownSceneID else { return nil }
            self.init(sceneID: sceneID, base: base, writesThrough: writesThrough)
        }

        /// The values of the window in which a view controller, or one that contains it, is shown; returns nil while there is none with an
        /// identifier.
        ///
        /// The controller's view is not loaded for this.
        @MainActor public init?(_ viewController: NSViewController, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let sceneID = viewController.ownSceneID else { return nil }
            self.init(sceneID: sceneID, base: base, writesThrough: writesThrough)
        }
    }

    // The main actor's state is read only there: elsewhere a property stays in the scene in which it was last used.
    extension SceneStoring where Self: NSWindow {
        /// The window's identifier; nil if it has none, and off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { ownSceneID }
        }
    }

    extension SceneStoring where Self: NSWindowController {
        /// The identifier of the window; nil if it is not loaded or has none, and off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { ownSceneID }
        }
    }

    extension SceneStoring where Self: NSView {
        /// The identifier of the window in which the view is shown; nil while there is none, and off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { window?.ownSceneID }
        }
    }

    extension SceneStoring where Self: NSViewController {
        /// The identifier of the window in which the view controller, or one that contains it, is shown; nil while there is none, and off
        /// the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { ownSceneID }
        }
    }

    // The super class of views, windows and their controllers.
    extension NSResponder: MainActorObject {}

    extension NSWindow {
        fileprivate var ownSceneID: String? { identifier?.rawValue }
    }

    extension NSWindowController {
        // `window` would load the window, and run `windowDidLoad`, which may be what reads the property.
        fileprivate var ownSceneID: String? { isWindowLoaded ? window?.ownSceneID : nil }
    }

    extension NSViewController {
        // `view` would load the view, and run `viewDidLoad`, which may be what reads the property.
        fileprivate var ownSceneID: String? {
            (isViewLoaded ? view.window?.ownSceneID : nil) ?? parent?.ownSceneID
        }
    }
#endif
