#if canImport(UIKit) && !os(watchOS)
    public import UIKit

    extension SceneStore {
        /// The values of a scene of UIKit, which its session identifies across restarts.
        ///
        /// - Parameters:
        ///   - scene: the scene.
        ///   - base: the store with the values.
        ///   - writesThrough: whether a value set here also becomes the application's value, so that new scenes start with it.
        @MainActor public init(_ scene: UIScene, base: ObservableStore = .standard, writesThrough: Bool = false) {
            self.init(sceneID: scene.session.persistentIdentifier, base: base, writesThrough: writesThrough)
        }

        /// The values of the scene in which a view is shown; returns nil while it is in no window.
        @MainActor public init?(_ view: UIView, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let scene = view.scene else { return nil }
            self.init(scene, base: base, writesThrough: writesThrough)
        }

        /// The values of the scene in which a view controller, or one that contains it, is shown; returns nil while none is.
        ///
        /// The controller's view is not loaded for this.
        @MainActor public init?(_ viewController: UIViewController, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let scene = viewController.scene else { return nil }
            self.init(scene, base: base, writesThrough: writesThrough)
        }
    }

    // The main actor's state is read only there: elsewhere a property stays in the scene in which it was last used.
    extension SceneStoring where Self: UIWindowScene {
        /// The persistent identifier of the session; nil off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { session.persistentIdentifier }
        }
    }

    extension SceneStoring where Self: UIView {
        /// The persistent identifier of the session in which the view is shown; nil while it is in no window, and off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { scene?.session.persistentIdentifier }
        }
    }

    extension SceneStoring where Self: UIViewController {
        /// The persistent identifier of the session in which the view controller, or one that contains it, is shown; nil while none is,
        /// and off the main actor.
        public nonisolated var sceneID: String? {
            MainActorQueue.ifCurrent { scene?.session.persistentIdentifier }
        }
    }

    extension ObservableStore {
        /// Removes all values of the scenes of sessions, for `application(_:didDiscardSceneSessions:)`.
        @MainActor public func discard(sessions: Set<UISceneSession>) {
            for session in sessions { discard(sceneID: session.persistentIdentifier) }
        }

        /// Removes all values of every scene without one of the sessions, for sessions that the system discarded while the application was
        /// not running: `discardScenes(except: UIApplication.shared.openSessions)`.
        ///
        /// The scenes of `storedScene()` in SwiftUI are kept. Scenes with identifiers of your own, such as `storedScene("main")`, are
        /// removed as well: name them in `discardScenes(except:)` of identifiers.
        @MainActor public func discardScenes(except sessions: Set<UISceneSession>) {
            discardScenes(exceptSessions: sessions.map(\.persistentIdentifier))
        }
    }

    // The super class of views, view controllers and scenes.
    extension UIResponder: MainActorObject {}

    extension UIView {
        fileprivate var scene: UIWindowScene? {
            (self as? UIWindow ?? window)?.windowScene
        }
    }

    extension UIViewController {
        // `view` would load the view, and run `viewDidLoad`, which may be what reads the property.
        fileprivate var scene: UIWindowScene? {
            viewIfLoaded?.scene ?? parent?.scene
        }
    }
#endif
