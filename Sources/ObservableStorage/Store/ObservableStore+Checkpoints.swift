import Dispatch

/// What a flush writes.
public enum FlushDestination: Sendable, Hashable {
    /// The journal, if the storage has one: the edits survive a power failure, and other stores of this library see them.
    case journal
    /// The storage itself, such as the property list, for every program to read.
    case storage
}

extension ObservableStore {
    // A checkpoint of others' edits is left to them, while they live.
    private static let patienceWithOthers = 10

    /// Schedules a checkpoint, if the list lacks edits.
    ///
    /// - Parameter isOwn: whether they are those of this store.
    func noteCheckpointNeeded(isOwn: Bool) {
        guard let journaling, journaling.needsCheckpoint, !isSuspended else { return }
        let action = checkpoints?.modified(at: .now, factor: isOwn ? 1 : Self.patienceWithOthers)
        if case .wake(let time) = action { checkpoint(at: time) }
    }

    private nonisolated func checkpoint(at time: Debouncer.Instant) {
        executor.queue.asyncAfter(deadline: .after(Debouncer.Instant.now.duration(to: time))) { [weak self] in
            self?.start { await $0.checkpointIfDue() }
        }
    }

    private func checkpointIfDue() async {
        switch checkpoints?.woke(at: .now) {
        case nil, .none?: return
        case .wake(let time): return checkpoint(at: time)
        case .process: break
        }
        guard !isSuspended, !cache.update({ $0.isClosed }) else { return }
        do throws(StorageError) {
            try await checkpoint()
            checkpointBackoff.succeed()
        } catch {
            if case .suspended = error { return }
            // The edits are durable in the journal.
            reports.report(error)
            executor.queue.asyncAfter(deadline: .now() + checkpointBackoff.fail()) { [weak self] in
                self?.start { $0.noteCheckpointNeeded(isOwn: true) }
            }
        }
    }

    /// Waits until the edits that were written behind are durable.
    func makeDurable() async throws {
        guard let journaling, journaling.needsSynchronization else { return }
        try await inTurn {
            try await interruption.cover { try journaling.synchronizeJournal() }
        }
    }

    /// Writes the edits that are in the journal into the property list.
    func checkpoint() async throws(StorageError) {
        guard let journaling, journaling.needsCheckpoint else { return }
        if isSuspended { throw .suspended(file: backend.name) }
        do {
            try await inTurn {
                let assertion = activity.map { FlushAssertion($0, of: backend.name, interruption) }
                defer { assertion?.finish() }
                try await interruption.cover { try journaling.checkpoint() }
            }
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }
}
