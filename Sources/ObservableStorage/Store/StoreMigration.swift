import PropertyListCoding

/// A numbered step that brings a whole store from an earlier layout to a newer one, once.
public struct StoreMigration: Sendable {
    /// The version that the store has after the step; the first one is 1.
    public let version: Int
    let body: @Sendable (inout StoreTransaction) throws -> Void

    /// Makes a step.
    ///
    /// - Parameters:
    ///   - version: the version that the store has after it.
    ///   - body: edits the entries; what it throws leaves everything as it was.
    public init(to version: Int, _ body: @escaping @Sendable (inout StoreTransaction) throws -> Void) {
        self.version = version
        self.body = body
    }
}

extension ObservableStore {
    private static let versionKey = StorageKey("ObservableStorage.version", default: 0)
    private static let importsKey = StorageKey<[String]>("ObservableStorage.imports", default: [])

    /// The number of the last migration that the stored entries have been through; 0 before the first.
    public nonisolated var version: Int {
        self[Self.versionKey]
    }

    /// Runs the migrations that the stored entries have not been through yet, in the order of their numbers, as one transaction.
    ///
    /// They count once across all processes, and either all of them do or none does; they run again if somebody else changed the file
    /// meanwhile. What they change has the origin ``ChangeOrigin/migration``.
    ///
    /// - Throws: what a migration throws, and nothing changes; ``StorageError`` as ``update(_:)`` does.
    public nonisolated func migrate(_ migrations: [StoreMigration]) async throws {
        guard let last = migrations.map(\.version).max(), version < last else { return }
        try await update(origin: .migration) { transaction in
            let done = try transaction.value(for: Self.versionKey)
            for migration in migrations.sorted(by: { $0.version < $1.version }) where migration.version > done {
                try migration.body(&transaction)
                transaction[Self.versionKey] = migration.version
            }
        }
    }

    /// Copies the entries of another storage into this one, once: a store of an earlier version, a domain of `UserDefaults`.
    ///
    /// Entries that are stored here already are kept. What is copied has the origin ``ChangeOrigin/migration``.
    ///
    /// - Parameters:
    ///   - backend: the other storage, which stays as it is.
    ///   - name: tells this import from others; what has been imported under a name is not imported again.
    /// - Throws: ``StorageError`` when the other storage cannot be read or this one not be written.
    public nonisolated func importEntries(from backend: any StorageBackend, once name: String) async throws {
        guard !self[Self.importsKey].contains(name) else { return }
        let entries: StorageEntries
        do {
            entries = try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        try await update(origin: .migration) { transaction in
            guard !transaction[Self.importsKey].contains(name) else { return }
            for (key, value) in entries.values where transaction.entries[key] == nil {
                try transaction.set(value, for: StorageKey<PropertyListValue?>(key))
            }
            transaction[Self.importsKey].append(name)
        }
    }
}
