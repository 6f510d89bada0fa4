/// A property that is stored under a key. The projected value, `$name`, is its ``StoredValue``.
///
/// ```swift
/// final class Player {
///     @Persisted(.volume, in: store) var volume
///     @Persisted("title", in: store) var title: String?
/// }
/// player.$volume.values
/// ```
///
/// In a class with `@Observable`, the property needs `@ObservationIgnored`, because the macro does not accept property wrappers; it is
/// observed nevertheless, since the store tracks its reads. A ``KeyedStore`` as a member needs no attribute.
///
/// ```swift
/// @Observable final class Player {
///     @ObservationIgnored @Persisted(.volume) var volume
/// }
/// ```
///
/// In an `ObservableObject`, the property sends `objectWillChange`: before the object sets it, on the same thread; and after any other
/// change, on the main thread, once the object has read or set it.
@propertyWrapper
public struct Persisted<Value: Sendable>: Sendable {
    /// The handle to the value.
    public let projectedValue: StoredValue<Value>

    /// The value; Observation tracks reads. A value that cannot be stored is reported in the store's `failures`.
    public var wrappedValue: Value {
        @inlinable get { projectedValue.value }
        nonmutating set { projectedValue.value = newValue }
        nonmutating _modify { yield &projectedValue.value }
    }

    #if canImport(Combine)
        @usableFromInline let owner = PropertyOwner()

        // The compiler uses it for the properties of all classes and actors, and only if it is declared here, not in an extension.
        /// The value of a property of an object. If the object is an `ObservableObject`, its `objectWillChange` is sent.
        public static subscript<Owner: AnyObject>(
            _enclosingInstance object: Owner, wrapped wrapped: ReferenceWritableKeyPath<Owner, Value>,
            storage storage: ReferenceWritableKeyPath<Owner, Persisted>
        ) -> Value {
            // Inlined into clients, where the optimizer resolves the key path.
            @inlinable get {
                let property = object[keyPath: storage]
                property.observe(for: object)
                return property.wrappedValue
            }
            set {
                let property = object[keyPath: storage]
                let stored = property.projectedValue
                stored.store[stored.key, muting: property.willSet(in: object)] = newValue
            }
            _modify {
                let property = object[keyPath: storage]
                let stored = property.projectedValue
                yield &stored.store[stored.key, muting: property.willSet(in: object)]
            }
        }
    #endif

    /// Stores the property under a key.
    public init(_ key: StorageKey<Value>, in store: ObservableStore = .standard) {
        projectedValue = StoredValue(key, in: store)
    }

    /// Stores the property with a codec; its initial value is the default.
    public init(
        wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, codec: StorageCodec<Value>,
        in store: ObservableStore = .standard
    ) {
        self.init(StorageKey(name, codec: codec, default: wrappedValue()), in: store)
    }

    /// Stores the property with a codec; it is nil if no value is stored.
    public init<Wrapped: Sendable>(_ name: String, codec: StorageCodec<Wrapped>, in store: ObservableStore = .standard)
    where Value == Wrapped? {
        self.init(StorageKey(name, codec: codec), in: store)
    }

    /// Stores the property; it is nil if no value is stored.
    public init<Wrapped: Storable>(_ name: String, in store: ObservableStore = .standard) where Value == Wrapped? {
        self.init(StorageKey(name), in: store)
    }
}

extension Persisted where Value: Storable {
    /// Stores the property; its initial value is the default.
    public init(
        wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, in store: ObservableStore = .standard
    ) {
        self.init(StorageKey(name, default: wrappedValue()), in: store)
    }
}

// The compiler chooses these only if no other initializer fits: their message helps more than an unmet requirement.
extension Persisted {
    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Value' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init(
        wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, in store: ObservableStore = .standard
    ) {
        fatalError("unavailable")
    }

    /// Not available: the type cannot be stored without a codec.
    @available(*, unavailable, message: "conform 'Wrapped' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
    public init<Wrapped: Sendable>(_ name: String, in store: ObservableStore = .standard) where Value == Wrapped? {
        fatalError("unavailable")
    }
}
