/// A class that belongs to a scene: its properties marked ``SceneStored`` have the values of that scene.
public protocol SceneStoring: AnyObject {
    /// Tells the scene from others, the same at the next start: a session's persistent identifier, say.
    var sceneIdentifier: String { get }

    /// The scene; by default that of the identifier in ``ObservableStore/standard``.
    var sceneStore: SceneStore { get }
}

extension SceneStoring {
    /// The scene in ``ObservableStore/standard``.
    public var sceneStore: SceneStore {
        SceneStore(sceneID: sceneIdentifier)
    }
}
