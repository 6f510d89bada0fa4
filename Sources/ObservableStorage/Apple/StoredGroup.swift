#if canImport(SwiftUI)
    public import SwiftUI

    /// All keys of a group as a property of a view. The projected value, `$name`, has a `Binding` for each key.
    ///
    /// ```swift
    /// @StoredGroup(AppKeys.self) var settings
    ///
    /// Toggle("Console", isOn: $settings.debug.showConsole)
    /// Text("Launched \(settings.launchCount) times")
    /// ```
    ///
    /// The view is updated after changes of the keys that its `body` reads, and of no others. The keys have the names that they have in the
    /// ``KeyedStore`` in the environment, see `keyedStore(_:)`, or else those of a `KeyedStore` without a prefix over the environment's store.
    @propertyWrapper
    public struct StoredGroup<Keys: KeyGroup>: DynamicProperty {
        @Environment(\.viewStores) private var stores
        @State private var group = ViewGroup<Keys>()
        private let selection: StoreSelection

        /// Creates the property of a group.
        public init(_ type: Keys.Type = Keys.self, in location: some StoreLocation = .environment) {
            selection = location.selection
        }

        /// The values of the group.
        public var wrappedValue: ObservableValues<Keys> {
            group.values(selection, in: stores)
        }

        /// The bindings to the values of the group.
        public var projectedValue: KeyBindings<Keys> {
            wrappedValue.bindings
        }
    }

    /// Bindings to the values of a group and of nested groups: `$settings.debug.showConsole`.
    @dynamicMemberLookup
    public struct KeyBindings<Keys: KeyGroup> {
        private let values: ObservableValues<Keys>

        fileprivate init(_ values: ObservableValues<Keys>) {
            self.values = values
        }

        /// A binding to the value of a key; see ``Stored/projectedValue``.
        public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> Binding<Value> {
            Bindable(values.value(path)).value
        }

        /// The bindings of a nested group.
        public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyBindings<Group> {
            KeyBindings<Group>(values[dynamicMember: path])
        }
    }

    extension ObservableValues {
        /// Bindings to the values, for a model that holds them.
        public var bindings: KeyBindings<Keys> {
            KeyBindings(self)
        }
    }
#endif
