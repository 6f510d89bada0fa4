#if canImport(Darwin)
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Does nothing: the system keeps what is read up to date.
        func refresh(_ defaults: UserDefaults) {}

        /// Does nothing: Foundation posts a notification when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {}

        /// How Foundation stores a domain.
        static let format = PropertyListFormat.binary
    }

    extension NSNumber {
        /// Whether it is a truth value, which is a class of its own here.
        var isBoolean: Bool {
            type(of: self) == type(of: NSNumber(value: true))
        }
    }
#else
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Makes Foundation read the domain again: it looks at no file twice until it is told to.
        ///
        /// That it is false means that some edit of somebody could not be stored, and is no obstacle to reading.
        func refresh(_ defaults: UserDefaults) {
            defaults.synchronize()
        }

        /// Posts what Foundation does not post here when user defaults are changed.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {
            NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults, userInfo: userInfo)
        }

        /// How Foundation stores a domain.
        static let format = PropertyListFormat.xml
    }

    extension NSNumber {
        /// Whether it is a truth value; numbers of user defaults are never as narrow as one.
        var isBoolean: Bool {
            String(cString: objCType) == "c"
        }
    }
#endif
