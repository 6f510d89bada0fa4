public import Dispatch
public import ObservableStorage

/// The entries of a domain of `UserDefaults` that an administrator enforces, as with a configuration profile: the mandatory layer of a
/// store. There are none on Linux.
///
/// It can only be read. `ObservableStore(userDefaultsSuite:)` opens a domain together with these entries.
public final class ManagedUserDefaults: BlockingStorageBackend, @unchecked Sendable {
    // Invariant of the unchecked conformance: nothing here changes after initialization, and user defaults may be read on any thread.
    private let backend: UserDefaultsBackend
    private let objects: () -> [String: Any]

    /// Creates a backend for the enforced entries of the domain of another backend.
    public convenience init(of backend: UserDefaultsBackend) {
        self.init(of: backend, objects: { backend.defaults.forcedObjects })
    }

    init(of backend: UserDefaultsBackend, objects: @escaping () -> [String: Any]) {
        self.backend = backend
        self.objects = objects
    }

    /// The name of the domain in errors.
    public var name: String { "managed \(backend.name)" }

    /// Reads the enforced entries.
    ///
    /// - Throws: `StorageError` if one is not a property list.
    public func load() throws -> StorageEntries {
        var values: [String: PropertyListValue] = [:]
        for (key, object) in objects() {
            guard let value = PropertyListValue(foundation: object) else {
                throw StorageError.unreadable(file: name, reason: "what is prescribed for \"\(key)\" is no property list")
            }
            values[key] = value
        }
        return StorageEntries(values)
    }

    /// Always throws: only an administrator can change these entries.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        throw StorageError.unwritable(file: name, reason: "an administrator prescribes these values")
    }

    /// Reports that the entries may have changed, whenever the domain may have changed.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        backend.watch(since: revision, on: queue, report)
    }
}

extension ObservableStore {
    /// Opens the user defaults of the application, or of a suite, such as an application group.
    ///
    /// Values that an administrator enforces are mandatory: see ``init(backend:defaults:mandatory:overrides:)`` and `StoredValue.isMandatory`.
    ///
    /// - Parameter suiteName: the name of the suite; nil for the application's own user defaults.
    /// - Throws: ``StorageError`` if Foundation has no suite of that name, or the domain cannot be read.
    public init(userDefaultsSuite suiteName: String?) throws(StorageError) {
        guard let backend = suiteName.map({ UserDefaultsBackend(suiteName: $0) }) ?? UserDefaultsBackend() else {
            throw .unreadable(file: "UserDefaults \(suiteName ?? "")", reason: "Foundation has no suite of that name")
        }
        try self.init(backend: backend, defaults: [], mandatory: [ManagedUserDefaults(of: backend)])
    }
}
