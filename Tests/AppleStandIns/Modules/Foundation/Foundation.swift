// What Apple's Foundation has beside that of Linux, and exports.
@_exported public import Darwin
@_exported public import AppleDispatch
@_exported public import Foundation

extension URLResourceKey { public static let volumeTypeNameKey = URLResourceKey(rawValue: "NSURLVolumeTypeNameKey") }
extension URLResourceValues { public var volumeTypeName: String? { nil } }

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

#if !OS_macOS
    extension ProcessInfo {
        public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
    }
#endif

// As opposed to those of Linux, these classes are not Sendable. (firebase-ios-sdk#13939)
@available(*, unavailable) extension NSUbiquitousKeyValueStore: @unchecked Sendable {}
@available(*, unavailable) extension UserDefaults: @unchecked Sendable {}

open class UserDefaults: NSObject {
    public static let didChangeNotification = Notification.Name("NSUserDefaultsDidChangeNotification")
    open class var standard: UserDefaults { fatalError() }
    public init?(suiteName suitename: String?) {}
    open func object(forKey defaultName: String) -> Any? { nil }
    open func set(_ value: Any?, forKey defaultName: String) {}
    open func removeObject(forKey defaultName: String) {}
    open func dictionaryRepresentation() -> [String: Any] { [:] }
    open func persistentDomain(forName domainName: String) -> [String: Any]? { nil }
    open func objectIsForced(forKey key: String) -> Bool { false }
    @discardableResult open func synchronize() -> Bool { true }
}

open class NSUbiquitousKeyValueStore: NSObject {
    open class var `default`: NSUbiquitousKeyValueStore { fatalError() }
    public static let didChangeExternallyNotification = Notification.Name("NSUbiquitousKeyValueStoreDidChangeExternallyNotification")
    open func object(forKey aKey: String) -> Any? { nil }
    open func set(_ anObject: Any?, forKey aKey: String) {}
    open func removeObject(forKey aKey: String) {}
    open var dictionaryRepresentation: [String: Any] { [:] }
    @discardableResult open func synchronize() -> Bool { true }
}
public let NSUbiquitousKeyValueStoreChangeReasonKey = "NSUbiquitousKeyValueStoreChangeReasonKey"
public let NSUbiquitousKeyValueStoreChangedKeysKey = "NSUbiquitousKeyValueStoreChangedKeysKey"
public var NSUbiquitousKeyValueStoreServerChange: Int { 0 }
public var NSUbiquitousKeyValueStoreInitialSyncChange: Int { 1 }
public var NSUbiquitousKeyValueStoreQuotaViolationChange: Int { 2 }
public var NSUbiquitousKeyValueStoreAccountChange: Int { 3 }
