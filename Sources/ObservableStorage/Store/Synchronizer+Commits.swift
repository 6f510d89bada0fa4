import Dispatch

// Edits on their way to the backend.
extension Synchronizer {
    typealias Body = @Sendable (inout StoreTransaction) throws -> Void

    /// The error that the closure of a transaction has thrown, as opposed to one of the storage.
    private struct TransactionFailure: Error {
        let error: any Error
    }

    /// Stores the pending edits and those of a transaction, and delivers the changes to observers.
    ///
    /// - Throws: the error of the transaction; ``StorageError`` if nothing is stored; `CancellationError` likewise.
    func transact(_ origin: ChangeOrigin, _ body: Body) async throws {
        // On the actor: closing the store waits for operations that have begun before.
        try cache.update { (state) throws(StorageError) in try state.requireEditable() }
        let deliveries: Deliveries
        do {
            if cache.update({ $0.needsReading }) { try await read() }
            deliveries = try await storage.inTurn {
                try await commit(origin) { transaction in
                    do {
                        try body(&transaction)
                    } catch {
                        throw TransactionFailure(error: error)
                    }
                }
            }
        } catch let failure as TransactionFailure {
            throw failure.error
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError.writing(storage.name, error).with(.rolledBack)
        }
        if !deliveries.isEmpty { await cache.deliverConcurrently(deliveries) }
    }

    /// Writes the edits that are pending when it is called, in as many commits as the limits of the storage require.
    ///
    /// - Parameter isBehind: whether nobody waits until they are durable.
    func commitEdits(isBehind: Bool = false) async throws(StorageError) {
        do {
            if cache.update({ $0.needsReading }) { try await read() }
            let last = cache.update { $0.revision }
            while cache.update({ $0.entries.isPending(upTo: last) }) {
                let deliveries = try await storage.inTurn {
                    // Another commit may have written them meanwhile.
                    guard cache.update({ $0.entries.isPending(upTo: last) }) else { return Deliveries() }
                    return try await commit(isBehind: isBehind)
                }
                cache.deliver(deliveries)
            }
            if !isBehind { try await synchronizeJournal() }
        } catch {
            throw StorageError.writing(storage.name, error)
        }
    }

    /// Stores the edits that are pending when it is called, in the present turn.
    private func commitPending() async throws {
        let last = cache.update { $0.revision }
        while cache.update({ $0.entries.isPending(upTo: last) }) { cache.deliver(try await commit()) }
    }

    /// Makes one commit. A pending edit that the backend rejects is reverted, so that it does not prevent others from being stored. What it
    /// rejects as too large is divided before.
    ///
    /// - Parameter origin: the origin of a transaction's changes; nil without one.
    private func commit(
        _ origin: ChangeOrigin? = nil, isBehind: Bool = false, _ body: Body = { _ in }
    ) async throws -> Deliveries {
        if isSuspended { throw StorageError.suspended(file: storage.name) }
        let activity = storage.requestActivity()
        defer { activity?.finish() }
        // Pending edits may leave no room for a transaction. Those that are made meanwhile follow it.
        var isAlone = origin != nil && storage.limits.applyToCommits
        if isAlone { try await commitPending() }
        while true {
            let (pending, revision) = cache.update { $0.beginCommit(after: unknownEdits) }
            let edits = isAlone ? [:] : try storage.limits.batch(of: pending)
            let commit = PendingCommit(edits, upTo: revision, of: cache, after: unknownEdits, isBehind: isBehind)
            let lastRun = Lock<PendingCommit.Run?>(nil)
            let start = Debouncer.Instant.now
            do {
                let stored = try await store(commit, origin, body) { lastRun.exchange($0) }
                guard let run = lastRun.withLock({ $0 }), run.transaction != nil else {
                    throw StorageError.editNotRun(by: storage.backend)
                }
                storage.didStore(edits)
                schedule.didWrite(from: start, to: .now, share: storage.journaling?.writingShare ?? 1)
                return finish(commit, run, storedAs: stored, origin ?? .local)
            } catch let error as StorageError {
                let run = lastRun.withLock { $0 }
                if case .outcomeUnknown = error, let run, let identity = commit.options.identity {
                    unknownEdits.insert(run.effective, of: identity)
                }
                guard let run, let transaction = run.transaction else { throw error }
                if case .tooLarge(nil, _) = error, !edits.isEmpty {
                    if origin != nil {
                        try await commitPending()
                        isAlone = true
                        continue
                    }
                    if storage.divide(edits) { continue }
                }
                // An error of an entry that the transaction has edited as well is its own.
                let own = edits.filter { transaction[$0.key] == nil }
                guard let (rejected, reported) = pending.refused(own, because: error) else { throw error }
                // Differences that were reported meanwhile may be newer than what the commit has found.
                let stored = run.found.isOlder(than: base) ? base : run.found
                change { $0.takeBack(rejected, for: stored) }
                rejection = rejection ?? reported
                cache.reports.report(reported)
            }
        }
    }

    /// Runs a commit on the entries of the backend, with the edits of a transaction, and records each run.
    private func store(
        _ commit: PendingCommit, _ origin: ChangeOrigin?, _ body: Body, _ record: @Sendable (PendingCommit.Run) -> Void
    ) async throws -> StorageEntries {
        let layers = cache.update { $0.layers }
        let (cache, backend) = (self.cache, storage.backend)
        defer { storedTransaction.exchange(([:], .local)) }
        return try await storage.interruption.cover {
            try await self.storage.backend.commit(commit.options) { entries in
                var run = commit.begin(on: entries)
                // Also if one of its edits cannot be stored, or the transaction fails.
                defer { record(run) }
                do throws(StorageError) {
                    try run.apply(to: &entries)
                } catch {
                    // The error concerns a pending edit, and not the transaction.
                    run.transaction = [:]
                    throw error
                }
                guard let origin else { return run.transaction = [:] }
                var transaction = StoreTransaction(entries: entries.unedited, layers: layers, backend: backend, cache: cache)
                // Also if the transaction throws: its error may be due to values that have changed since.
                defer { entries.readKeys = transaction.namesRead.map { $0.union(entries.readKeys ?? []) } }
                try body(&transaction)
                let edits = try transaction.finish()
                try backend.limits.requireFitting(edits)
                let paths = transaction.editedPaths
                for (key, value) in edits { entries.set(value, for: key, at: paths[key] ?? []) }
                run.restoreRecords(in: &entries)
                (run.transaction, run.scopes, run.whenMade) = (edits, transaction.scopes, transaction.whenMade)
                storedTransaction.exchange((edits, origin))
            }
        }
    }

    /// Applies a stored commit to the entries in memory.
    private func finish(
        _ commit: PendingCommit, _ run: PendingCommit.Run, storedAs stored: StorageEntries, _ origin: ChangeOrigin
    ) -> Deliveries {
        unknownEdits.remove(commit.edits, of: commit.options.unknown)
        schedule.writes.succeed()
        schedule.reads.succeed()
        let effect = commit.effect(of: run, storedAs: stored, over: base)
        base = effect.latest
        let change = cache.change { state in
            state.open(effect.latest)
            state.markWritten(commit.edits, as: effect.own)
            return state.merge(effect.external, origin: .external) + state.merge(effect.rounded, origin: .local)
                + state.merge(effect.transaction, origin: origin) + state.removeDiscarded(effect.transaction.keys, in: run.scopes)
        }
        // Later edits in memory are not among the values that the transaction had.
        if !cache.update({ $0.entries.hasPending }) { run.whenMade() }
        recordAvailable()
        scheduleCheckpoint(isOwn: true)
        scheduleLogRemoval()
        releaseDecodedValues()
        if change.needsFlush { scheduleFlush() }
        releaseIfIdle()
        return change.deliveries
    }

    /// Releases values that a large list has, after it was written: they are decoded when they are read.
    nonisolated func releaseDecodedValues() {
        guard storage.journaling?.hasReleasableValues == true else { return }
        // After the callers that wait for the write.
        storage.executor.queue.async { [weak self] in
            self?.start { synchronizer in
                guard let encoded = synchronizer.storage.journaling?.encodedEntries(of: synchronizer.base) else { return }
                synchronizer.base = encoded
                let (stored, edited) = encoded.unmerged
                synchronizer.cache.take { $0.rebase(on: stored, except: edited) }
            }
        }
    }
}

extension StorageError {
    /// A backend has returned from an edit without running it.
    static func editNotRun(by backend: any StorageBackend) -> StorageError {
        .unwritable(file: backend.name, reason: "the backend did not run the edit")
    }
}
