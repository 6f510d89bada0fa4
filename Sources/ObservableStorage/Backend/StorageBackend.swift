public import Dispatch
import Foundation
public import PropertyListCoding

/// The storage of a store's entries: a file, memory, a service.
///
/// A store calls `load` and `edit` on its own serial queue, one at a time, where they may block. Several stores may share one backend.
/// Errors other than ``StorageError`` are reported unchanged.
public protocol StorageBackend: Sendable {
    /// The name of the storage in errors: a path, an address.
    var name: String { get }

    /// Reads the current entries; an empty storage has none.
    func load() throws -> StorageEntries

    /// Runs an edit on the latest entries and stores the result, with no other edit in between.
    ///
    /// The closure may run more than once, each time on newer entries; only the last run takes effect. If it throws, or edits nothing,
    /// nothing is stored. Its edits have been stored durably when this method returns.
    ///
    /// - Returns: the entries now stored, as they will be read back.
    /// - Throws: the error of the closure; ``StorageError/unencodable(key:reason:)`` with the name of an entry that cannot be stored as
    ///   edited, and nothing is stored: a store then reverts that edit and continues with the others.
    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries

    /// The value as it will be read back after it was stored: the same value, unless the storage cannot represent it exactly.
    ///
    /// Called for each value that is set, except integers and Booleans, which every storage can represent, on the thread that sets it; so
    /// it must not read the storage or wait. Whatever cannot be determined in advance is reported by ``edit(_:)``.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)`` if the value cannot be stored.
    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue

    /// Whether the closure of an ``edit(_:)`` may end the process, which calls `edit` again, on the same thread, for pending edits.
    ///
    /// False unless the backend implements it: then that edit is made on another thread, and is lost if it has to wait for the first one.
    var allowsNestedEdits: Bool { get }

    /// Reports on a queue that the entries may have changed, by any writer, until the token is cancelled or released.
    ///
    /// A redundant report only causes a read, whereas a missing one leaves observers outdated. The first report follows the start of the
    /// watch.
    func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken
}

extension StorageBackend {
    /// Returns the value unchanged.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue { value }

    /// False.
    public var allowsNestedEdits: Bool { false }
}

/// An event that a backend reports while it is watched.
public enum StorageEvent: Sendable, Hashable {
    /// The entries may have changed.
    case changed
    /// An error that the store's `failures` should report.
    case failed(StorageError)
}

// MARK: - Nested edits

/// Records which thread holds a lock, and for which resource, so that the thread can continue under it without locking again.
final class LockOwner<Resource: Sendable>: Sendable {
    private let current = Lock<(thread: ObjectIdentifier, resource: Resource)?>(nil)

    /// The resource whose lock this thread holds; nil if it holds none.
    var resource: Resource? {
        let thread = ObjectIdentifier(Thread.current)
        return current.withLock { $0?.thread == thread ? $0?.resource : nil }
    }

    /// Runs a closure while this thread holds the lock of a resource.
    func own<Result>(_ resource: Resource, _ body: () throws -> Result) rethrows -> Result {
        let thread = ObjectIdentifier(Thread.current)
        current.withLock { $0 = (thread, resource) }
        defer { current.withLock { $0 = nil } }
        return try body()
    }
}
