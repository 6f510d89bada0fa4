#if canImport(Darwin)
    import FoundationSubset
    public import ObservableStorage

    /// iCloud's key-value store of the program, which needs the entitlement `com.apple.developer.ubiquity-kvstore-identifier`.
    ///
    /// Values are converted by their bytes as a property list, which keeps the types of numbers.
    public struct UbiquitousKeyValueStore: CloudRemote {
        /// Accesses `NSUbiquitousKeyValueStore.default`.
        public init() {}

        /// All values on this device, nil for one that cannot be converted; empty if the user is not signed in and nothing was set.
        public func values() -> [String: PropertyListValue?] {
            // One by one: a value that cannot be converted, such as text with half a surrogate pair, does not hide the others.
            NSUbiquitousKeyValueStore.default.dictionaryRepresentation.mapValues(Self.value)
        }

        private static func value(of object: Any) -> PropertyListValue? {
            do {
                let data = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
                return try PropertyListValue.decode(data).value
            } catch {
                // The mirror reports it.
                return nil
            }
        }

        /// Sets a value in memory; the system stores and sends it later.
        public func set(_ value: PropertyListValue, forKey name: String) {
            do {
                let data = try value.encoded(as: .binary)
                let object = try PropertyListSerialization.propertyList(from: data, format: nil)
                NSUbiquitousKeyValueStore.default.set(object, forKey: name)
            } catch {
                // The mirror refuses values without such a form.
            }
        }

        /// Writes to disk and takes over what the system has received; it is not a round trip to the server.
        public func synchronize() {
            NSUbiquitousKeyValueStore.default.synchronize()
        }

        /// Calls a closure on the thread of the notification, which may be any.
        public func observe(_ onChange: @escaping @Sendable (CloudChange) -> Void) -> ObservationToken {
            // Only passed back to the notification center, which may be called from any thread.
            nonisolated(unsafe) let observer = NotificationCenter.default.addObserver(
                forName: NSUbiquitousKeyValueStore.didChangeExternallyNotification, object: NSUbiquitousKeyValueStore.default, queue: nil
            ) { notification in
                onChange(CloudChange(reason: notification.userInfo?[NSUbiquitousKeyValueStoreChangeReasonKey] as? Int))
            }
            return ObservationToken { NotificationCenter.default.removeObserver(observer) }
        }
    }

    extension CloudChange {
        /// The change for a reason that the system gives; one that is missing or unknown is a change of values.
        fileprivate init(reason: Int?) {
            switch reason {
            case NSUbiquitousKeyValueStoreInitialSyncChange: self = .initialSync
            case NSUbiquitousKeyValueStoreQuotaViolationChange: self = .quotaViolation
            case NSUbiquitousKeyValueStoreAccountChange: self = .accountChange
            default: self = .serverChange
            }
        }
    }

    extension CloudMirror {
        /// Creates a mirror of some keys of a store in iCloud; ``start()`` begins.
        ///
        /// - Parameters:
        ///   - store: the store, which the mirror retains.
        ///   - keys: the keys. Their names in the cloud are those in the store.
        public init<each Value: Sendable>(_ store: ObservableStore, keys: repeat StorageKey<each Value>) {
            self.init(store, keys: repeat each keys, remote: UbiquitousKeyValueStore())
        }

        /// Creates a mirror of some keys of a group in iCloud; ``start()`` begins.
        ///
        /// - Parameters:
        ///   - settings: access to the store, which the mirror retains.
        ///   - paths: the key paths of the keys.
        public init<Keys: KeyGroup, each Value: Sendable>(
            _ settings: KeyedStore<Keys>, _ paths: repeat KeyPath<Keys, StorageKey<each Value>>
        ) {
            self.init(settings, repeat each paths, remote: UbiquitousKeyValueStore())
        }
    }
#endif
