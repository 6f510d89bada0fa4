#if canImport(Darwin)
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Does nothing: the system keeps what is read up to date.
        func refresh(_ defaults: UserDefaults) {}

        /// Does nothing: Foundation posts a notification when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {}
    }

    extension UserDefaultsEdits {
        /// How Foundation stores a domain.
        static let format = PropertyListFormat.binary
    }

    extension NSNumber {
        /// Whether it is a truth value, which is a class of its own here.
        var isBoolean: Bool {
            type(of: self) == type(of: NSNumber(value: true))
        }
    }
#endif
