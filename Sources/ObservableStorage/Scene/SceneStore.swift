/// The values of one scene: a window, a tab, a session that has values of its own and otherwise those of the application.
///
/// Reading a key gives what the scene has set, or else what the application has stored, or else registered, or else the key's default.
/// Writing and removing stay in the scene. Scenes share a store, and so its file, its flushes and its order of changes; what a scene has
/// set is stored under `scenes/ID/NAME`.
///
/// ```swift
/// let scene = SceneStore(sceneID: "main", base: store)
/// scene[.volume] = 0.3
/// scene.stored(.volume).values
/// let settings = KeyedStore<AppKeys>(scene)
/// ```
public struct SceneStore: Sendable {
    /// Tells the scene from others; the same text is the same scene, also after the process has been started again.
    public let sceneID: String
    /// The store that holds the values of the application and of every scene.
    public let base: ObservableStore
    /// Whether what is set in this scene becomes the application's value too, which scenes without one of their own have.
    public let inheritsLastValue: Bool

    let scope: KeyScope

    /// Sees a store as a scene does.
    ///
    /// - Parameters:
    ///   - sceneID: tells the scene from others; any text.
    ///   - base: holds the values.
    ///   - inheritsLastValue: whether new scenes start from what was last set in this one.
    public init(sceneID: String, base: ObservableStore = .standard, inheritsLastValue: Bool = false) {
        self.sceneID = sceneID
        self.base = base
        self.inheritsLastValue = inheritsLastValue
        scope = KeyScope(naming: Self.naming(sceneID), leavesLastValue: inheritsLastValue)
    }

    static func naming(_ sceneID: String) -> KeyNaming.Prefixes {
        KeyNaming.Prefixes(["scenes", sceneID])
    }

    /// The handle to a key's value in this scene; everything that a stored value can do, this one can.
    public func stored<Value>(_ key: StorageKey<Value>) -> StoredValue<Value> {
        base.stored(key.scoped(to: scope))
    }

    /// Removes everything that the scene has set, as one revision, so that it has the application's values again.
    public func reset() {
        base.discard(sceneID: sceneID)
    }
}

extension SceneStore: ValueAccess {
    /// The value of a key in this scene, as ``ObservableStore/subscript(_:)`` has it.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        get { base[key.scoped(to: scope)] }
        nonmutating set { base[key.scoped(to: scope)] = newValue }
        nonmutating _modify { yield &base[key.scoped(to: scope)] }
    }
}

extension ObservableStore {
    /// Removes everything that a scene has set, as one revision: for scenes that will not come back.
    public nonisolated func discard(sceneID: String) {
        reset(behind: SceneStore.naming(sceneID))
    }
}
