import PropertyListCoding

extension ObservableStore {
    /// Changes a key's value atomically with respect to other threads; see ``StoredValue/modify(_:)``.
    nonisolated func modify<Value, Result>(_ key: StorageKey<Value>, _ body: (inout Value) throws -> Result) throws -> Result {
        while true {
            let (found, failure, _, entry) = readValue(of: key)
            if let failure { throw failure }
            var value = found
            let result = try body(&value)
            let stored = try key.stored(value) { stored throws(StorageError) in try backend.accepted(stored, for: key.name) }
            if key.definition.hasGroupRule, let stored { try key.definition.traits.validateGroup?(stored) }
            let isDone = try edit(of: key.definition.entryName.own, origin: .local, at: key.editedPaths) { (state) throws(StorageError) in
                guard state.entry(key.definition.entryName) == entry else { return nil }
                if stored != nil { try state.requireSettable(key.definition) }
                return try key.edits(storing: stored) { state.entries[$0] }
            }
            if isDone { return result }
        }
    }

    /// Stores a key's value under its present name and in its present type, as setting the key does, with the origin
    /// ``ChangeOrigin/migration``; does nothing if it is, or if none is stored.
    ///
    /// Not needed for reading: it ends that an earlier version of the program finds the value. It does not overwrite what another process
    /// stores meanwhile.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if what is stored can neither be read nor converted, and is
    ///   kept; other errors as ``set(_:for:muting:)``.
    public nonisolated func migrateValue<Value>(of key: StorageKey<Value>) throws(StorageError) {
        let name = key.definition.entryName
        try edit(madeFrom: key, origin: .migration) { (stored, entry, version) throws(StorageError) in
            let location = name.location(stored)
            let isOwn = location.own == name.own
            guard let found = location.leaf(stored(location.own)) else { return nil }
            if key.isPresentShape(found, in: isOwn ? entry : nil, at: version) {
                return isOwn ? nil : try key.edits(storing: found, over: stored)
            }
            let present = try key.stored(try key.decoded(found)) { value throws(StorageError) in
                try backend.accepted(value, for: key.name)
            }
            return try key.edits(storing: present ?? found, over: stored)
        }
    }

    /// Stores the default of a key, if the key demands that of reading.
    nonisolated func storeDefaultIfNeeded<Value>(of key: StorageKey<Value>) {
        // If the storage could not be opened, the stored values are unknown.
        guard key.definition.storesDefault, availabilityState.isOpened else { return }
        if let fallback = key.fallback { storeDefaultIfNeeded(of: fallback) }
        do throws(StorageError) {
            try edit(madeFrom: key, origin: .local) { stored, entry, version in
                cache.storable(key.editsOfDefault(in: entry, at: version, stored), in: backend, reports)
            }
        } catch {
            // A closed store is left unchanged; reading returns the value nevertheless.
        }
    }

    /// Makes edits from the stored values of a key, unless another process changes them before the edits are written.
    ///
    /// - Parameter makeEdits: returns the edits, given the value of a name, and the key's own entry and its version; nil for none.
    private nonisolated func edit<Value>(
        madeFrom key: StorageKey<Value>, origin: ChangeOrigin,
        _ makeEdits: ((String) -> PropertyListValue?, Entry, UInt64) throws(StorageError) -> EntryEdits?
    ) throws(StorageError) {
        let name = key.definition.entryName
        while true {
            let (stored, entry, version) = cache.update { state in
                let entry = state.entries.ensureEntry(name.own)
                let names = [name.own] + name.earlier
                return (names.reduce(into: EntryEdits()) { $0.updateValue(state.entries[$1], forKey: $1) }, entry, entry.version)
            }
            guard let edits = try makeEdits({ stored[$0] ?? nil }, entry, version) else { return }
            let isDone = try DeliveryThread.current.reading { () throws(StorageError) in
                try edit(of: name.own, origin: origin, condition: stored) { state in state.isCurrent(stored) ? edits : nil }
            }
            if isDone { return }
        }
    }

    /// Makes edits that depend on the present entries; does nothing and returns false if `makeEdits` returns nil.
    private nonisolated func edit(
        of principal: String, origin: ChangeOrigin, condition: EntryEdits = [:], at paths: EditedPaths = [:],
        _ makeEdits: (EntryCacheState) throws(StorageError) -> EntryEdits?
    ) throws(StorageError) -> Bool {
        var isDone = false
        try tell { (state) throws(StorageError) in
            guard let edits = try makeEdits(state) else { return [] }
            isDone = true
            return try state.edit(edits, of: principal, origin: origin, condition: condition, at: paths)
        }
        return isDone
    }
}

extension EntryCache {
    /// The edits that reading has to make, with the values as stored; nil if one cannot be stored, which is reported once.
    func storable(_ edits: EntryEdits?, in backend: any StorageBackend, _ reports: FailureReports) -> EntryEdits? {
        guard var storable = edits else { return nil }
        for case (let name, let value?) in storable {
            do throws(StorageError) {
                if update({ $0.isRefused(value, of: name) }) { return nil }
                storable[name] = .some(try backend.accepted(value, for: name))
            } catch {
                if update({ $0.recordRefusal(value, of: name) }) { reports.report(error) }
                return nil
            }
        }
        return storable
    }
}

/// A numbered step that migrates a whole store from an earlier layout to a newer one, once.
public struct StoreMigration: Sendable {
    /// The version of the schema after the step.
    let schemaVersion: Int
    let body: @Sendable (inout StoreTransaction) throws -> Void

    /// Creates a step.
    ///
    /// - Parameters:
    ///   - schemaVersion: the ``ObservableStore/schemaVersion`` after it; the first is 1.
    ///   - body: edits the entries; if it throws, nothing changes.
    public init(to schemaVersion: Int, _ body: @escaping @Sendable (inout StoreTransaction) throws -> Void) {
        self.schemaVersion = schemaVersion
        self.body = body
    }
}

extension ObservableStore {
    private static let schemaVersionKey = StorageKey("ObservableStorage.version", default: 0)
    private static let importsKey = StorageKey<[String]>("ObservableStorage.imports", default: [])

    /// The number of the last migration applied to the stored entries; 0 before the first.
    public nonisolated var schemaVersion: Int {
        self[Self.schemaVersionKey]
    }

    /// Runs the migrations that were not applied to the stored entries yet, in the order of their numbers, as one transaction.
    ///
    /// They take effect once across all processes, and either all of them do or none does; they run again if another process changed the
    /// file meanwhile. Their changes have the origin ``ChangeOrigin/migration``.
    ///
    /// - Throws: the error of a migration, and nothing changes; ``StorageError`` as ``update(_:)`` does, and
    ///   ``StorageError/unreadable(file:reason:edits:)`` if a later version of the program has migrated the entries to a number that is not
    ///   among these: they may mean something else.
    public nonisolated func migrate(_ migrations: [StoreMigration]) async throws {
        guard let last = migrations.map(\.schemaVersion).max(), schemaVersion != last else { return }
        try await update(origin: .migration) { [name] transaction in
            let done = try transaction.value(for: Self.schemaVersionKey)
            guard done <= last else {
                let remedy = "open it with a version of the program that does, or restore what was stored before"
                throw StorageError.unreadable(
                    file: name, reason: "it was migrated to version \(done), and this program knows versions up to \(last); \(remedy)")
            }
            for migration in migrations.sorted(by: { $0.schemaVersion < $1.schemaVersion }) where migration.schemaVersion > done {
                try migration.body(&transaction)
                transaction[Self.schemaVersionKey] = migration.schemaVersion
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
    /// - Throws: ``StorageError`` if the other storage cannot be read or this one cannot be written.
    public nonisolated func importEntries(
        from backend: any StorageBackend, once name: String, naming transform: @Sendable (String) -> String? = { $0 }
    ) async throws {
        guard !self[Self.importsKey].contains(name) else { return }
        let entries = try await StorageReader(backend).load()
        let imported = entries.values.sorted { $0.key < $1.key }.compactMap { old, value in
            transform(old).map { (name: $0, value: value) }
        }
        // Not noted: each new scene may import, and the list of imports would grow with all of them.
        guard !imported.isEmpty else { return }
        try await update(origin: .migration) { transaction in
            guard !transaction[Self.importsKey].contains(name) else { return }
            for (key, value) in imported where transaction.entries[key] == nil {
                try transaction.set(value, for: StorageKey<PropertyListValue?>(key))
            }
            transaction[Self.importsKey].append(name)
        }
    }
}
