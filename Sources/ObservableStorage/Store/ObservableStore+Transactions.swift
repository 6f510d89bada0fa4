import PropertyListCoding

extension ObservableStore {
    /// Runs a transaction: reads the stored entries, applies the closure to them and writes them, with no edit of another process in
    /// between.
    ///
    /// The changes of the closure are one revision, which has been delivered when this method returns, unless a listener is slow. The
    /// closure runs again, on the latest entries, if another writer changed them meanwhile; only the last run takes effect.
    ///
    /// - Returns: the result of the closure, after the changes are on disk.
    /// - Throws: the error of the closure, and nothing changes; ``StorageError`` if the file cannot be locked, read or written;
    ///   ``StorageError/nestedUpdate`` if called inside a transaction of the same store.
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
        // Not delivered on the store's queue, which listeners must not block.
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

    /// Applies the pending edits and a transaction to the latest entries, and stores the result.
    ///
    /// A pending edit that the backend rejects is reverted, so that it does not prevent others from being stored.
    ///
    /// - Returns: the result of the transaction, and the deliveries for observers.
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

    /// The pending edits that a commit writes, the entries that it read, and the edits of the transaction, nil until it has run.
    private typealias Attempt = (own: [String: PendingEdit], found: StorageEntries, edits: EntryEdits?)

    private func commit<Result>(
        _ origin: ChangeOrigin, _ attempt: inout Attempt, _ body: (inout StoreTransaction) throws -> Result
    ) throws -> (Result, Deliveries) {
        let own = attempt.own
        let registered = cache.update { $0.registered }
        // The closure captures no state of the actor, which would isolate its result to the actor.
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
        // A stored value may differ from the value set: XML truncates dates to whole seconds.
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

    /// Reverts a pending edit that cannot be stored, and the edits made with it, to the stored values, and reports the error; returns false
    /// if the error does not concern a pending edit.
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
