#if canImport(Darwin)
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Does nothing: the system keeps the values up to date.
        func refresh(_ defaults: UserDefaults) {}

        /// Does nothing: Foundation posts a notification when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {}

        /// The format in which Foundation stores a domain.
        static let format = PropertyListFormat.binary
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
        /// Makes Foundation read the domain again: it reads a file again only on request.
        ///
        /// The result false means that an edit, by any process, could not be stored, which does not prevent reading.
        func refresh(_ defaults: UserDefaults) {
            defaults.synchronize()
        }

        /// Posts the notification that Foundation does not post here when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {
            NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults, userInfo: userInfo)
        }

        /// The format in which Foundation stores a domain.
        static let format = PropertyListFormat.xml
    }

    extension NSNumber {
        /// Whether the number is a Boolean; other numbers in user defaults always have a wider type.
        var isBoolean: Bool {
            String(cString: objCType) == "c"
        }
    }
#endif
