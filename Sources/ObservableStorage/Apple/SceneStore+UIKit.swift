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

        /// The values of the scene in which a view or view controller is shown; returns nil while there is none.
        ///
        /// The view of a controller is not loaded for this.
        @MainActor public init?(_ responder: UIResponder, base: ObservableStore = .standard, writesThrough: Bool = false) {
            guard let scene = responder.ownScene else { return nil }
            self.init(scene, base: base, writesThrough: writesThrough)
        }
    }

    extension SceneStoring where Self: UIResponder {
        /// The persistent identifier of the session of a scene, or of the one in which a view or view controller is shown; nil while there is
        /// none.
        ///
        /// Also nil off the main actor, where the scene cannot be read: a property then stays in the scene in which it was last used.
        public nonisolated var sceneID: String? {
            MainActor.ifCurrent { ownScene?.session.persistentIdentifier }
        }
    }

    extension ObservableStore {
        /// Removes all values of the scenes of sessions, for `application(_:didDiscardSceneSessions:)`.
        @MainActor public func discard(sessions: Set<UISceneSession>) {
            for session in sessions { discard(sceneID: session.persistentIdentifier) }
        }

        /// Removes all values of every scene that has none of the sessions, for sessions that the system discarded while the application was
        /// not running: `discardScenes(except: UIApplication.shared.openSessions)`.
        ///
        /// The scenes of `storedScene()` in SwiftUI are kept. Scenes with identifiers of your own, such as `storedScene("main")`, are
        /// removed as well: name them in `discardScenes(except:)` of identifiers.
        @MainActor public func discardScenes(except sessions: Set<UISceneSession>) {
            discardScenes(exceptSessions: sessions.map(\.persistentIdentifier))
        }
    }

    // The super class of views, view controllers and scenes.
    extension UIResponder: MainActorObject {
        fileprivate var ownScene: UIScene? {
            switch self {
            case let scene as UIScene: scene
            case let view as UIView: (view as? UIWindow ?? view.window)?.windowScene
            // `view` would load the view, and run `viewDidLoad`, which may be what reads the property.
            case let controller as UIViewController: controller.viewIfLoaded?.ownScene ?? controller.parent?.ownScene
            default: nil
            }
        }
    }
#endif
