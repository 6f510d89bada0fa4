public import ObservableStorage
public import PropertyListCoding

/// Storage that any number of stores can be opened on, each as if it were in a process of its own.
public struct StorageFixture: Sendable {
    private let makeBackend: @Sendable () throws -> any StorageBackend

    init(makeBackend: @escaping @Sendable () throws -> any StorageBackend) {
        self.makeBackend = makeBackend
    }

    /// Opens one more store.
    public func open() throws -> ObservableStore {
        try ObservableStore(backend: backend)
    }

    /// A backend over the storage; where several see the same, a new one each time.
    public var backend: any StorageBackend {
        get throws { try makeBackend() }
    }

    /// What is stored now.
    public var entries: [String: PropertyListValue] {
        get throws { try backend.load().values }
    }

    /// Edits what is stored, as another process would.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try backend.edit(body)
    }
}
