public import ObservableStorage

/// The kinds of backend that a store has to behave alike on.
public enum Fixture: String, Sendable, CaseIterable {
    /// Entries in memory.
    case memory
    /// A property-list file.
    case file

    /// Storage of the kind, with nothing in it.
    public func make() throws -> StorageFixture {
        switch self {
        case .memory:
            let backend = InMemoryBackend()
            return StorageFixture(folder: nil) { backend }
        case .file:
            let folder = try TemporaryFolder()
            return StorageFixture(folder: folder) { PropertyListFile(at: folder.file("settings.plist")) }
        }
    }
}

/// Storage that any number of stores can be opened on, each as if it were in a process of its own.
public struct StorageFixture: Sendable {
    /// Where the file is, if it is one; it goes with the fixture.
    public let folder: TemporaryFolder?
    private let backend: @Sendable () -> any StorageBackend

    init(folder: TemporaryFolder?, backend: @escaping @Sendable () -> any StorageBackend) {
        self.folder = folder
        self.backend = backend
    }

    /// Opens one more store.
    public func open() throws -> ObservableStore {
        try ObservableStore(backend: backend())
    }
}

/// Keys that tests share.
public enum Keys {
    /// A number, 0 by default.
    public static let count = StorageKey("count", default: 0)
    /// A text, empty by default.
    public static let text = StorageKey("text", default: "")
    /// A text that may be missing.
    public static let note = StorageKey<String?>("note")
}
