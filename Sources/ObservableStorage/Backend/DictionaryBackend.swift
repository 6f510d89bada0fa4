public import Dispatch
import FoundationSubset
public import PropertyListCoding
import Synchronization

/// A storage that two closures read and write: a file of another format, a keychain, anything with a subscript. For one process.
///
/// ```swift
/// let backend = DictionaryBackend(name: file.path) {
///     guard FileManager.default.fileExists(atPath: file.path) else { return [:] }
///     return try JSONDecoder().decode([String: PropertyListValue].self, from: Data(contentsOf: file))
/// } set: { entries in
///     try JSONEncoder().encode(entries.values).write(to: file, options: .atomic)
/// }
/// ```
///
/// The closures are called one at a time, on any thread. They must not wait for a store of this backend.
public final class DictionaryBackend: BlockingStorageBackend {
    /// The name of the storage in errors.
    public let name: String
    private let read: @Sendable () throws -> [String: PropertyListValue]
    private let write: @Sendable (StorageEntries) throws -> Void
    // A queue, not a lock: the closures may wait for a disk.
    private let queue = DispatchQueue(label: "ObservableStorage.DictionaryBackend")
    private let edits = ChangePublisher<StorageEvent>()
    // Changed on the queue only.
    private let editCount = Atomic<Int>(0)

    /// Creates a backend from closures.
    ///
    /// - Parameters:
    ///   - name: the name of the storage in errors.
    ///   - get: returns all entries.
    ///   - set: stores all entries, or in a storage of single entries, stores or removes those of `editedKeys`. If it throws, it must have
    ///     stored none of them.
    public init(
        name: String = "dictionary", get: @escaping @Sendable () throws -> [String: PropertyListValue],
        set: @escaping @Sendable (_ entries: StorageEntries) throws -> Void
    ) {
        (self.name, read, write) = (name, get, set)
    }

    /// Reads the entries.
    public func load() throws -> StorageEntries {
        try snapshot().entries
    }

    /// Runs an edit on the latest entries, and again if another edit by this backend was stored meanwhile.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            var (entries, count) = try snapshot()
            // User code, which may edit another store of this backend.
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return entries }
            let isStored = try queue.sync {
                guard editCount.load(ordering: .relaxed) == count else { return false }
                try write(entries)
                editCount.add(1, ordering: .relaxed)
                return true
            }
            guard isStored else { continue }
            reportChanges()
            return StorageEntries(entries.values)
        }
    }

    private func snapshot() throws -> (entries: StorageEntries, count: Int) {
        try queue.sync { (StorageEntries(try read()), editCount.load(ordering: .relaxed)) }
    }

    /// Makes the stores read the entries again. Call it after others may have changed the storage.
    public func reportChanges() {
        edits.publish(.changed)
    }

    /// Reports every edit by this backend, and the calls of ``reportChanges()``.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let token = edits.subscribe { event in queue.async { report(event) } }
        queue.async { report(.changed) }
        return token
    }
}
