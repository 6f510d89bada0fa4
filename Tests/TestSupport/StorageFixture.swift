public import ObservableStorage
public import PropertyListCoding

/// Storage for any number of stores, each as if it were in a separate process.
public struct StorageFixture: Sendable {
    private let makeBackend: @Sendable () throws -> any BlockingStorageBackend

    init(makeBackend: @escaping @Sendable () throws -> any BlockingStorageBackend) {
        self.makeBackend = makeBackend
    }

    /// Opens one more store.
    public func open() throws -> ObservableStore {
        try ObservableStore(backend: backend)
    }

    /// A backend for the storage; a new one each time if several can share it.
    public var backend: any BlockingStorageBackend {
        get throws { try makeBackend() }
    }

    /// The stored entries.
    public var entries: [String: PropertyListValue] {
        get throws { try backend.load().values }
    }

    /// Edits the stored entries, as another process would.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try backend.edit(body)
    }
}
