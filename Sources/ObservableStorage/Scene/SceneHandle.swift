/// The handle that a property had in the scene where it was last used, so that it is made once for each scene.
final class SceneHandle<Value: Sendable>: Sendable {
    private let last = Guarded<(scene: SceneStore, stored: StoredValue<Value>)?>(nil)

    /// The handle to a key in a scene.
    func value(of key: StorageKey<Value>, in scene: SceneStore) -> StoredValue<Value> {
        if let known = last.withLock({ $0 }), known.scene.isSame(as: scene) { return known.stored }
        let stored = scene.stored(key)
        last.take { last in
            defer { last = (scene, stored) }
            return last
        }
        return stored
    }
}

extension SceneStore {
    fileprivate func isSame(as other: SceneStore) -> Bool {
        base === other.base && scope == other.scope
    }
}
