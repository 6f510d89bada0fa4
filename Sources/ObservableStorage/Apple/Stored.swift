#if canImport(SwiftUI)
    public import SwiftUI

    /// A property of a view that is stored under a key. The projected value, `$name`, is a `Binding`.
    ///
    /// ```swift
    /// struct PlayerView: View {
    ///     @Stored(\.volume) var volume
    ///     @Stored("title") var title: String?
    ///
    ///     var body: some View { Slider(value: $volume) }
    /// }
    /// ```
    ///
    /// The view is updated after each change of the key, by any writer, and of no other key. The key is in the store of the environment, see
    /// `observableStore(_:)`; by default ``ObservableStore/standard``. Animations of a binding and of `withAnimation` apply.
    ///
    /// In classes, use ``Persisted``.
    @propertyWrapper
    public struct Stored<Value: Sendable>: DynamicProperty {
        @Environment(\.viewStores) private var stores
        // Not a binding of closures: those ignore transactions and animations (pointfreeco/swift-perception#58).
        @State private var observed: MainActorValue<Value>
        private let key: ViewKey<Value>
        private let selection: StoreSelection

        /// The value. A value that cannot be stored is reported in the store's `failures`.
        public var wrappedValue: Value {
            get { observed.value }
            nonmutating set { observed.value = newValue }
            nonmutating _modify { yield &observed.value }
        }

        /// A binding to the value. Modifying in place through it, as `$count.wrappedValue += 1` does, is an assignment, which replaces a stored
        /// value that cannot be decoded.
        public var projectedValue: Binding<Value> {
            Bindable(observed).value
        }

        /// Observes the key in the store of the environment. SwiftUI calls this before it reads the view's `body`.
        public func update() {
            // Possibly not on the main thread (pointfreeco/swift-composable-architecture#3247).
            key.connect(observed, selection, in: stores)
        }

        init(_ key: ViewKey<Value>, _ selection: StoreSelection) {
            self.key = key
            self.selection = selection
            // Before SwiftUI has installed the view, there is no environment.
            _observed = State(initialValue: MainActorValue { key.stored(selection, in: ViewStores()) })
        }
    }

    extension Stored {
        /// Stores the property under a key.
        public init(_ key: StorageKey<Value>, in location: some StoreLocation = .environment) {
            self.init(ViewKey(key), location.selection)
        }

        /// Stores the property under one of the application's keys.
        public init(_ path: KeyPath<ApplicationKeys, StorageKey<Value>>, in location: some StoreLocation = .environment) {
            self.init(ViewKey(path), location.selection)
        }

        /// Stores the property under a key of a group, as named by the ``KeyedStore`` in the environment; see `keyedStore(_:)`.
        public init<Keys: KeyGroup>(_ path: KeyPath<Keys, StorageKey<Value>>, in location: some StoreLocation = .environment) {
            self.init(ViewKey(path), location.selection)
        }

        /// Stores the property with a codec; its initial value is the default.
        public init(
            wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String, codec: StorageCodec<Value>,
            in location: some StoreLocation = .environment
        ) {
            self.init(ViewKey(name) { StorageKey(name, codec: codec, default: wrappedValue()) }, location.selection)
        }

        /// Stores the property with a codec; it is nil if no value is stored.
        public init<Wrapped: Sendable>(
            _ name: String, codec: StorageCodec<Wrapped>, in location: some StoreLocation = .environment
        ) where Value == Wrapped? {
            self.init(ViewKey(name) { StorageKey(name, codec: codec) }, location.selection)
        }

        /// Stores the property; it is nil if no value is stored.
        public init<Wrapped: Storable>(_ name: String, in location: some StoreLocation = .environment) where Value == Wrapped? {
            self.init(ViewKey(name) { StorageKey(name) }, location.selection)
        }
    }

    extension Stored where Value: Storable {
        /// Stores the property; its initial value is the default.
        public init(
            wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String,
            in location: some StoreLocation = .environment
        ) {
            self.init(ViewKey(name) { StorageKey(name, default: wrappedValue()) }, location.selection)
        }
    }

    // The compiler chooses these only if no other initializer fits: their message helps more than an unmet requirement.
    extension Stored {
        /// Not available: the type cannot be stored without a codec.
        @available(*, unavailable, message: "conform 'Value' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
        public init(
            wrappedValue: @autoclosure @escaping @Sendable () -> Value, _ name: String,
            in location: some StoreLocation = .environment
        ) {
            fatalError("unavailable")
        }

        /// Not available: the type cannot be stored without a codec.
        @available(*, unavailable, message: "conform 'Wrapped' to Storable, or to CodableStorable if it is Codable, or pass 'codec:'")
        public init<Wrapped: Sendable>(_ name: String, in location: some StoreLocation = .environment) where Value == Wrapped? {
            fatalError("unavailable")
        }
    }
#endif
