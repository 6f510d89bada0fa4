import Dispatch

// Changes by others.
extension Synchronizer {
    /// Receives an event of the backend; an event on the store's own queue enters the actor without a hop.
    nonisolated func receive(_ event: StorageEvent) {
        if case .failed(let error) = event { return cache.reports.report(error) }
        if storage.executor.isCurrent { return start { await $0.follow(event) } }
        storage.executor.queue.async { [weak self] in self?.start { await $0.follow(event) } }
    }

    /// Starts an operation on the actor's queue, from which it is called: immediately, or after queued work on older systems.
    nonisolated func start(_ operation: @escaping @Sendable (isolated Synchronizer) async -> Void) {
        assumeIsolated { synchronizer in
            if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
                _ = Task.immediate { await operation(synchronizer) }
            } else {
                _ = Task { await operation(synchronizer) }
            }
        }
    }

    /// Runs an operation to its end, whether or not the calling task is cancelled: the edits of other tasks depend on it as well.
    func uncancelled(
        _ operation: @escaping @Sendable (isolated Synchronizer) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        let result = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, StorageError>, Never>) in
            start { synchronizer in
                do throws(StorageError) {
                    continuation.resume(returning: .success(try await operation(synchronizer)))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        try result.get()
    }

    /// Starts an operation after a delay; does not retain the actor until then.
    nonisolated func start(
        after time: DispatchTime, _ operation: @escaping @Sendable (isolated Synchronizer) async -> Void
    ) {
        storage.executor.queue.asyncAfter(deadline: time) { [weak self] in self?.start(operation) }
    }

    /// Whether what a debouncer has decided about is due; otherwise continues at the time that it requests.
    private func isDue(
        _ action: Debouncer.Action, orElse operation: @escaping @Sendable (isolated Synchronizer) async -> Void
    ) -> Bool {
        if case .wake(let time) = action { start(after: .after(Debouncer.Instant.now.duration(to: time)), operation) }
        return action == .process
    }

    private func follow(_ event: StorageEvent) async {
        switch event {
        case .changed: await readAgain()
        case .differences(let changes):
            guard apply(changes) else { return await readAgain() }
            scheduleCheckpoint(isOwn: false)
        case .reachable(true):
            await readAgain()
            if cache.update({ $0.entries.hasPending }) { scheduleFlush(after: .nanoseconds(0), isHinted: true) }
        case .reachable(false): recordUnavailable(.unreadable(file: storage.name, reason: "it cannot be reached at present"))
        case .failed(let error): cache.reports.report(error)
        }
    }

    /// Applies differences to the entries, also while a commit is under way; returns false if others are missing between them.
    private func apply(_ changes: StorageChanges) -> Bool {
        guard !cache.update({ $0.isClosed }), let revision = base.revision, revision.history == changes.revision.history else {
            return false
        }
        guard changes.revision.isNewer(than: revision) else { return true }
        guard changes.apply(to: revision) else { return false }
        cache.deliver(adopt(StorageEntries(base, with: changes.values, revision: changes.revision)))
        return true
    }

    /// Replaces the known entries of the storage by newer ones, and returns the deliveries of the differences.
    private func adopt(_ latest: StorageEntries) -> Deliveries {
        let external = latest.changes(since: base)
        base = latest
        let (deliveries, needsFlush) = cache.change { state in
            state.open(latest)
            return external.isEmpty ? [] : merge(external, into: &state)
        }
        if needsFlush { scheduleFlush() }
        if !deliveries.isEmpty { lastDeliveries = deliveries }
        return deliveries
    }

    /// Merges differences, of which some may be those of the transaction that is just being stored.
    private func merge(_ external: EntryEdits, into state: inout EntryCacheState) -> [EntryChange] {
        let own = storedTransaction.withLock { $0 }
        guard external.contains(where: { own.edits[$0.key] == $0.value }) else { return state.merge(external, origin: .external) }
        return state.merge(external.filter { own.edits[$0.key] == $0.value }, origin: own.origin)
            + state.merge(external.filter { own.edits[$0.key] != $0.value }, origin: .external)
    }

    /// Reads the storage after the operation under way, and again after a delay if that fails; the last valid values are kept meanwhile.
    private func readAgain() async {
        if schedule.isReadQueued { return }
        schedule.isReadQueued = true
        // A failed close reads the storage then.
        if cache.update({ $0.isClosed }) { return }
        do throws(StorageError) {
            try await read()
            // What prevented a write may have passed.
            if cache.update({ $0.entries.hasPending }), let delay = schedule.writes.hint() { scheduleFlush(after: delay, isHinted: true) }
        } catch {
            // Resuming reads the storage again.
            if case .suspended = error { return }
            guard let (delay, isLasting) = schedule.reads.scheduleRetry() else { return }
            readAgain(after: delay)
            // If the storage was never opened, only a different reason is reported.
            if cache.update({ $0.entries.isOpened }) ? isLasting : availability.value != .unavailable(error) { recordUnavailable(error) }
        }
    }

    private nonisolated func readAgain(after delay: DispatchTimeInterval) {
        start(after: .now() + delay) { synchronizer in
            synchronizer.schedule.reads.isScheduled = false
            await synchronizer.readAgain()
        }
    }

    /// Reads the storage, and delivers changes by others.
    func read() async throws(StorageError) {
        let latest = try await load()
        // A journal has the same entries whenever it is read at a revision, and comparing all of them takes long. A member of a cluster may
        // have lost events.
        let isKnown = storage.journaling != nil && latest.revision != nil && latest.revision == base.revision
        // Differences that were reported while the storage was read may be newer.
        let deliveries = adopt(isKnown || latest.isOlder(than: base) ? base : latest)
        scheduleCheckpoint(isOwn: false)
        let needsReplay = storage.journaling?.needsReplay == true && !isSuspended
        if let delay = schedule.didRead(needsReplay: needsReplay) { readAgain(after: delay) }
        // If edits are pending, writing them determines whether the storage is available.
        if !cache.update({ $0.entries.hasPending }) { recordAvailable() }
        cache.deliver(deliveries)
    }
}

// MARK: - Checkpoints

extension Synchronizer {
    /// Schedules a checkpoint if the storage lacks commits, of this store or of others.
    func scheduleCheckpoint(isOwn: Bool) {
        guard storage.needsCheckpoint, !isSuspended else { return }
        // A checkpoint of others' commits is left to them, unless they have ended.
        _ = isDue(schedule.checkpoints.modified(at: .now, factor: isOwn ? 1 : 10)) { await $0.checkpointIfDue() }
    }

    private func checkpointIfDue() async {
        guard isDue(schedule.checkpoints.woke(at: .now), orElse: { await $0.checkpointIfDue() }) else { return }
        guard !isSuspended, !cache.update({ $0.isClosed }) else { return }
        do throws(StorageError) {
            try await checkpoint()
            schedule.checkpointAttempts.succeed()
        } catch {
            if case .suspended = error { return }
            // The edits are durable in the journal.
            cache.reports.report(error)
            start(after: .now() + schedule.checkpointAttempts.fail()) { $0.scheduleCheckpoint(isOwn: true) }
        }
    }
}

// MARK: - Logs of edits

extension Synchronizer {
    /// Schedules the removal of a log that has grown, which the next edit would replace by a small one.
    func scheduleLogRemoval() {
        guard cache.update({ $0.log.hasGrown }) else { return }
        _ = isDue(schedule.logRemoval.modified(at: .now)) { $0.removeLogIfDue(at: .now) }
    }

    func removeLogIfDue(at now: Debouncer.Instant) {
        guard isDue(schedule.logRemoval.woke(at: now), orElse: { $0.removeLogIfDue(at: .now) }) else { return }
        // The commit of pending edits schedules it again.
        cache.take { $0.entries.hasPending || !$0.log.hasGrown ? nil : $0.log.takeFile() }?.remove()
    }
}

extension StorageEntries {
    /// Whether other entries are those of a later revision of the same history.
    func isOlder(than other: StorageEntries) -> Bool {
        guard let revision, let later = other.revision else { return false }
        return later.isNewer(than: revision)
    }
}
