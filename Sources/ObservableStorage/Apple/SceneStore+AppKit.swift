#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    public import AppKit

    // A window is a scene if it has an identifier: the one under which AppKit restores it. Windows with the same identifier are one scene.

    extension SceneStore {
        /// The values of a window, or of the window of a window controller, view or view controller.
        ///
        /// Returns nil while there is no window with an identifier, by which AppKit restores it. Windows with values of their own need
        /// different identifiers. Neither the window nor the view of a controller is loaded for this.
        ///
        /// - Parameters:
        ///   - responder: the window, window controller, view or view controller.
        ///   - base: the store with the values.
        ///   - writesThrough: whether a value set here also becomes the application's value, so that new windows start with it.
        @MainActor public init?(_ responder: NSResponder, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let sceneID = responder.ownSceneID else { return nil }
            self.init(sceneID: sceneID, base: base, writesThrough: writesThrough)
        }
    }

    extension SceneStoring where Self: NSResponder {
        /// The identifier of the window; nil while there is none with an identifier.
        ///
        /// Also nil off the main actor, where the window cannot be read: a property then stays in the scene in which it was last used.
        public nonisolated var sceneID: String? {
            MainActor.ifCurrent { ownSceneID }
        }
    }

    // The super class of views, windows and their controllers.
    extension NSResponder: MainActorObject {
        fileprivate var ownSceneID: String? {
            switch self {
            case let window as NSWindow: window.identifier?.rawValue
            case let view as NSView: view.window?.ownSceneID
            // `window` and `view` would load them, and run `windowDidLoad` and `viewDidLoad`, which may be what reads the property.
            case let controller as NSWindowController: controller.isWindowLoaded ? controller.window?.ownSceneID : nil
            case let controller as NSViewController:
                (controller.isViewLoaded ? controller.view.window?.ownSceneID : nil) ?? controller.parent?.ownSceneID
            default: nil
            }
        }
    }
#endif
