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
    ) async throws -> (Result, Deliveries) {
        if let refusal = cache.update({ $0.refusal }) { throw refusal }
        do {
            return try await commit(origin) { transaction in
                do {
                    return try TransactionContext.during(self) { try Interruption.withoutAny { try body(&transaction) } }
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

    /// Applies the pending edits and a transaction to the latest entries, and stores the result.
    ///
    /// A pending edit that the backend rejects is reverted, so that it does not prevent others from being stored.
    ///
    /// - Returns: the result of the transaction, and the deliveries for observers.
    func commit<Result: Sendable>(
        _ origin: ChangeOrigin, _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> (Result, Deliveries) {
        try await inTurn {
            guard backend.limits.areOfCommits else { return try await commitNow(origin, body) }
            // The edits made before leave no room for the transaction. Those that are made meanwhile follow it.
            let last = cache.update { $0.revision }
            while cache.update({ $0.entries.isPending(upTo: last) }) { cache.deliver(try await commitNow(.local) { _ in }.1) }
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
                    return try await commitNow(.local, isBehind: isBehind) { _ in }.1
                }
                cache.deliver(deliveries)
            }
            if !isBehind { try await makeDurable() }
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }

    private func commitNow<Result: Sendable>(
        _ origin: ChangeOrigin, includingEdits: Bool = true, isBehind: Bool = false,
        _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> (Result, Deliveries) {
        if isSuspended { throw StorageError.suspended(file: backend.name) }
        let assertion = activity.map { FlushAssertion($0, of: backend.name, interruption) }
        defer { assertion?.finish() }
        while true {
            let (pending, revision) = cache.update { $0.beginCommit() }
            let edits = includingEdits ? try backend.limits.batch(of: pending) : [:]
            let attempt = CommitAttempt<Result>(edits, upTo: revision, isBehind: isBehind)
            do {
                return try await commit(attempt, origin, body)
            } catch let error as StorageError {
                if case .outcomeUnknown = error { unknownEdits.noteUnknown(attempt.sent, of: attempt.identity) }
                guard takeBack(attempt.own, attempt.outcome.withLock { $0 }, because: error) else { throw error }
            }
        }
    }

    private func commit<Result: Sendable>(
        _ attempt: CommitAttempt<Result>, _ origin: ChangeOrigin, _ body: @Sendable (inout StoreTransaction) throws -> Result
    ) async throws -> (Result, Deliveries) {
        let own = attempt.own
        let release = own.isEmpty ? nil : cache.releasesLog(upTo: attempt.revision)
        let layers = cache.update { $0.layers }
        let (cache, reports, backend) = (self.cache, self.reports, self.backend)
        let unknownEdits = unknownEdits
        defer { noteStoring([:], .local) }
        let stored = try await interruption.cover {
            try await backend.edit { entries in
                var outcome = CommitOutcome<Result>(found: entries)
                (entries.whenStored, entries.areWrittenBehind) = (release, attempt.isBehind)
                let remaining = unknownEdits.remaining(own, of: attempt.identity, in: &entries)
                attempt.note(outcome)
                outcome.namesStored = Set(own.keys).subtracting(remaining.keys)
                outcome.counting = remaining.filter { $0.value.counts { outcome.found[$0] } }
                do throws(StorageError) {
                    for (key, edit) in outcome.counting {
                        entries.set(try edit.value(of: key, over: outcome.found[key]), for: key, at: edit.paths)
                    }
                } catch {
                    // The error concerns a pending edit, and not the transaction.
                    outcome.edits = [:]
                    attempt.note(outcome)
                    throw error
                }
                var transaction = StoreTransaction(
                    entries: entries.unedited, layers: layers, backend: backend, cache: cache, reports: reports)
                // Also for an error, which may be due to what is no longer so.
                defer { entries.readKeys = transaction.namesRead.map { $0.union(outcome.counting.namesRead(in: entries)) } }
                outcome.result = try body(&transaction)
                let edits = try transaction.finish()
                try backend.limits.requireFitting(edits)
                let paths = transaction.editedPaths
                for (key, value) in edits { entries.set(value, for: key, at: paths[key] ?? []) }
                (outcome.edits, outcome.scopes, outcome.unknown) = (edits, transaction.scopes, entries.repetition.unknown)
                attempt.note(outcome)
                noteStoring(edits, origin)
            }
        }
        let outcome = attempt.outcome.withLock { $0 }
        guard let outcome, let result = outcome.result, let edits = outcome.edits else {
            throw StorageError.unwritable(file: backend.name, reason: "the backend did not run the edit")
        }
        unknownEdits.noteStored(own, after: outcome.unknown)
        flushBackoff.succeed()
        loadBackoff.succeed()
        // Differences that were reported meanwhile may be newer than what was stored.
        let latest = stored.isOlder(than: base) ? base : stored
        var external = outcome.external(since: base, own: own, latest)
        for key in [outcome.counting.keys.map(\.self), edits.keys.map(\.self)].joined() where latest[key] != stored[key] {
            external.updateValue(latest[key], forKey: key)
        }
        // A stored value may differ from the value set: XML truncates dates to whole seconds.
        let rounded = own.reduce(into: EntryEdits()) { rounded, edit in
            let isOwn = external[edit.key] == nil && edits[edit.key] == nil
            if isOwn, latest[edit.key] != edit.value.value { rounded.updateValue(latest[edit.key], forKey: edit.key) }
        }
        base = latest
        let change = cache.change { state in
            // Under the lock, as in `adopt(_:)`.
            availabilityState.noteOpened()
            state.storageRevision = latest.revision
            state.noteStored(own, as: latest.values(of: outcome.namesStored.union(outcome.counting.keys)))
            return state.merge(external, origin: .external) + state.merge(rounded, origin: .local)
                + state.merge(latest.values(of: edits.keys), origin: origin) + state.removeDiscarded(edits.keys, in: outcome.scopes)
        }
        noteAvailable()
        noteCheckpointNeeded(isOwn: true)
        if change.needsFlush { scheduleFlush() }
        return (result, change.deliveries)
    }

    private nonisolated func noteStoring(_ edits: EntryEdits, _ origin: ChangeOrigin) {
        storedTransaction.take { transaction in
            defer { transaction = (edits, origin) }
            return transaction
        }
    }

    /// Reverts a pending edit that cannot be stored, and the edits made with it, to the stored values, and reports the error; returns false
    /// if the error does not concern a pending edit.
    private func takeBack<Result>(_ own: [String: PendingEdit], _ outcome: CommitOutcome<Result>?, because error: StorageError) -> Bool {
        guard case .unencodable(let key, _, _) = error, let outcome, let edits = outcome.edits, edits[key] == nil, let edit = own[key]
        else {
            return false
        }
        // Differences that were reported meanwhile may be newer than what the commit has found.
        let stored = outcome.found.isOlder(than: base) ? base : outcome.found
        tell { $0.takeBack(own.filter { edit.takes(along: $0.value, of: key, $0.key) }, for: stored) }
        refusal = refusal ?? error
        reports.report(error)
        return true
    }
}

/// One attempt to store the pending edits and a transaction, which the backend may run several times.
private final class CommitAttempt<Result: Sendable>: Sendable {
    /// The pending edits that are stored with the transaction.
    let own: [String: PendingEdit]
    /// The revision up to which they were made.
    let revision: UInt64
    /// Whether nobody waits until they are durable.
    let isBehind: Bool
    /// Distinguishes it from others, also from those of other stores.
    let identity = UInt64.random(in: .min ... .max)
    /// What the last run has found and made; nil before the first.
    let outcome = Lock<CommitOutcome<Result>?>(nil)

    init(_ own: [String: PendingEdit], upTo revision: UInt64, isBehind: Bool) {
        (self.own, self.revision, self.isBehind) = (own, revision, isBehind)
    }

    /// The pending edits that the last run has stored, or may have.
    var sent: [String: PendingEdit] {
        let counting = outcome.withLock { $0?.counting ?? [:] }
        return own.filter { counting[$0.key] != nil }
    }

    func note(_ outcome: CommitOutcome<Result>) {
        self.outcome.take { last in
            defer { last = outcome }
            return last
        }
    }
}

/// What a run of a commit has found and made.
private struct CommitOutcome<Result: Sendable>: Sendable {
    /// The entries before the edits.
    let found: StorageEntries
    /// The names of the pending edits that an earlier commit has stored, whose outcome was unknown.
    var namesStored: Set<String> = []
    /// The earlier commits of which the backend was asked.
    var unknown: Set<UInt64> = []
    /// The other pending edits whose conditions hold.
    var counting: [String: PendingEdit] = [:]
    /// The edits of the transaction; nil until it has returned.
    var edits: EntryEdits?
    /// The scopes in which the transaction has set values.
    var scopes: Set<KeyScope> = []
    var result: Result?

    init(found: StorageEntries) {
        self.found = found
    }

    /// The changes by others that the commit has found, or that were stored together with it.
    ///
    /// - Parameters:
    ///   - known: the entries of which the observers know.
    ///   - own: the pending edits that were to be stored.
    ///   - latest: the entries after the commit.
    func external(since known: StorageEntries, own: [String: PendingEdit], _ latest: StorageEntries) -> EntryEdits {
        // Newer changes that were told before may have been undone since.
        var external =
            found.isOlder(than: known)
            ? latest.changes(since: known).filter { counting[$0.key] == nil && edits?[$0.key] == nil }
            : found.changes(since: known).filter { counting[$0.key] == nil }
        for (key, value) in latest.changes(since: found) where counting[key] == nil && edits?[key] == nil {
            external.updateValue(value, forKey: key)
        }
        for key in own.keys where counting[key] == nil {
            external.updateValue(edits?[key] == nil ? latest[key] : found[key], forKey: key)
        }
        // Another writer may have changed other values in the same dictionary.
        for (key, edit) in counting where !edit.paths.isEmpty && found[key] != known[key] && edits?[key] == nil {
            external.updateValue(latest[key], forKey: key)
        }
        return external
    }
}

extension StorageEntries {
    /// The values of some entries.
    fileprivate func values(of names: some Sequence<String>) -> EntryEdits {
        names.reduce(into: [:]) { $0.updateValue(self[$1], forKey: $1) }
    }
}
