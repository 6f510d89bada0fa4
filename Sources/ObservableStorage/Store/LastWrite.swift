import Dispatch

/// The last write of a store, made at the end of the process or when the store is released: its pending edits are passed to the backend,
/// and observers are no longer notified.
struct LastWrite: Sendable {
    let cache: EntryCache
    let backend: any StorageBackend
    let journaling: (any JournalingBackend)?
    let reports: FailureReports
    let unknownEdits: UnknownEdits
    let executor: DispatchQueueExecutor
    let turns: Turns

    /// Starts writing for a process that is about to exit; the group is left afterwards.
    func startBeforeExit(in group: DispatchGroup) {
        if executor.isCurrent, let backend = backend as? any BlockingStorageBackend {
            // The process exits inside an edit of this store.
            if (self.backend as? any CommittingBackend)?.allowsNestedEdits == true { return make(backend) }
            return DispatchQueue.global().async(group: group) { make(backend) }
        }
        start(in: group) {
        } completion: { _ in
        }
    }

    /// Starts writing the pending edits, on the store's queue if the storage blocks; the group is left afterwards.
    ///
    /// - Parameters:
    ///   - preparation: called before, where the edits are written.
    ///   - completion: called afterwards with the result of the preparation.
    func start<Context: Sendable>(
        in group: DispatchGroup, _ preparation: @escaping @Sendable () -> Context, completion: @escaping @Sendable (Context) -> Void
    ) {
        if let backend = backend as? any BlockingStorageBackend {
            return executor.queue.async(group: group) {
                let context = preparation()
                make(backend)
                completion(context)
            }
        }
        // Inside an edit, there is no waiting for its end.
        let isInsideEdit = executor.isCurrent
        group.enter()
        Task.detached {
            let context = preparation()
            // After the commit under way, which may store earlier values of the same entries.
            if isInsideEdit { await make() } else { await turns.run { await make() } }
            completion(context)
            group.leave()
        }
    }

    /// Reports the edits for which the end of the process could not wait.
    func reportUnwritten() {
        let keys = cache.update { $0.entries.pending.keys.sorted() }
        guard !keys.isEmpty else { return }
        reports.report(.unwritable(file: backend.name, reason: "the process ended before it was done", edits: outcome(keys)))
    }

    /// What becomes of edits that were not written.
    fileprivate func outcome(_ keys: [String]) -> StorageError.EditOutcome {
        cache.isLogged ? .logged : .lost(keys: keys)
    }

    /// Writes the pending edits; reports those that cannot be written.
    private func make(_ backend: any BlockingStorageBackend) {
        var remaining = RemainingEdits(self)
        while let commit = remaining.next() {
            do {
                let body = { (entries: inout StorageEntries) throws in try commit.begin(on: entries).apply(to: &entries) }
                _ = try journaling?.edit(commit.options, body) ?? backend.edit(body)
                remaining.noteStored(commit)
            } catch {
                remaining.noteFailure(error, of: commit)
            }
        }
        if let journaling, journaling.needsCheckpoint {
            do {
                try journaling.checkpoint()
            } catch {
                // The edits are in the journal, where the next opening finds them.
                reports.report(StorageError.writing(backend.name, error))
            }
        }
        cache.endLog()
    }

    /// The same for a storage that does not block.
    private func make() async {
        var remaining = RemainingEdits(self)
        while let commit = remaining.next() {
            do {
                _ = try await backend.commit(commit.options) { try commit.begin(on: $0).apply(to: &$0) }
                remaining.noteStored(commit)
            } catch {
                remaining.noteFailure(error, of: commit)
            }
        }
    }
}

/// The edits that the last write of a store still has to write.
private struct RemainingEdits {
    private let store: LastWrite
    private var edits: [String: PendingEdit]
    private let revision: UInt64

    init(_ store: LastWrite) {
        self.store = store
        (edits, revision) = store.cache.update { $0.beginCommit() }
    }

    /// What to write next; nil after all edits were written, or given up.
    mutating func next() -> PendingCommit? {
        guard !edits.isEmpty else { return nil }
        do throws(StorageError) {
            let batch = try store.backend.limits.batch(of: edits)
            return PendingCommit(batch, upTo: revision, of: store.cache, after: store.unknownEdits)
        } catch {
            giveUp(because: error)
            return nil
        }
    }

    mutating func noteStored(_ commit: PendingCommit) {
        edits = edits.filter { commit.edits[$0.key] == nil }
        store.cache.update { $0.markWritten(commit.edits) }
    }

    /// Reports an error, and gives up the edits that it concerns.
    mutating func noteFailure(_ error: any Error, of commit: PendingCommit) {
        guard case .unencodable(let key, let reason, _) = error as? StorageError, commit.edits[key] != nil,
            let rejected = edits.group(of: key)
        else { return giveUp(because: error) }
        // An edit that cannot be stored prevents no other edit from being stored, except those made with it.
        store.reports.report(.unencodable(key: key, reason: reason))
        edits = edits.filter { rejected[$0.key] == nil }
    }

    private mutating func giveUp(because error: any Error) {
        store.reports.report(StorageError.writing(store.backend.name, error).with(store.outcome(edits.keys.sorted())))
        edits = [:]
    }
}
