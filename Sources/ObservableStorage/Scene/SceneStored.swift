/// A property whose value belongs to a scene, in a class that conforms to ``SceneStoring``. The projected value is its ``StoredValue``.
///
/// ```swift
/// final class Editor: SceneStoring {
///     let sceneID: String
///     @SceneStored("age") var age = 24
///     @SceneStored("name") var name: String?
/// }
/// ```
@propertyWrapper
public struct SceneStored<Value: Sendable> {
    private let key: StorageKey<Value>
    private let handle = SceneHandle<Value>()

    /// Stores the property under a key.
    public init(_ key: StorageKey<Value>) {
        self.key = key
    }

    /// Stores the property with a codec; its initial value is the default.
    public init(wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, codec: StorageCodec<Value>) {
        self.init(StorageKey(name, codec: codec, default: wrappedValue()))
    }

    /// Stores the property with a codec; it is nil if neither the scene nor the application has a value.
    public init<Wrapped: Sendable>(_ name: String, codec: StorageCodec<Wrapped>) where Value == Wrapped? {
        self.init(StorageKey(name, codec: codec))
    }

    /// Stores the property; it is nil if neither the scene nor the application has a value.
    public init<Wrapped: Storable>(_ name: String) where Value == Wrapped? {
        self.init(StorageKey(name))
    }

    /// Not available without the instance that has the scene.
    @available(*, unavailable, message: "@SceneStored belongs in a class that conforms to SceneStoring")
    public var wrappedValue: Value {
        get { key.defaultValue }
        set {}
    }

    /// Not available without the instance that has the scene.
    @available(*, unavailable, message: "@SceneStored belongs in a class that conforms to SceneStoring")
    public var projectedValue: StoredValue<Value> {
        StoredValue(key, in: .standard)
    }

    /// The value in the scene of the instance; Observation tracks reads. A value that cannot be stored is reported in the store's
    /// `failures`.
    public static subscript<Owner: SceneStoring>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, SceneStored>
    ) -> Value {
        get { owner[keyPath: storage].stored(in: owner.sceneStore).value }
        set { owner[keyPath: storage].stored(in: owner.sceneStore).value = newValue }
        _modify { yield &owner[keyPath: storage].stored(in: owner.sceneStore).value }
    }

    /// The handle to the value in the scene of the instance.
    public static subscript<Owner: SceneStoring>(
        _enclosingInstance owner: Owner, projected projected: KeyPath<Owner, StoredValue<Value>>,
        storage storage: ReferenceWritableKeyPath<Owner, SceneStored>
    ) -> StoredValue<Value> {
        owner[keyPath: storage].stored(in: owner.sceneStore)
    }

    private func stored(in scene: SceneStore) -> StoredValue<Value> {
        handle.value(of: key, in: scene)
    }
}

extension SceneStored where Value: Storable {
    /// Stores the property; its initial value is the default.
    public init(wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String) {
        self.init(StorageKey(name, default: wrappedValue()))
    }

    /// Stores the property, with a default value.
    public init(_ name: String, defaultValue: @autoclosure @escaping @Sendable () -> Value) {
        self.init(StorageKey(name, default: defaultValue()))
    }
}

/// The handle of a property in the scene in which it was last used, so that it is created once for each scene.
private final class SceneHandle<Value: Sendable>: Sendable {
    private let last = Lock<(scene: SceneStore, stored: StoredValue<Value>)?>(nil)

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

/// A class that belongs to a scene: its ``SceneStored`` properties have the values of that scene.
public protocol SceneStoring: AnyObject {
    /// Identifies the scene across restarts, for example the persistent identifier of a session.
    var sceneID: String { get }

    /// The scene; by default the one with the identifier in ``ObservableStore/standard``.
    var sceneStore: SceneStore { get }
}

extension SceneStoring {
    /// The scene in ``ObservableStore/standard``.
    public var sceneStore: SceneStore {
        SceneStore(sceneID: sceneID)
    }
}
