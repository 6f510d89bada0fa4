/// A property whose value belongs to a scene, in a class that conforms to ``SceneStoring``. The projected value is its ``StoredValue``.
///
/// ```swift
/// final class Editor: SceneStoring {
///     let sceneID: String? = "main"
///     @SceneStored("age") var age = 24
///     @SceneStored("name") var name: String?
/// }
/// ```
///
/// Before its object has a scene, a property has the application's value, and each access looks for the scene. A value set before is kept,
/// and set in the scene by the first access after there is one. For an object of UIKit or AppKit, that is done at the latest when its scene
/// becomes active or enters the background, its window becomes the key window, or the application ends. If the object is released before, the
/// application's store reports it in its `failures`. An object that leaves its scene keeps using it until it is in another one.
@propertyWrapper
public struct SceneStored<Value: Sendable> {
    private let handle: SceneHandle<Value>

    /// Stores the property under a key.
    public init(_ key: StorageKey<Value>) {
        handle = SceneHandle(key)
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
        get { fatalError("unavailable") }
        set {}
    }

    /// Not available without the instance that has the scene.
    @available(*, unavailable, message: "@SceneStored belongs in a class that conforms to SceneStoring")
    public var projectedValue: StoredValue<Value> {
        fatalError("unavailable")
    }

    /// The value in the scene of the instance; Observation tracks reads. A value that cannot be stored is reported in the store's
    /// `failures`.
    public static subscript<Owner: SceneStoring>(
        _enclosingInstance owner: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
        storage storage: ReferenceWritableKeyPath<Owner, SceneStored>
    ) -> Value {
        get { owner[keyPath: storage].handle.value(for: owner) }
        set { owner[keyPath: storage].handle.set(newValue, for: owner) }
        _modify {
            let handle = owner[keyPath: storage].handle
            if let stored = handle.modifiable(for: owner) {
                yield &stored.value
            } else {
                var value = handle.value(for: owner)
                defer { handle.set(value, for: owner) }
                yield &value
            }
        }
    }

    /// The handle to the value in the scene of the instance; before there is a scene, to the application's value.
    public static subscript<Owner: SceneStoring>(
        _enclosingInstance owner: Owner, projected projected: KeyPath<Owner, StoredValue<Value>>,
        storage storage: ReferenceWritableKeyPath<Owner, SceneStored>
    ) -> StoredValue<Value> {
        owner[keyPath: storage].handle.stored(for: owner)
    }
}

extension SceneStored where Value: Storable {
    /// Stores the property; its initial value is the default.
    public init(wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String) {
        self.init(StorageKey(name, default: wrappedValue()))
    }
}

// The compiler chooses these only if no other initializer fits: their message helps more than an unmet requirement.
extension SceneStored {
    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Value' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init(wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String) {
        fatalError("unavailable")
    }

    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Wrapped' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init<Wrapped: Sendable>(_ name: String) where Value == Wrapped? {
        fatalError("unavailable")
    }
}

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
