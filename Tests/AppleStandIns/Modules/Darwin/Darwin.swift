// A stand-in for Apple's Darwin module on Linux: Glibc, and what Apple's systems have beside it.
@_exported import Glibc
import Dispatch
import Foundation

public let O_EVTONLY: Int32 = 0x8000
public let F_FULLFSYNC: Int32 = 51
public let F_BARRIERFSYNC: Int32 = 85
public let F_GETPATH: Int32 = 50
public let F_GETPROTECTIONCLASS: Int32 = 63
public let F_SETPROTECTIONCLASS: Int32 = 64

public let F_PREALLOCATE: Int32 = 42
public let F_ALLOCATEALL: Int32 = 4
public let F_PEOFPOSMODE: Int32 = 3

public struct fstore_t {
    public var fst_flags: UInt32
    public var fst_posmode: Int32
    public var fst_offset: off_t
    public var fst_length: off_t
    public var fst_bytesalloc: off_t

    public init(fst_flags: UInt32, fst_posmode: Int32, fst_offset: off_t, fst_length: off_t, fst_bytesalloc: off_t) {
        (self.fst_flags, self.fst_posmode) = (fst_flags, fst_posmode)
        (self.fst_offset, self.fst_length, self.fst_bytesalloc) = (fst_offset, fst_length, fst_bytesalloc)
    }
}

public let SO_NOSIGPIPE: Int32 = 0x1022

public let VM_INHERIT_NONE: Int32 = 2
public func minherit(_ addr: UnsafeMutableRawPointer!, _ len: Int, _ inherit: Int32) -> Int32 { -1 }

public func fsetxattr(
    _ fd: Int32, _ name: UnsafePointer<CChar>!, _ value: UnsafeRawPointer!, _ size: Int, _ position: UInt32, _ options: Int32
) -> Int32 { -1 }

public func sysctlbyname(
    _ name: UnsafePointer<CChar>!, _ oldp: UnsafeMutableRawPointer!, _ oldlenp: UnsafeMutablePointer<Int>!,
    _ newp: UnsafeMutableRawPointer!, _ newlen: Int
) -> Int32 { -1 }

public struct statfs {
    public var f_fstypename: (CChar, CChar) = (0, 0)

    public init() {}
}

public func fstatfs(_ fd: Int32, _ buf: UnsafeMutablePointer<statfs>!) -> Int32 { -1 }

extension FileManager {
    public func containerURL(forSecurityApplicationGroupIdentifier groupIdentifier: String) -> URL? { nil }
}

extension ProcessInfo {
    public func performExpiringActivity(withReason reason: String, using block: @escaping @Sendable (Bool) -> Void) {}
}

public protocol DispatchSourceFileSystemObject: DispatchSourceProtocol {
    var handle: Int32 { get }
    var data: DispatchSource.FileSystemEvent { get }
    var mask: DispatchSource.FileSystemEvent { get }
}
extension DispatchSource {
    public class func makeFileSystemObjectSource(
        fileDescriptor: Int32, eventMask: FileSystemEvent, queue: DispatchQueue? = nil
    ) -> any DispatchSourceFileSystemObject { fatalError("a stand-in: type-checks only") }
}

public class NSUbiquitousKeyValueStore: @unchecked Sendable {
    public static let `default` = NSUbiquitousKeyValueStore()
    public static let didChangeExternallyNotification = Notification.Name("NSUbiquitousKeyValueStoreDidChangeExternallyNotification")
    public func object(forKey key: String) -> Any? { nil }
    public func set(_ value: Any?, forKey key: String) {}
    public func removeObject(forKey key: String) {}
    public var dictionaryRepresentation: [String: Any] { [:] }
    @discardableResult public func synchronize() -> Bool { true }
}
public let NSUbiquitousKeyValueStoreChangeReasonKey = "NSUbiquitousKeyValueStoreChangeReasonKey"
public let NSUbiquitousKeyValueStoreChangedKeysKey = "NSUbiquitousKeyValueStoreChangedKeysKey"
public let NSUbiquitousKeyValueStoreServerChange = 0
public let NSUbiquitousKeyValueStoreInitialSyncChange = 1
public let NSUbiquitousKeyValueStoreQuotaViolationChange = 2
public let NSUbiquitousKeyValueStoreAccountChange = 3

public struct __sigaction_u {
    public var __sa_handler: (@convention(c) (Int32) -> Void)!
}

extension sigaction {
    public var __sigaction_u: Darwin.__sigaction_u { fatalError("a stand-in: type-checks only") }
}
