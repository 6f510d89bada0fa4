#if canImport(SwiftUI)
    public import SwiftUI

    /// A toggle for a key: `StoredToggle("Sound", \.isSoundOn)`.
    public struct StoredToggle<Label: View>: View {
        @Stored private var isOn: Bool
        private let label: Label

        /// Creates a toggle for a key.
        public init(_ key: StorageKey<Bool>, in location: some StoreLocation = .environment, @ViewBuilder label: () -> Label) {
            self.init(Stored(key, in: location), label)
        }

        /// Creates a toggle for one of the application's keys.
        public init(
            _ path: KeyPath<ApplicationKeys, StorageKey<Bool>>, in location: some StoreLocation = .environment,
            @ViewBuilder label: () -> Label
        ) {
            self.init(Stored(path, in: location), label)
        }

        /// Creates a toggle for a key of a group.
        public init<Keys: KeyGroup>(
            _ path: KeyPath<Keys, StorageKey<Bool>>, in location: some StoreLocation = .environment,
            @ViewBuilder label: () -> Label
        ) {
            self.init(Stored(path, in: location), label)
        }

        private init(_ isOn: Stored<Bool>, _ label: () -> Label) {
            _isOn = isOn
            self.label = label()
        }

        /// The toggle.
        public var body: some View {
            Toggle(isOn: $isOn) { label }
        }
    }

    extension StoredToggle where Label == Text {
        /// Creates a toggle with a localized title for a key.
        public init(_ titleKey: LocalizedStringKey, _ key: StorageKey<Bool>, in location: some StoreLocation = .environment) {
            self.init(key, in: location) { Text(titleKey) }
        }

        /// Creates a toggle with a localized title for one of the application's keys.
        public init(
            _ titleKey: LocalizedStringKey, _ path: KeyPath<ApplicationKeys, StorageKey<Bool>>,
            in location: some StoreLocation = .environment
        ) {
            self.init(path, in: location) { Text(titleKey) }
        }

        /// Creates a toggle with a localized title for a key of a group.
        public init<Keys: KeyGroup>(
            _ titleKey: LocalizedStringKey, _ path: KeyPath<Keys, StorageKey<Bool>>, in location: some StoreLocation = .environment
        ) {
            self.init(path, in: location) { Text(titleKey) }
        }
    }
#endif
