public import Dispatch
public import PropertyListCoding

/// The storage of a store's entries: a file, memory, a service on other machines.
///
/// A store calls `load` and `edit` on its own executor, one at a time. They wait for a disk or a network by suspending; a
/// ``BlockingStorageBackend`` blocks the calling thread instead, which does not belong to the cooperative pool. Several stores may share
/// one backend. Errors other than ``StorageError`` are reported as the reason of one; those of a transaction's closure are thrown unchanged.
public protocol StorageBackend: Sendable {
    /// The name of the storage in errors: a path, an address.
    var name: String { get }

    /// How much one edit may store; unlimited unless the backend implements it.
    var limits: StorageLimits { get }

    /// Reads the current entries; an empty storage has none.
    nonisolated(nonsending) func load() async throws -> StorageEntries

    /// Runs an edit on the latest entries and stores the result, atomically with respect to other edits of the entries that it read.
    ///
    /// The closure may run more than once, each time on newer entries; only the last run takes effect. If it throws, or edits nothing,
    /// nothing is stored. The edits are durable when this method returns. A backend that compares instead of locking needs to compare only
    /// ``StorageEntries/readKeys``.
    ///
    /// - Returns: all entries now stored, as they will be read back, with their revision.
    /// - Throws: the error of the closure; ``StorageError/unencodable(key:reason:underlying:)`` with the name of an entry that cannot be stored as
    ///   edited, and nothing is stored: a store then reverts that edit and continues with the others;
    ///   ``StorageError/tooLarge(key:reason:)`` if nothing is stored because the edits are too large: with a key, a store then reverts the edit
    ///   of that entry, and without, it divides its own edits, and reverts what cannot be divided;
    ///   ``StorageError/outcomeUnknown(storage:reason:edits:)`` if the edits may have been stored or not: a store then repeats its own edits, and
    ///   leaves it to the caller to repeat a transaction.
    nonisolated(nonsending) func edit(_ body: @Sendable (inout StorageEntries) throws -> Void) async throws -> StorageEntries

    /// The value as it will be read back after it was stored: the same value, unless the storage cannot represent it exactly.
    ///
    /// Called on the thread that sets a value, for each value except integers and Booleans, which every storage can represent; so it must
    /// not read the storage or wait. What cannot be determined in advance is reported by ``edit(_:)``.
    ///
    /// - Throws: ``StorageError/unencodable(key:reason:underlying:)`` if the value cannot be stored.
    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue

    /// Whether every edit is refused, so that a store of the backend accepts none: false unless the backend implements it.
    var isReadOnly: Bool { get }

    /// Reports on a queue that the entries have or may have changed, by any writer, until the token is cancelled or released.
    ///
    /// A redundant report only causes a read, whereas a missing one leaves observers outdated. The first report follows the start of the
    /// watch, unless the entries then have the given revision.
    ///
    /// - Parameters:
    ///   - revision: the revision of the entries that the store has read, from which differences continue; nil if it has read none, or if
    ///     the storage has no revisions.
    ///   - queue: the queue on which events are reported.
    ///   - report: called with each event.
    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken

    /// The commits after a revision, in order, without a gap, up to the latest one.
    ///
    /// - Parameter revision: a revision of the storage; nil for all commits that it remembers.
    /// - Returns: the commits; nil if the storage does not remember all of them, or does not know the revision. Nil unless the backend
    ///   implements it.
    nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]?
}

/// A storage whose calls block the calling thread until they are done, as a file or memory does.
///
/// A store on such a storage can be opened without waiting for a task, and writes its last edits without one at the end of the process.
public protocol BlockingStorageBackend: StorageBackend {
    /// Reads the current entries; see ``StorageBackend/load()``.
    func load() throws -> StorageEntries

    /// Runs an edit on the latest entries and stores the result; see ``StorageBackend/edit(_:)``.
    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries
}

extension StorageBackend {
    /// No limits.
    public var limits: StorageLimits { StorageLimits() }

    /// Returns the value unchanged.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue { value }

    /// False.
    public var isReadOnly: Bool { false }

    /// Nil.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? { nil }
}

/// An event that a backend reports while it is watched.
public enum StorageEvent: Sendable, Hashable {
    /// The entries may have changed: they are read again.
    case changed
    /// Differences that continue earlier ones; if there is a gap between them and what the store has read, the entries are read again.
    case differences(StorageChanges)
    /// Whether the storage can be reached at present, for the store's `availability`. Edits that could not be written are tried
    /// again at once when it can.
    case reachable(Bool)
    /// An error that the store's `failures` should report.
    case failed(StorageError)
}

// MARK: - Nested edits

/// Records which threads hold a lock, and for which resource, so that they can continue under it without locking again.
///
/// Several threads may hold one, of different files: after a symbolic link was changed, or after a lock file was removed.
package final class LockOwner<Resource: Sendable>: Sendable {
    private let resources = Lock<[UInt64: Resource]>([:])

    package init() {}

    /// The resource whose lock this thread holds; nil if it holds none.
    package var resource: Resource? {
        let thread = DeliveryThread.current.number
        return resources.withLock { $0[thread] }
    }

    /// Runs a closure while this thread holds the lock of a resource.
    package func own<Result>(_ resource: Resource, _ body: () throws -> Result) rethrows -> Result {
        let thread = DeliveryThread.current.number
        resources.withLock { $0[thread] = resource }
        // The caller retains the resource until after the lock.
        defer { resources.withLock { $0[thread] = nil } }
        return try body()
    }
}
