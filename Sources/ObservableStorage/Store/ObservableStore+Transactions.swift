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
        let result = Lock<Result?>(nil)
        let deliveries = try await transact(origin) { transaction in
            let value = try TransactionContext.during(self) { try Interruption.withoutAny { try body(&transaction) } }
            result.exchange(value)
        }
        // Not delivered on the store's queue, which listeners must not block.
        cache.deliver(deliveries)
        await deliveries.wait()
        guard let result = result.withLock({ $0 }) else { throw Self.notRun(by: backend) }
        return result
    }

    private static func notRun(by backend: any StorageBackend) -> StorageError {
        .unwritable(file: backend.name, reason: "the backend did not run the edit")
    }

    private func transact(_ origin: ChangeOrigin, _ body: Body) async throws -> Deliveries {
        // On the actor: closing the store waits for what has got its turn before.
        if let refusal = cache.update({ $0.refusal }) { throw refusal }
        do {
            return try await commit(origin) { transaction in
                do {
                    try body(&transaction)
                } catch {
                    throw TransactionFailure(error: error)
                }
            }
        } catch let failure as TransactionFailure {
            throw failure.error
        } catch {
            throw StorageError.writing(backend.name, error).with(.rolledBack)
        }
    }

    /// The error that a user's transaction has thrown, as opposed to one of the storage.
    private struct TransactionFailure: Error {
        let error: any Error
    }

    typealias Body = @Sendable (inout StoreTransaction) throws -> Void

    /// Applies the pending edits and a transaction to the latest entries, and stores the result.
    ///
    /// A pending edit that the backend rejects is reverted, so that it does not prevent others from being stored.
    ///
    /// - Returns: the deliveries for observers.
    func commit(_ origin: ChangeOrigin, _ body: Body) async throws -> Deliveries {
        try await inTurn {
            guard backend.limits.applyToCommits else { return try await commitNow(origin, body) }
            // The edits made before leave no room for the transaction. Those that are made meanwhile follow it.
            let last = cache.update { $0.revision }
            while cache.update({ $0.entries.isPending(upTo: last) }) { cache.deliver(try await commitNow()) }
            return try await commitNow(origin, includingEdits: false, body)
        }
    }

    /// Writes the edits that are pending when it is called, in as many commits as the limits of the storage require.
    ///
    /// - Parameter isBehind: whether nobody waits until they are durable.
    func commitEdits(isBehind: Bool = false) async throws(StorageError) {
        let last = cache.update { $0.revision }
        do {
            while cache.update({ $0.entries.isPending(upTo: last) }) {
                let deliveries = try await inTurn {
                    // Another commit may have written them meanwhile.
                    guard cache.update({ $0.entries.isPending(upTo: last) }) else { return Deliveries() }
                    return try await commitNow(isBehind: isBehind)
                }
                cache.deliver(deliveries)
            }
            if !isBehind { try await makeDurable() }
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }

    /// - Parameter origin: the origin of a transaction's changes; nil without one.
    private func commitNow(
        _ origin: ChangeOrigin? = nil, includingEdits: Bool = true, isBehind: Bool = false, _ body: Body = { _ in }
    ) async throws -> Deliveries {
        if isSuspended { throw StorageError.suspended(file: backend.name) }
        let assertion = activity.map { FlushAssertion($0, of: backend.name, interruption) }
        defer { assertion?.finish() }
        while true {
            let (pending, revision) = cache.update { $0.beginCommit() }
            let edits = includingEdits ? try backend.limits.batch(of: pending) : [:]
            let commit = PendingCommit(edits, upTo: revision, of: cache, after: unknownEdits, isBehind: isBehind)
            let lastRun = Lock<PendingCommit.Run?>(nil)
            do {
                let stored = try await store(commit, origin, body) { lastRun.exchange($0) }
                guard let run = lastRun.withLock({ $0 }), run.transaction != nil else { throw Self.notRun(by: backend) }
                return finish(commit, run, storedAs: stored, origin ?? .local)
            } catch let error as StorageError {
                let run = lastRun.withLock { $0 }
                if case .outcomeUnknown = error, let run, let identity = commit.options.identity {
                    unknownEdits.insert(run.effective, of: identity)
                }
                guard let run, takeBack(commit, run, because: error) else { throw error }
            }
        }
    }

    /// Stores a commit, with the edits of a transaction.
    ///
    /// - Parameter note: called with what each run has found and made.
    private func store(
        _ commit: PendingCommit, _ origin: ChangeOrigin?, _ body: Body, _ note: @Sendable (PendingCommit.Run) -> Void
    ) async throws -> StorageEntries {
        let layers = cache.update { $0.layers }
        let (cache, reports, backend) = (self.cache, self.reports, self.backend)
        defer { storedTransaction.exchange(([:], .local)) }
        return try await interruption.cover {
            try await backend.commit(commit.options) { entries in
                var run = commit.begin(on: entries)
                // Also if one of its edits cannot be stored, or the transaction fails.
                defer { note(run) }
                do throws(StorageError) {
                    try run.apply(to: &entries)
                } catch {
                    // The error concerns a pending edit, and not the transaction.
                    run.transaction = [:]
                    throw error
                }
                guard let origin else { return run.transaction = [:] }
                var transaction = StoreTransaction(
                    entries: entries.unedited, layers: layers, backend: backend, cache: cache, reports: reports)
                // Also for an error, which may be due to what is no longer so.
                defer { entries.readKeys = transaction.namesRead.map { $0.union(run.effective.namesRead(in: entries)) } }
                try body(&transaction)
                let edits = try transaction.finish()
                try backend.limits.requireFitting(edits)
                let paths = transaction.editedPaths
                for (key, value) in edits { entries.set(value, for: key, at: paths[key] ?? []) }
                (run.transaction, run.scopes) = (edits, transaction.scopes)
                storedTransaction.exchange((edits, origin))
            }
        }
    }

    /// Takes over what a commit has stored.
    private func finish(
        _ commit: PendingCommit, _ run: PendingCommit.Run, storedAs stored: StorageEntries, _ origin: ChangeOrigin
    ) -> Deliveries {
        unknownEdits.remove(commit.edits, of: commit.options.unknown)
        flushBackoff.succeed()
        loadBackoff.succeed()
        let effect = commit.effect(of: run, storedAs: stored, over: base)
        base = effect.latest
        let change = cache.change { state in
            // Under the lock, as in `adopt(_:)`.
            availabilityState.noteOpened()
            state.storageRevision = effect.latest.revision
            state.markWritten(commit.edits, as: effect.own)
            return state.merge(effect.external, origin: .external) + state.merge(effect.rounded, origin: .local)
                + state.merge(effect.transaction, origin: origin) + state.removeDiscarded(effect.transaction.keys, in: run.scopes)
        }
        noteAvailable()
        noteCheckpointNeeded(isOwn: true)
        if change.needsFlush { scheduleFlush() }
        return change.deliveries
    }

    /// Reverts a pending edit that cannot be stored, and the edits made with it, to the stored values, and reports the error; returns false
    /// if the error does not concern a pending edit.
    private func takeBack(_ commit: PendingCommit, _ run: PendingCommit.Run, because error: StorageError) -> Bool {
        guard case .unencodable(let key, _, _) = error, let transaction = run.transaction, transaction[key] == nil,
            let rejected = commit.edits.group(of: key)
        else { return false }
        // Differences that were reported meanwhile may be newer than what the commit has found.
        let stored = run.found.isOlder(than: base) ? base : run.found
        tell { $0.takeBack(rejected, for: stored) }
        refusal = refusal ?? error
        reports.report(error)
        return true
    }
}
