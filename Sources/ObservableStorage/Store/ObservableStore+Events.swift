import Dispatch

extension ObservableStore {
    /// How many times a malformed file is read before it is reported: most are being written at that moment.
    private static let patience = 4

    /// Receives an event of the backend; an event on the store's own queue enters the actor without a hop.
    nonisolated func receive(_ event: StorageEvent) {
        if case .failed(let error) = event { return reports.report(error) }
        if executor.isCurrent { return start { await $0.follow(event) } }
        executor.queue.async { [weak self] in self?.start { await $0.follow(event) } }
    }

    /// Starts an operation of the actor on its own queue: at once, where the system is able to, or after what is queued.
    nonisolated func start(_ operation: @escaping @Sendable (isolated ObservableStore) async -> Void) {
        assumeIsolated { store in
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                _ = Task.immediate { await operation(store) }
            } else {
                _ = Task { await operation(store) }
            }
        }
    }

    private func follow(_ event: StorageEvent) async {
        switch event {
        case .changed: await lookAgain()
        case .changes(let changes):
            guard apply(changes) else { return await lookAgain() }
            noteCheckpointNeeded(isOwn: false)
        case .reachable(true): await noteReachable()
        case .reachable(false): noteUnreadable(.unreadable(file: backend.name, reason: "it cannot be reached at present"))
        case .failed(let error): reports.report(error)
        }
    }

    /// Applies differences to the entries, also while a commit is under way; returns false if others are missing between them.
    private func apply(_ changes: StorageChanges) -> Bool {
        guard !cache.update({ $0.isClosed }), let revision = base.revision, revision.history == changes.revision.history else {
            return false
        }
        guard changes.revision.isNewer(than: revision) else { return true }
        guard changes.apply(to: revision) else { return false }
        adopt(StorageEntries(base, with: changes.values, revision: changes.revision))
        return true
    }

    /// Takes over newer entries of the storage, and notifies observers of the differences.
    private func adopt(_ latest: StorageEntries) {
        let external = latest.changes(since: base)
        base = latest
        tell { state in
            // Under the lock: who sees that the storage is opened sees the entries. Before observers are notified: they may read keys,
            // which may migrate entries.
            availabilityState.noteOpened()
            state.storageRevision = latest.revision
            return external.isEmpty ? [] : merge(external, into: &state)
        }
    }

    /// Merges differences, of which some may be those of the transaction that is just being stored.
    private func merge(_ external: EntryEdits, into state: inout EntryCacheState) -> [EntryChange] {
        let own = storedTransaction.withLock { $0 }
        guard external.contains(where: { own.edits[$0.key] == $0.value }) else { return state.merge(external, origin: .external) }
        return state.merge(external.filter { own.edits[$0.key] == $0.value }, origin: own.origin)
            + state.merge(external.filter { own.edits[$0.key] != $0.value }, origin: .external)
    }

    /// Reads the stored entries and reports external changes. If reading fails, the last valid values are kept.
    private func lookAgain() async {
        // What is reported during an operation is looked at after it, and what is reported while closing if that fails.
        if turns.isTaken || cache.update({ $0.isClosed }) {
            isLookPending = true
            return
        }
        do throws(StorageError) {
            try await load()
            hastenFlush()
        } catch {
            // Resuming reads the storage again.
            if case .suspended = error { return }
            guard !isLookTimed else { return }
            isLookTimed = true
            lookLater(after: loadBackoff.fail())
            // If the storage was never opened, only a different reason is reported.
            if availabilityState.isOpened ? loadBackoff.failures == Self.patience : availability != .unavailable(error) {
                noteUnreadable(error)
            }
        }
    }

    /// Reads the stored entries and reports external changes.
    func load() async throws(StorageError) {
        let latest: StorageEntries
        do {
            latest = try await inTurn { try await interruption.cover { try await backend.load() } }
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        // Differences that were reported while the storage was read may be newer.
        adopt(latest.isOlder(than: base) ? base : latest)
        loadBackoff.succeed()
        noteCheckpointNeeded(isOwn: false)
        noteReplayNeeded()
        // If edits are pending, writing them determines whether the storage is available.
        if !cache.update({ $0.entries.hasPending }) { noteAvailable() }
    }

    /// Reads the storage again later if edits of dead stores could not be made, because another process has the file locked.
    private func noteReplayNeeded() {
        guard let journaling, journaling.needsReplay else { return replayBackoff.succeed() }
        guard !isLookTimed, !isSuspended else { return }
        isLookTimed = true
        lookLater(after: replayBackoff.fail())
    }

    /// Records that the storage can be used at present.
    func noteAvailable() {
        guard availability != .available else { return }
        availabilityState.set(.available)
        reports.recovered()
    }

    private func noteUnreadable(_ error: StorageError) {
        availabilityState.set(.unavailable(error))
        reports.report(error)
    }

    /// Writes the edits that wait for the storage, at once, after reading it.
    private func noteReachable() async {
        await lookAgain()
        if cache.update({ $0.entries.hasPending }) { scheduleFlush(after: .nanoseconds(0), isHinted: true) }
    }

    private nonisolated func lookLater(after delay: DispatchTimeInterval) {
        executor.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            self?.start { store in
                store.isLookTimed = false
                await store.lookAgain()
            }
        }
    }
}

extension ObservableStore {
    /// Runs an operation of the storage, after those that began earlier.
    func inTurn<Result>(_ operation: () async throws -> Result) async rethrows -> Result {
        defer { lookIfPending() }
        return try await turns.run { try await operation() }
    }

    /// Reads the storage again if that was not possible when it was reported.
    func lookIfPending() {
        guard isLookPending, !turns.isTaken else { return }
        isLookPending = false
        executor.queue.async { [weak self] in self?.start { await $0.lookAgain() } }
    }
}

extension StorageEntries {
    /// Whether other entries are those of a later revision of the same history.
    func isOlder(than other: StorageEntries) -> Bool {
        guard let revision, let later = other.revision else { return false }
        return later.isNewer(than: revision)
    }
}
