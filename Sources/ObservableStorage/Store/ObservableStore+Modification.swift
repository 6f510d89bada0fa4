import PropertyListCoding

extension ObservableStore {
    /// Changes a key's value in one step, whatever other threads do; see ``update(_:)`` for other processes.
    ///
    /// The closure runs again if another thread was faster, on its value; only the last run counts.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws, and nothing changes; ``StorageError`` when the value cannot be stored, or what is stored is not a
    ///   value of the key's type, which is kept then.
    @discardableResult
    public nonisolated func modify<Value, Result>(
        _ key: StorageKey<Value>, _ body: (inout Value) throws -> Result
    ) throws -> Result {
        while true {
            let (found, failure, _, entry) = readValue(of: key)
            if let failure { throw failure }
            var value = found
            let result = try body(&value)
            let stored = try storable(value, for: key)
            let isDone = try edit(of: key.name, origin: .local) { state in
                guard state.entry(key.definition.entryName) == entry else { return nil }
                return key.edits(storing: stored) { state.entries[$0] }
            }
            if isDone { return result }
        }
    }

    /// Moves an entry to its present name and shape, or writes the default, as the key asks for.
    nonisolated func migrateIfNeeded<Value>(_ key: StorageKey<Value>) {
        // Of a storage that could not be opened nobody knows what is stored there.
        guard key.definition.needsMigration, availabilityState.isOpened else { return }
        if let fallback = key.fallback { migrateIfNeeded(fallback) }
        do {
            while true {
                let names = key.migrationNames
                let (stored, entry, version) = memory.update { state in
                    let entry = state.madeEntry(key.name)
                    return (names.reduce(into: [String: PropertyListValue]()) { $0[$1] = state.entries[$1] }, entry, entry.version)
                }
                let migration = key.migration(of: stored, in: entry, at: version)?.storable(in: backend, memory, reports)
                guard let migration else { return }
                let expected = names.reduce(into: EntryEdits()) { $0.updateValue(stored[$1], forKey: $1) }
                let isDone = try edit(of: key.name, origin: migration.origin, condition: expected) { state in
                    state.isCurrent(expected) ? migration.edits : nil
                }
                if isDone { return }
            }
        } catch {
            // A closed store keeps what it has; reading gives the value all the same.
        }
    }

    /// Makes edits that depend on what is there; does nothing and returns false where there are none to be made of it.
    private nonisolated func edit(
        of principal: String, origin: ChangeOrigin, condition: EntryEdits = [:], _ makeEdits: (MemoryState) -> EntryEdits?
    ) throws(StorageError) -> Bool {
        var isDone = false
        try tell { (state) throws(StorageError) in
            guard let edits = makeEdits(state) else { return [] }
            isDone = true
            return try state.edit(edits, of: principal, origin: origin, condition: condition)
        }
        return isDone
    }
}

extension MigrationOnRead {
    /// The same with what will be read once it is stored; nil if that cannot be, which is reported once.
    func storable(in backend: any StorageBackend, _ memory: Memory, _ reports: FailureReports) -> MigrationOnRead? {
        var storable = edits
        for case (let name, let value?) in edits {
            do throws(StorageError) {
                if memory.update({ $0.isRefused(value, of: name) }) { return nil }
                storable[name] = .some(try backend.storable(value, for: name))
            } catch {
                if memory.update({ $0.noteRefused(value, of: name) }) { reports.report(error) }
                return nil
            }
        }
        return MigrationOnRead(edits: storable, origin: origin)
    }
}
