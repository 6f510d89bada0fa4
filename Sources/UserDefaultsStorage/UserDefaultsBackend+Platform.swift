#if canImport(Darwin)
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Does nothing: the system keeps the values up to date.
        func refresh(_ defaults: UserDefaults) {}

        /// Does nothing: Foundation posts a notification when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {}

        /// Whether the stored object equals one that is set, and may have another type. Only then is it removed first, which other processes
        /// see.
        static func isHiddenByEquality(_ object: Any, of stored: Any?) -> Bool {
            (stored as? NSObject)?.isEqual(object) == true
        }

        /// The format in which Foundation stores a domain.
        static let format = PropertyListFormat.binary
    }

    extension DefaultsSource {
        /// Reads user defaults, in which managed values come first.
        init(_ defaults: UserDefaults) {
            self.init(
                names: { Array(defaults.dictionaryRepresentation().keys) }, isForced: { defaults.objectIsForced(forKey: $0) },
                object: { defaults.object(forKey: $0) })
        }
    }

    extension NSNumber {
        /// Whether the number is a Boolean, which has its own class here.
        var isBoolean: Bool {
            type(of: self) == type(of: NSNumber(value: true))
        }
    }
#else
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Makes Foundation reload the domain, which it does only on request.
        ///
        /// The result is false if an edit, by any process, could not be stored, which does not prevent reading.
        func refresh(_ defaults: UserDefaults) {
            defaults.synchronize()
        }

        /// Posts the notification that Foundation does not post here when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {
            NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults, userInfo: userInfo)
        }

        /// Always: Foundation keeps the number 1 if true or 1.0 is set, and no other process sees the removal before the domain is written.
        static func isHiddenByEquality(_ object: Any, of stored: Any?) -> Bool { true }

        /// The format in which Foundation stores a domain.
        static let format = PropertyListFormat.xml
    }

    extension DefaultsSource {
        /// Finds nothing: user defaults are not managed here.
        init(_ defaults: UserDefaults) {
            self.init(names: { [] }, isForced: { _ in false }, object: { _ in nil })
        }
    }

    extension NSNumber {
        /// Whether the number is a Boolean; other numbers in user defaults always have a wider type.
        var isBoolean: Bool {
            String(cString: objCType) == "c"
        }
    }
#endif
