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

    fileprivate func outcome(_ keys: [String]) -> StorageError.EditOutcome {
        cache.isLogged ? .logged : .lost(keys: keys)
    }

    /// Writes the pending edits; reports those that cannot be written.
    private func make(_ backend: any BlockingStorageBackend) {
        var remaining = RemainingEdits(self)
        while let commit = remaining.next() {
            do {
                let body = { (entries: inout StorageEntries) throws in try commit.begin(on: entries).apply(to: &entries) }
                _ = try storage.journaling?.edit(commit.options, body) ?? backend.edit(body)
                remaining.markStored(commit)
            } catch {
                remaining.handle(error, of: commit)
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
        var remaining = RemainingEdits(self)
        while let commit = remaining.next() {
            do {
                _ = try await storage.backend.commit(commit.options) { try commit.begin(on: $0).apply(to: &$0) }
                remaining.markStored(commit)
            } catch {
                remaining.handle(error, of: commit)
            }
        }
    }
}

/// The edits that are still to be written.
private struct RemainingEdits {
    private let store: LastWrite
    private var edits: [String: PendingEdit]
    private let revision: UInt64

    init(_ store: LastWrite) {
        self.store = store
        (edits, revision) = store.cache.update { $0.beginCommit() }
    }

    /// The next commit; nil after all edits were written or given up.
    mutating func next() -> PendingCommit? {
        guard !edits.isEmpty else { return nil }
        do throws(StorageError) {
            let batch = try store.storage.backend.limits.batch(of: edits)
            return PendingCommit(batch, upTo: revision, of: store.cache, after: store.unknownEdits)
        } catch {
            giveUp(because: error)
            return nil
        }
    }

    mutating func markStored(_ commit: PendingCommit) {
        edits = edits.filter { commit.edits[$0.key] == nil }
        store.cache.update { $0.markWritten(commit.edits) }
    }

    /// Reports an error, and gives up the edits that it concerns.
    mutating func handle(_ error: any Error, of commit: PendingCommit) {
        guard case .unencodable(let key, let reason, _) = error as? StorageError, commit.edits[key] != nil,
            let rejected = edits.group(of: key)
        else { return giveUp(because: error) }
        // Only the edits that were made together with the rejected one are given up.
        store.cache.reports.report(.unencodable(key: key, reason: reason))
        edits = edits.filter { rejected[$0.key] == nil }
    }

    private mutating func giveUp(because error: any Error) {
        store.cache.reports.report(StorageError.writing(store.storage.name, error).with(store.outcome(edits.keys.sorted())))
        edits = [:]
    }
}
