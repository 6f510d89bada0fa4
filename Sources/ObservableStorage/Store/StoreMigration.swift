import PropertyListCoding

/// A numbered step that migrates a whole store from an earlier layout to a newer one, once.
public struct StoreMigration: Sendable {
    let schemaVersion: Int
    let body: @Sendable (inout StoreTransaction) throws -> Void

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - schemaVersion: the ``ObservableStore/schemaVersion`` after it; the first is 1.
    ///   - body: edits the entries, also those that are hidden by a mandatory value, which it does not read; if it throws, nothing changes.
    public init(to schemaVersion: Int, _ body: @escaping @Sendable (inout StoreTransaction) throws -> Void) {
        precondition(schemaVersion >= 1, "the first migration of a store is StoreMigration(to: 1): one to \(schemaVersion) would never run")
        self.schemaVersion = schemaVersion
        self.body = body
    }
}

extension ObservableStore {
    private static let schemaVersionKey = StorageKey("ObservableStorage.version", default: 0)
    fileprivate static let importsKey = StorageKey<[String]>("ObservableStorage.imports", default: [])

    /// The names of the entries that record what was done once: without them, migrations would convert values that were set since.
    static let records: Set<String> = [schemaVersionKey.name, importsKey.name]

    /// The number of the last migration applied to the stored entries; 0 before the first.
    public nonisolated var schemaVersion: Int {
        storedRecord(Self.schemaVersionKey)
    }

    /// What is stored for a record, whatever layers have; only its entry is decoded.
    private nonisolated func storedRecord<Value>(_ record: StorageKey<Value>) -> Value {
        let values = cache.update { state in
            var values = EntryValues(revision: state.revision, values: [:])
            _ = values.set(state.entries.ensureEntry(record.name))
            return values
        }
        return StoreSnapshot(values, ValueLayers(), of: cache)[record]
    }

    /// Runs the migrations that were not applied to the stored entries yet, in the order of their numbers, as one transaction.
    ///
    /// They take effect once across all processes, and either all of them do or none does; they run again if another process changed the
    /// file meanwhile. Their changes have the origin ``ChangeOrigin/migration``. A later version of the program that migrates the entries
    /// afterwards, while this one runs, is not noticed.
    ///
    /// - Throws: the error of a migration, and nothing changes; ``StorageError`` as ``update(_:)`` does, and
    ///   ``StorageError/unreadable(file:reason:edits:)`` if a later version of the program has migrated the entries to a number that is not
    ///   among these: they may mean something else.
    public nonisolated(nonsending) func migrate(_ migrations: [StoreMigration]) async throws {
        guard let last = migrations.map(\.schemaVersion).max(), schemaVersion != last else { return }
        try await update(origin: .migration) { [name] transaction in
            let records = transaction.withoutLayers
            var entries = transaction.withoutMandatory
            let done = try records.value(for: Self.schemaVersionKey)
            guard done <= last else {
                let remedy = "open it with a version of the program that does, or restore what was stored before"
                throw StorageError.unreadable(
                    file: name, reason: "it was migrated to version \(done), and this program knows versions up to \(last); \(remedy)")
            }
            for migration in migrations.sorted(by: { $0.schemaVersion < $1.schemaVersion }) where migration.schemaVersion > done {
                try migration.body(&entries)
                records[Self.schemaVersionKey] = migration.schemaVersion
            }
        }
    }

    /// Copies the entries of another storage into this one, once: of a store of an earlier version, or a domain of `UserDefaults`.
    ///
    /// Entries that are already stored here are kept. Copied entries have the origin ``ChangeOrigin/migration``.
    ///
    /// ```swift
    /// try await store.importEntries(from: old, once: "player") { $0.hasPrefix("player.") ? String($0.dropFirst(7)) : nil }
    /// ```
    ///
    /// - Parameters:
    ///   - backend: the other storage, which is not changed.
    ///   - name: identifies this import; an import of any entries that was made under the same name is not repeated.
    ///   - transform: the name of an entry in this store; nil for an entry that is not copied. By default, all are copied with their names.
    ///     If several get the same name, the one whose own name is the first in order is copied.
    /// - Throws: ``StorageError`` if the other storage cannot be read or this one cannot be written, as in a forked child.
    public nonisolated(nonsending) func importEntries(
        from backend: any StorageBackend, once name: String, naming transform: @Sendable (String) -> String? = { $0 }
    ) async throws {
        try await importEntries(from: backend, once: name, in: nil, naming: transform)
    }

    /// The same for entries in a scope, unless it is discarded before they are stored.
    nonisolated(nonsending) func importEntries(
        from backend: any StorageBackend, once name: String, in scope: KeyScope?, naming transform: @Sendable (String) -> String?
    ) async throws {
        try requireOriginalProcess()
        try requireOpen(scope, forImport: name)
        guard !storedRecord(Self.importsKey).contains(name) else { return }
        try await copyEntries(of: backend, once: name, in: scope, naming: transform)
    }

    private nonisolated func requireOpen(_ scope: KeyScope?, forImport name: String) throws(StorageError) {
        if let scope, cache.update({ $0.discardedScopes.contains(scope) }) { throw .discardedScene(key: name) }
    }

    /// Runs on no actor: there may be many entries.
    private nonisolated func copyEntries(
        of backend: any StorageBackend, once name: String, in scope: KeyScope?, naming transform: @Sendable (String) -> String?
    ) async throws {
        let entries = try await backend.loadEntries()
        // Its records are about its own entries.
        let own = entries.values.filter { !Self.records.contains($0.key) && !$0.key.hasPrefix(EntryName.hiddenPrefix) }
        let imported = own.sorted { $0.key < $1.key }.compactMap { old, value in transform(old).map { (name: $0, value: value) } }
        // Not recorded: each new scene may import, and the list of imports would grow with them.
        guard !imported.isEmpty else { return }
        try await update(origin: .migration) { transaction in
            try requireOpen(scope, forImport: name)
            if let scope { transaction.addScope(scope) }
            let stored = transaction.withoutLayers
            guard !stored[Self.importsKey].contains(name) else { return }
            for (name, value) in imported {
                let key = StorageKey<PropertyListValue?>(name)
                if !stored.isSet(key) { try stored.set(value, for: key) }
            }
            stored[Self.importsKey].append(name)
        }
        do throws(StorageError) {
            try requireOpen(scope, forImport: name)
        } catch {
            // Its entries were removed when they had been stored.
            try synchronizer.change { (state) throws(StorageError) in try state.forgetImports { $0 == name } }
            throw error
        }
    }
}

extension EntryCacheState {
    /// Removes the records of imports, as one revision, so that these may be repeated.
    mutating func forgetImports(where isForgotten: (String) -> Bool) throws(StorageError) -> [EntryChange] {
        let name = ObservableStore.importsKey.name
        guard case .array(let imports)? = entries[name] else { return [] }
        let kept = imports.filter { if case .string(let name) = $0 { !isForgotten(name) } else { true } }
        guard kept.count < imports.count else { return [] }
        // Another process may have added one meanwhile, which must not be lost. Without a list, the last one would be stored again.
        return try edit([name: .array(kept)], condition: [name: .array(imports)])
    }
}

extension EntryCache {
    /// Remembers the records of migrations and imports that a storage has: if others remove all entries, as they do with a file, the
    /// next edits are stored together with them.
    func keepRecords(of entries: StorageEntries) {
        let present = entries.values(of: ObservableStore.records).compactMapValues { $0 }
        if !present.isEmpty { records.exchange(present) }
    }
}

extension StorageBackend {
    /// Reads the entries without a store, on a queue of its own: a storage may block, which no thread of the cooperative pool may.
    ///
    /// - Parameter layers: are read before.
    func loadEntries(after layers: LayerFiles = LayerFiles()) async throws(StorageError) -> StorageEntries {
        do {
            let executor = DispatchQueueExecutor(label: "ObservableStorage.loadEntries \(name)", isPreferred: true)
            return try await withTaskExecutorPreference(executor) {
                try layers.load()
                return try await load()
            }
        } catch {
            throw StorageError.reading(name, error)
        }
    }
}
