/// A property that is stored under a key. The projected value, `$name`, is its ``StoredValue``.
///
/// ```swift
/// final class Player {
///     @Persisted(.volume, in: store) var volume
///     @Persisted("title", in: store) var title: String?
/// }
/// player.$volume.values
/// ```
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
