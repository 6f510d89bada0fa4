import PropertyListCoding

extension ObservableStore {
    /// Edits several keys in memory, as one revision, without waiting for the disk.
    ///
    /// Observers and snapshots have all edits of the closure or none, and they are written together. The closure runs again if a value that
    /// it has read was changed meanwhile; only the last run takes effect. A value that cannot be stored is reported in ``failures``, and
    /// nothing changes; ``StoreTransaction/set(_:for:)`` throws the error instead. A closure that itself sets in the store what it reads ends
    /// like this, too (``StorageError/nestedEdit(key:)``). See ``update(_:)`` for values that depend on those of other processes.
    ///
    /// - Parameters:
    ///   - token: the writer's own subscription, which does not receive these changes.
    ///   - body: reads and sets keys.
    /// - Returns: the result of the closure.
    /// - Throws: the error of the closure, and nothing changes.
    @discardableResult
    public nonisolated func edit<Result, Failure: Error>(
        muting token: ObservationToken? = nil, _ body: (inout StoreTransaction) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var runs = 0
        while true {
            let isUnread = cache.update { !$0.entries.isOpened }
            let (found, layers, _) = cache.snapshot()
            var entries = StorageEntries(found.all)
            entries.isUnread = isUnread
            var transaction = StoreTransaction(entries: entries, layers: layers, backend: backend, cache: cache)
            let (result, changed) = try cache.recordingChanges(after: &runs) { () throws(Failure) in try transaction.run(body) }
            do throws(StorageError) {
                let (edits, paths) = (try transaction.finish(), transaction.editedPaths)
                let isDone = try synchronizer.change(muting: token, whenMade: transaction.whenMade) { (state) throws(StorageError) in
                    // Unless an entry that it has read was changed since, or a scope was discarded.
                    guard state.isCurrent(transaction.namesRead, in: found),
                        !transaction.scopes.contains(where: state.discardedScopes.contains)
                    else { return nil }
                    return try state.edit(edits, at: paths)
                }
                if isDone { return result }
                if let key = changed.filter({ transaction.namesRead?.contains($0) ?? true }).min() { throw .nestedEdit(key: key) }
            } catch {
                reports.report(error)
                return result
            }
        }
    }

    /// Runs a transaction: reads the stored entries, applies the closure to them and writes them, with no edit of another process in
    /// between.
    ///
    /// The changes of the closure are one revision, which has been delivered when this method returns, unless a listener is slow. The
    /// closure runs again, on the latest entries, if another writer changed them meanwhile, or if the storage refuses it as too large together
    /// with edits that wait, which are then stored first; only the last run takes effect. It reads stored values also where overrides hide
    /// them, which are not stored by `+=` for this reason.
    ///
    /// - Returns: the result of the closure, after the changes are on disk.
    /// - Throws: the error of the closure, and nothing changes; ``StorageError`` if the file cannot be locked, read or written, or its edits are
    ///   too large; ``StorageError/nestedUpdate`` if called inside a transaction of the same store; `CancellationError` if the task is
    ///   cancelled while a storage that is no file waits, and nothing changes.
    public nonisolated(nonsending) func update<Result: Sendable>(
        _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await update(origin: .local, body)
    }

    /// Runs a transaction whose changes have an origin.
    nonisolated(nonsending) func update<Result: Sendable>(
        origin: ChangeOrigin, _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> Result {
        if TransactionContext.isOpen(of: self) { throw StorageError.nestedUpdate }
        try requireOriginalProcess()
        let result = Lock<Result?>(nil)
        try await synchronizer.transact(origin) { transaction in
            result.exchange(try TransactionContext.during(self) { try Interruption.withoutAny { try transaction.run(body) } })
        }
        guard let result = result.withLock({ $0 }) else { throw StorageError.editNotRun(by: backend) }
        return result
    }

    /// Stores an entry that is visible to all processes while this one runs, and is removed when it ends.
    ///
    /// ```swift
    /// let presence = try await store.presence("workers/7", hostName)
    /// ```
    ///
    /// Every store on the storage reads and observes it like other entries; this store, too, receives it as a change by another process. A
    /// process that was suspended, or could not reach the storage, for longer than the time to live stores its entry again afterwards. If
    /// another process has stored an entry of that name meanwhile, that one is kept, and an error is reported in ``failures``. For storages on
    /// etcd (`EtcdBackend`), and for tests (``InMemoryBackend``).
    ///
    /// - Parameters:
    ///   - name: the name of the entry, which replaces a stored one, such as that of a previous process.
    ///   - value: the value of the entry.
    ///   - timeToLive: how long the entry may outlive the process, or its connection: 10 seconds by default. A storage may round it up.
    /// - Returns: the presence, after the entry is stored. The entry is removed when it ends or is released.
    /// - Throws: ``StorageError/unwritable(file:reason:edits:)`` if the storage cannot be written, or does not remove entries by itself, which a
    ///   file does not; ``StorageError/outcomeUnknown(storage:reason:edits:)`` if the entry may be stored, until its time to live has passed;
    ///   ``StorageError/mandatory(key:)``; ``StorageError/unencodable(key:reason:underlying:)``; ``StorageError/tooLarge(key:reason:)``;
    ///   ``StorageError/closed``.
    public nonisolated(nonsending) func presence(
        _ name: String, _ value: some Storable, timeToLive: Duration = .seconds(10)
    ) async throws -> Presence {
        try requireOriginalProcess()
        let key = StorageKey(name, default: value)
        try cache.update { (state) throws(StorageError) in
            try state.requireEditable()
            try state.requireSettable(key.definition)
        }
        guard let stored = try key.stored(value, in: backend) else {
            throw StorageError.unencodable(key: name, reason: "nil is no value of a presence")
        }
        do {
            let storage = backend as? any CommittingBackend
            if let presence = try await storage?.presence(name, stored, timeToLive: timeToLive) { return presence }
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError.writing(backend.name, error).with(.rolledBack)
        }
        throw StorageError.unwritable(file: backend.name, reason: "the storage does not remove entries when a process ends")
    }
}

extension ObservableStore {
    /// Changes a key's value atomically with respect to other threads; see ``StoredValue/modify(_:)``.
    nonisolated func modify<Value, Result>(_ key: StorageKey<Value>, _ body: (inout Value) throws -> Result) throws -> Result {
        let name = key.definition.entryName
        var (runs, checks) = (0, 0)
        while true {
            let (found, failure, _, entry) = readStoredValue(of: key)
            if let failure { throw failure }
            var value = found
            let (result, changed) = try cache.recordingChanges(after: &runs, of: name) { try body(&value) }
            if try edit(key, storing: try key.stored(value, in: backend), over: entry, after: &checks) { return result }
            if !changed.isDisjoint(with: name.all) { throw StorageError.nestedEdit(key: key.name) }
        }
    }

    /// Sets or removes a key's value. What is set, also to nil, has to be valid by the rules of the groups that have the key.
    ///
    /// - Parameters:
    ///   - isRemoval: whether the value is removed, without a check.
    ///   - entry: the values of the key on which the edit depends; nil if it depends on none.
    ///   - checks: the number of earlier checks by the rule for the same edit, to which this one is added.
    /// - Returns: false if a value on which the edit or its check depends was changed meanwhile; nothing is edited then.
    nonisolated func edit<Value>(
        _ key: StorageKey<Value>, storing stored: PropertyListValue?, isRemoval: Bool = false, over entry: StoredEntry? = nil,
        after checks: inout Int, muting token: ObservationToken? = nil
    ) throws(StorageError) -> Bool {
        func change(over found: EntryValues? = nil, whenMade: () -> Void = {}) throws(StorageError) -> Bool {
            try synchronizer.change(muting: token, whenMade: whenMade) { (state) throws(StorageError) in
                var present = entry == nil ? nil : state.entry(key.definition.entryName)
                present?.override = nil
                guard present == entry, found.map({ state.isCurrent(names, in: $0) }) ?? true else { return nil }
                return try state.edit(key, storing: stored)
            }
        }
        let rules = isRemoval ? [] : key.definition.traits.rules.filter { $0.cache == cache.id }
        let names = rules.reduce(into: Set<String>()) { $0.formUnion($1.entryNames) }
        if rules.isEmpty { return try change() }
        let (found, layers, _) = cache.snapshot()
        let (recordings, changed) = try cache.recordingChanges(after: &checks) { () throws(StorageError) in
            let values = found.applying(try key.edits(storing: stored) { found[$0] })
            return try rules.map { (rule) throws(StorageError) in try rule.check(values, layers) }
        }
        if try change(over: found, whenMade: { for record in recordings { record() } }) { return true }
        if let name = changed.filter(names.contains).min() { throw .nestedEdit(key: name) }
        return false
    }

    /// Stores a key's value under its present name and in its present type, as setting the key does, with the origin
    /// ``ChangeOrigin/migration``; does nothing if it is, or if none is stored.
    ///
    /// Reading does not require this. Afterwards, earlier versions of the program do not find the value any more. A value that another
    /// process stores meanwhile is not overwritten. One inside a dictionary is not migrated while an edit of the dictionary is not written.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if what is stored can neither be read nor converted, and is
    ///   kept; other errors as ``set(_:for:muting:)``.
    public nonisolated func migrateValue<Value>(of key: StorageKey<Value>) throws(StorageError) {
        let name = key.definition.entryName
        try edit(derivedFrom: key, origin: .migration) { (stored, entry) throws(StorageError) in
            let location = name.location(stored)
            let isOwn = location.own == name.own
            guard let found = location.leaf(stored(location.own)) else { return nil }
            if key.isPresentShape(found, in: isOwn ? entry : nil) {
                return isOwn ? nil : try key.edits(storing: found, over: stored)
            }
            // Nil, to which an earlier type may be converted, is read from what is stored.
            guard let present = try key.stored(try key.decoded(found)) else { return try key.edits(storing: found, over: stored) }
            return try key.edits(storing: try backend.accepted(present, for: key.name), over: stored)
        }
    }

    nonisolated func storeDefaultIfNeeded<Value>(of key: StorageKey<Value>) {
        guard key.definition.storesDefault else { return }
        if let fallback = key.fallback { storeDefaultIfNeeded(of: fallback) }
        guard cache.update({ $0.entries.isOpened && $0.layers.allowDefault(of: key.definition.entryName) }) else { return }
        do throws(StorageError) {
            try edit(derivedFrom: key, origin: .local) { (stored, entry) throws(StorageError) in
                guard let value = key.defaultToStore(in: entry, stored) else { return nil }
                return cache.storable(try key.edits(storing: value, over: stored), in: backend)
            }
        } catch {
            // The store is closed, or a value on the path is not a dictionary. Reading returns the default nevertheless.
        }
    }

    /// Makes edits that depend on the stored values of a key; they are discarded if another process changes these before they are written.
    ///
    /// - Parameter makeEdits: receives the value of each name, and the key's own entry, if that may cache it; returns nil for no edits.
    private nonisolated func edit<Value>(
        derivedFrom key: StorageKey<Value>, origin: ChangeOrigin,
        _ makeEdits: ((String) -> PropertyListValue?, EntryVersion?) throws(StorageError) -> EntryEdits?
    ) throws(StorageError) {
        let name = key.definition.entryName
        while true {
            let (stored, entry, isEdited) = cache.update { state -> (EntryEdits, EntryVersion?, Bool) in
                let entry = state.entries.ensureEntry(name.own)
                let names = [name.own] + name.earlier
                let stored = names.reduce(into: EntryEdits()) { $0.updateValue(state.entries[$1], forKey: $1) }
                // An edit of other values in the dictionary, which has no condition, would become a part of this one.
                let isEdited = key.editedPaths.keys.contains { state.entries.pending($0)?.condition.isEmpty == true }
                return (stored, state.layers.hidesStored(name) ? nil : (entry, entry.version), isEdited)
            }
            guard !isEdited, let edits = try makeEdits({ stored[$0] ?? nil }, entry) else { return }
            let isDone = try DeliveryThread.current.reading { () throws(StorageError) in
                try synchronizer.change { (state) throws(StorageError) in
                    guard state.isCurrent(stored) else { return nil }
                    return try state.edit(edits, of: name.own, origin: origin, condition: stored, at: key.editedPaths)
                }
            }
            if isDone { return }
        }
    }
}

extension EntryCache {
    /// The edits that reading makes, with the values as they will be stored; nil if one cannot be stored, which is reported once.
    func storable(_ edits: EntryEdits, in backend: any StorageBackend) -> EntryEdits? {
        var storable = edits
        for case (let name, let value?) in storable {
            do throws(StorageError) {
                if update({ $0.refusedMigrations[name] == value }) { return nil }
                storable[name] = .some(try backend.accepted(value, for: name))
            } catch {
                if take({ $0.refusedMigrations.remember(value, for: name) }) != value { reports.report(error) }
                return nil
            }
        }
        return storable
    }
}
