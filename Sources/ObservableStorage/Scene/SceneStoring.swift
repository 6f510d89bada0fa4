/// A class that belongs to a scene: its ``SceneStored`` properties have the values of that scene.
///
/// An object that is created before its scene, such as a view that is not in a window yet, has no identifier until then:
///
/// ```swift
/// final class Editor: SceneStoring {
///     var sceneID: String?
///     @SceneStored("zoom") var zoom = 1.0
/// }
/// ```
///
/// An object that exists when its scene is discarded cannot set values there any more, even if the scene is opened again; see
/// ``ObservableStore/discard(sceneID:)``.
///
/// Views, view controllers and window scenes of UIKit, and views, windows and their controllers of AppKit, find their scene by themselves:
/// `final class EditorController: UIViewController, SceneStoring`.
public protocol SceneStoring: AnyObject {
    /// Identifies the scene across restarts, for example the persistent identifier of a session; nil before there is a scene.
    var sceneID: String? { get }

    /// The store whose values the properties have before there is a scene, the same one at each call; by default
    /// ``ObservableStore/standard``.
    var applicationStore: ObservableStore { get }

    /// The scene, nil before there is one; by default the one with the identifier in ``applicationStore``.
    ///
    /// A class whose scenes start with the last value of any of them implements it with ``SceneStore/init(sceneID:base:writesThrough:)``.
    var sceneStore: SceneStore? { get }
}

extension SceneStoring {
    /// The standard store.
    public var applicationStore: ObservableStore { .standard }

    /// The scene with the identifier in the application's store; nil without an identifier.
    public var sceneStore: SceneStore? {
        sceneID.map { SceneStore(sceneID: $0, base: applicationStore) }
    }
}
