public import Dispatch
import Foundation
public import PropertyListCoding

/// Where a store keeps its entries: a file, memory, a service.
///
/// A store calls `load` and `edit` from its own serial queue, one at a time, and may be kept waiting there. Several stores may
/// share one backend. Errors that are no ``StorageError`` are reported as they are.
public protocol StorageBackend: Sendable {
    /// Names the storage in errors: a path, an address.
    var name: String { get }

    /// Reads the entries as they are now; nothing stored is no entries.
    func load() throws -> StorageEntries

    /// Runs an edit on the latest entries and stores what it made of them, with no edit of anyone else in between.
    ///
    /// The closure may run more than once, each time on newer entries; only the last run counts. When it throws, or edits nothing, nothing
    /// is stored. When it edited something, that is stored durably once this returns.
    ///
    /// - Returns: the entries that are stored now, as they will be read.
    /// - Throws: what the closure throws; ``StorageError/unencodable(key:reason:)`` naming an entry that cannot be stored as it was edited, and
    ///   nothing is stored: a store takes the edit back then and goes on with the others.
    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries

    /// What will be read once a value has been stored: nothing else than the value, unless the storage cannot hold it as it is.
    ///
    /// Called for each value that is set but whole numbers and truth values, which every storage holds, on the thread that sets it, so it reads
    /// nothing and waits for nothing. What cannot be known in advance ``edit(_:)`` tells.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:)`` if the value cannot be stored.
    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue

    /// Whether the closure of an ``edit(_:)`` may end the process, which calls `edit` once more, on the same thread, for what is not stored yet.
    ///
    /// False unless the backend says otherwise: then that edit is made on another thread, and is lost if it has to wait for the first one.
    var allowsNestedEdits: Bool { get }

    /// Reports on a queue that the entries may have changed, whoever changed them, until the token is cancelled or released.
    ///
    /// A report too many costs a look, one too few leaves observers behind. The first one comes once the watch is in place.
    func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken
}

extension StorageBackend {
    /// The value.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue { value }

    /// False.
    public var allowsNestedEdits: Bool { false }
}

/// What a backend reports while it is watched.
public enum StorageEvent: Sendable, Hashable {
    /// The entries may have changed.
    case changed
    /// Something is wrong that the store's `failures` should tell.
    case failed(StorageError)
}

// MARK: - Nested edits

/// Remembers which thread holds a lock, and of what, so that the thread can do more under it without locking again.
final class LockOwner<Resource: Sendable>: Sendable {
    private let current = Lock<(thread: ObjectIdentifier, resource: Resource)?>(nil)

    /// What this thread holds the lock of; nil if it does not hold it.
    var resource: Resource? {
        let thread = ObjectIdentifier(Thread.current)
        return current.withLock { $0?.thread == thread ? $0?.resource : nil }
    }

    /// Runs a closure while this thread holds the lock of something.
    func own<Result>(_ resource: Resource, _ body: () throws -> Result) rethrows -> Result {
        let thread = ObjectIdentifier(Thread.current)
        current.withLock { $0 = (thread, resource) }
        defer { current.withLock { $0 = nil } }
        return try body()
    }
}
