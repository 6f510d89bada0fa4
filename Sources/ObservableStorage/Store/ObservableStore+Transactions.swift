import PropertyListCoding

extension ObservableStore {
    /// Runs a transaction: reads what is stored, applies the closure to it and writes it, with no other process in between.
    ///
    /// What the closure changed is one revision, which has been delivered when this returns, unless a listener takes long. It runs once more, on
    /// what is stored then, if somebody else was faster; only the last run counts.
    ///
    /// - Returns: what the closure returns, when the changes are on disk.
    /// - Throws: what the closure throws, and nothing changes; ``StorageError`` when the file cannot be locked, read or written;
    ///   ``StorageError/nestedUpdate`` when called from inside a transaction of the same store.
    public nonisolated func update<Result: Sendable>(
        _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> Result {
        try await update(origin: .local, body)
    }

    /// Runs a transaction whose changes have an origin.
    nonisolated func update<Result: Sendable>(
        origin: ChangeOrigin, _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> Result {
        if TransactionContext.isOpen(of: self) { throw StorageError.nestedUpdate }
        let (result, deliveries) = try await transact(origin, body)
        // The store's queue tells nobody: what runs in listeners must not keep it.
        cache.deliver(deliveries)
        await deliveries.wait()
        return result
    }

    private func transact<Result: Sendable>(
        _ origin: ChangeOrigin, _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) throws -> (Result, Deliveries) {
        guard !cache.update({ $0.isClosed }) else { throw StorageError.closed }
        var isRefused = false
        do {
            return try commit(origin) { transaction in
                do {
                    isRefused = false
                    return try TransactionContext.during(self) { try body(&transaction) }
                } catch {
                    isRefused = true
                    throw error
                }
            }
        } catch  where !isRefused {
            throw StorageError.writing(backend.name, error).with(.rolledBack)
        }
    }

    /// Lays the pending edits over the latest entries, applies a transaction to them, and stores the outcome.
    ///
    /// A pending edit that the backend refuses is taken back, so that it keeps no other one from being stored.
    ///
    /// - Returns: what the transaction returns, and what observers are to be change.
    func commit<Result>(_ origin: ChangeOrigin, _ body: (inout StoreTransaction) throws -> Result) throws -> (Result, Deliveries) {
        while true {
            var attempt: Attempt = (cache.update { $0.entries.pending }, StorageEntries(), nil)
            do {
                return try commit(origin, &attempt, body)
            } catch let error as StorageError {
                guard takeBack(attempt, because: error) else { throw error }
            }
        }
    }

    /// The pending edits that a commit writes, the entries that it found, and the edits of the transaction, once that has run.
    private typealias Attempt = (own: [String: PendingEdit], found: StorageEntries, edits: EntryEdits?)

    private func commit<Result>(
        _ origin: ChangeOrigin, _ attempt: inout Attempt, _ body: (inout StoreTransaction) throws -> Result
    ) throws -> (Result, Deliveries) {
        let own = attempt.own
        let registered = cache.update { $0.registered }
        // The closure takes no part of the actor along, which would make the result the actor's.
        let (known, cache, reports, backend) = (base, self.cache, self.reports, self.backend)
        var outcome: (result: Result, external: EntryEdits, edits: EntryEdits)?
        isCommitting = true
        defer { isCommitting = false }
        let stored = try backend.edit { entries in
            let found = entries
            (attempt.found, attempt.edits) = (found, nil)
            let counting = own.filter { $0.value.counts { found[$0] } }
            for (key, edit) in counting { entries[key] = edit.value }
            var transaction = StoreTransaction(
                entries: entries.unedited, registered: registered, backend: backend, cache: cache, reports: reports)
            let result = try body(&transaction)
            let edits = try transaction.finish()
            for (key, value) in edits { entries[key] = value }
            var external = found.changes(since: known).filter { counting[$0.key] == nil }
            for key in own.keys where counting[key] == nil { external.updateValue(found[key], forKey: key) }
            attempt.edits = edits
            outcome = (result, external, edits)
        }
        guard let outcome else { throw StorageError.unwritable(file: backend.name, reason: "the backend did not run the edit") }
        flushBackoff.succeed()
        loadBackoff.succeed()
        availabilityState.noteOpened()
        base = stored
        // What is stored may differ from what was set: XML cuts dates to whole seconds.
        let rounded = own.reduce(into: EntryEdits()) { rounded, edit in
            let isOwn = outcome.external[edit.key] == nil && outcome.edits[edit.key] == nil
            if isOwn, stored[edit.key] != edit.value.value { rounded.updateValue(stored[edit.key], forKey: edit.key) }
        }
        let edits = outcome.edits.keys.reduce(into: EntryEdits()) { $0.updateValue(stored[$1], forKey: $1) }
        let change = cache.change { state in
            state.noteStored(own)
            return state.merge(outcome.external, origin: .external) + state.merge(rounded, origin: .local)
                + state.merge(edits, origin: origin)
        }
        noteAvailable()
        if change.needsFlush { scheduleFlush() }
        return (outcome.result, change.deliveries)
    }

    /// Puts what is stored in the place of an edit that cannot be, and of what was edited with it, and tells why; false if it is none of the
    /// pending ones.
    private func takeBack(_ attempt: Attempt, because error: StorageError) -> Bool {
        guard case .unencodable(let key, _) = error, let edits = attempt.edits, edits[key] == nil, let edit = attempt.own[key] else {
            return false
        }
        tell { $0.takeBack(attempt.own.filter { edit.takes(along: $0.value, of: key, $0.key) }, for: attempt.found) }
        refusal = refusal ?? error
        reports.report(error)
        return true
    }
}
