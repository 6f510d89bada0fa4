import Dispatch

/// The last write of a store, at the end of the process or after the store was released. Observers are not notified.
struct LastWrite: Sendable {
    let cache: EntryCache
    let storage: SerializedBackend
    let unknownEdits: UnknownEdits

    /// Starts writing for a process that is about to exit; the group is left afterwards.
    func startBeforeExit(in group: DispatchGroup) {
        if storage.executor.isCurrent, let backend = storage.backend as? any BlockingStorageBackend {
            // The process exits inside an edit of this store.
            if (storage.backend as? any CommittingBackend)?.allowsNestedEdits == true { return make(backend) }
            return DispatchQueue.global().async(group: group) { make(backend) }
        }
        start(in: group)
    }

    /// Starts writing the pending edits, on the store's queue if the storage blocks; the group is left afterwards.
    ///
    /// - Parameters:
    ///   - activity: the activity during which the edits are written; nil if none is needed.
    ///   - completion: called afterwards, on the same queue or task.
    func start(in group: DispatchGroup, during activity: ExpiringActivity? = nil, completion: @escaping @Sendable () -> Void = {}) {
        // Written even if the activity is refused: otherwise the edits would be lost.
        let beginActivity = { @Sendable in activity.map { FlushAssertion($0, of: storage.name, Interruption()) } }
        if let backend = storage.backend as? any BlockingStorageBackend {
            return storage.executor.queue.async(group: group) {
                let activity = beginActivity()
                make(backend)
                activity?.finish()
                completion()
            }
        }
        // An edit that the exit interrupts does not end.
        let isInsideEdit = storage.executor.isCurrent
        group.enter()
        Task.detached {
            let activity = beginActivity()
            // After the commit under way, which may store earlier values of the same entries.
            if isInsideEdit { await make() } else { await storage.inTurn { await make() } }
            activity?.finish()
            completion()
            group.leave()
        }
    }

    /// Reports the edits for which the end of the process could not wait.
    func reportUnwritten() {
        let keys = cache.update { $0.entries.pending.keys.sorted() }
        guard !keys.isEmpty else { return }
        cache.reports.report(.unwritable(file: storage.name, reason: "the process ended before it was done", edits: outcome(keys)))
    }

    private func outcome(_ keys: [String]) -> StorageError.EditOutcome {
        cache.isLogged ? .logged : .lost(keys: keys)
    }

    private func open(_ entries: StorageEntries) {
        cache.take { state in
            state.open(entries)
            // Another thread may still modify a value.
            return state.merge(entries.changes(since: StorageEntries()), origin: .external)
        }
    }

    /// Writes the pending edits; reports those that cannot be written.
    private func make(_ backend: any BlockingStorageBackend) {
        do {
            if cache.update({ $0.needsReading }) { open(try backend.load()) }
        } catch {
            cache.reports.report(StorageError.reading(storage.name, error))
        }
        var (edits, revision) = cache.update { $0.beginCommit(after: unknownEdits) }
        while let commit = nextCommit(of: &edits, upTo: revision) {
            do {
                let body = { (entries: inout StorageEntries) throws in try commit.begin(on: entries).apply(to: &entries) }
                _ = try storage.journaling?.edit(commit.options, body) ?? backend.edit(body)
                markStored(commit, of: &edits)
            } catch {
                giveUp(commit, of: &edits, because: error)
            }
        }
        if let journaling = storage.journaling, journaling.needsCheckpoint {
            do {
                try journaling.checkpoint()
            } catch {
                // The edits are in the journal, where the next opening finds them.
                cache.reports.report(StorageError.writing(storage.name, error))
            }
        }
        cache.endLog()
    }

    /// The same for a storage that does not block.
    private func make() async {
        do {
            if cache.update({ $0.needsReading }) { open(try await storage.backend.load()) }
        } catch {
            cache.reports.report(StorageError.reading(storage.name, error))
        }
        var (edits, revision) = cache.update { $0.beginCommit(after: unknownEdits) }
        while let commit = nextCommit(of: &edits, upTo: revision) {
            do {
                _ = try await storage.backend.commit(commit.options) { try commit.begin(on: $0).apply(to: &$0) }
                markStored(commit, of: &edits)
            } catch {
                giveUp(commit, of: &edits, because: error)
            }
        }
    }

    /// A commit of some edits; nil after all were written or given up.
    private func nextCommit(of edits: inout [String: PendingEdit], upTo revision: UInt64) -> PendingCommit? {
        guard !edits.isEmpty else { return nil }
        do throws(StorageError) {
            let batch = try storage.limits.batch(of: edits)
            return PendingCommit(batch, upTo: revision, of: cache, after: unknownEdits)
        } catch {
            giveUp(nil, of: &edits, because: error)
            return nil
        }
    }

    private func markStored(_ commit: PendingCommit, of edits: inout [String: PendingEdit]) {
        edits = edits.filter { commit.edits[$0.key] == nil }
        cache.update { $0.markWritten(commit.edits) }
    }

    /// Reports an error, and gives up the edits that it concerns: if the storage has rejected one, those that were made together with it,
    /// and otherwise all. Those that it has rejected as too large are divided before.
    private func giveUp(_ commit: PendingCommit?, of edits: inout [String: PendingEdit], because error: any Error) {
        let (attempted, failure) = (commit?.edits ?? [:], StorageError.writing(storage.name, error))
        if case .tooLarge(nil, _) = failure, !attempted.isEmpty, storage.divide(attempted) { return }
        if let (rejected, reported) = edits.refused(attempted, because: failure) {
            cache.reports.report(reported)
            edits = edits.filter { rejected[$0.key] == nil }
        } else {
            cache.reports.report(failure.with(outcome(edits.keys.sorted())))
            edits = [:]
        }
    }
}
