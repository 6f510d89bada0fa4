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
    /// `String`, or `String?` if the scene may not exist yet.
    associatedtype SceneID: SceneIdentifier

    /// Identifies the scene across restarts, for example the persistent identifier of a session; nil before there is a scene.
    var sceneID: SceneID { get }

    /// The store whose values the properties have before there is a scene, the same one at each call; by default
    /// ``ObservableStore/standard``.
    var applicationStore: ObservableStore { get }

    /// The scene, nil before there is one; by default the one with the identifier in ``applicationStore``.
    ///
    /// A class whose scenes start with the last value of any of them implements it with ``SceneStore/init(sceneID:base:writesThrough:)``.
    var sceneStore: SceneID.StoreOfScene { get }
}

extension SceneStoring {
    /// The standard store.
    public var applicationStore: ObservableStore { .standard }

    /// The scene with the identifier in the application's store.
    public var sceneStore: SceneID.StoreOfScene {
        SceneID.sceneStore(sceneID, base: applicationStore)
    }
}

/// The identifier of a scene that always exists, `String`, or of one that may not exist yet, `String?`.
public protocol SceneIdentifier: Sendable {
    /// ``SceneStore``, or an optional one.
    associatedtype StoreOfScene

    /// The scene with an identifier in a store.
    static func sceneStore(_ sceneID: Self, base: ObservableStore) -> StoreOfScene

    /// The scene, if it exists.
    static func existing(_ scene: StoreOfScene) -> SceneStore?
}

extension String: SceneIdentifier {
    /// The scene with an identifier in a store.
    public static func sceneStore(_ sceneID: String, base: ObservableStore) -> SceneStore {
        SceneStore(sceneID: sceneID, base: base)
    }

    /// The scene.
    public static func existing(_ scene: SceneStore) -> SceneStore? { scene }
}

extension Optional: SceneIdentifier where Wrapped == String {
    /// The scene with an identifier in a store; nil without an identifier.
    public static func sceneStore(_ sceneID: String?, base: ObservableStore) -> SceneStore? {
        sceneID.map { SceneStore(sceneID: $0, base: base) }
    }

    /// The scene, if it exists.
    public static func existing(_ scene: SceneStore?) -> SceneStore? { scene }
}
