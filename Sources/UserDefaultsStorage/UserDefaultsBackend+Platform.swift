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

        static let format = PropertyListFormat.binary
    }

    extension UserDefaults {
        /// The objects that an administrator enforces, by name. Managed values come first in the search.
        var forcedObjects: [String: Any] {
            let names = dictionaryRepresentation().keys.filter { objectIsForced(forKey: $0) }
            // Nil for one that the administrator has just removed.
            return names.reduce(into: [:]) { $0[$1] = object(forKey: $1) }
        }
    }

    extension NSNumber {
        /// Whether the number is a Boolean, which has its own class here.
        var isBoolean: Bool { type(of: self) == type(of: NSNumber(value: true)) }
    }
#else
    import Dispatch
    import Foundation
    import PropertyListCoding

    extension UserDefaultsBackend {
        /// Makes Foundation reload the domain, which it does only on request.
        ///
        /// The result is false if an edit, by any process, could not be stored, which does not prevent reading.
        func refresh(_ defaults: UserDefaults) {
            defaults.synchronize()
        }

        private static let notifications = DispatchQueue(label: "ObservableStorage.UserDefaultsBackend.notifications")

        /// Posts the notification that Foundation does not post here when user defaults are changed, soon, in the order of the changes.
        func announce(_ defaults: UserDefaults, _ userInfo: [String: String]) {
            // Not here: the observers are user code, and this may be the queue of a store. Safe because observers may be on any thread.
            nonisolated(unsafe) let defaults = defaults
            Self.notifications.async {
                NotificationCenter.default.post(name: UserDefaults.didChangeNotification, object: defaults, userInfo: userInfo)
            }
        }

        /// Always: Foundation keeps the number 1 if true or 1.0 is set, and no other process sees the removal before the domain is written.
        static func isHiddenByEquality(_ object: Any, of stored: Any?) -> Bool { true }

        static let format = PropertyListFormat.xml
    }

    extension UserDefaults {
        /// None: user defaults are not managed here.
        var forcedObjects: [String: Any] { [:] }
    }

    extension NSNumber {
        /// Whether the number is a Boolean; other numbers in user defaults always have a wider type.
        var isBoolean: Bool { String(cString: objCType) == "c" }
    }
#endif
