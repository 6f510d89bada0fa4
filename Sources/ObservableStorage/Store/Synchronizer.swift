import Dispatch
import FoundationSubset

/// Synchronizes the entries of a store in memory with those of its backend: writes pending edits, reads changes by others, and retries after
/// failures.
///
/// It runs on the same queue as the store, and is released after it, when the operations under way have ended.
actor Synchronizer {
    nonisolated let cache: EntryCache
    nonisolated let storage: SerializedBackend
    nonisolated let availability: AvailabilityState
    nonisolated let unknownEdits = UnknownEdits()
    /// The edits of the transaction that is being stored: the backend may report them before it has returned.
    nonisolated let storedTransaction = Lock<(edits: EntryEdits, origin: ChangeOrigin)>(([:], .local))
    /// The entries of the backend when they were last read or written.
    var base: StorageEntries { didSet { cache.keepRecords(of: base) } }
    var schedule: SynchronizationSchedule
    /// An error of an edit that the backend rejected, until a flush throws it.
    var rejection: StorageError?
    /// The deliveries of the last changes by others, which may still be running.
    var lastDeliveries: Deliveries?
    // The number of calls of `close` that have not returned.
    private var closings = 0
    /// The store, if ``ObservableStore/shared(at:)`` has opened it.
    nonisolated let shared = Lock<WeakReference<ObservableStore>?>(nil)
    /// The same store, retained while it has edits to write, or its next write has to wait.
    private(set) var retained: ObservableStore?

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        storage.executor.asUnownedSerialExecutor()
    }

    /// Starts to watch the backend, whose entries were read.
    init(_ cache: EntryCache, with storage: SerializedBackend, entries: StorageEntries, _ availability: AvailabilityState) {
        self.cache = cache
        self.storage = storage
        self.availability = availability
        base = entries
        cache.keepRecords(of: entries)
        schedule = SynchronizationSchedule(storage.journaling?.journalMode ?? .off)
        StoreRegistry.all.add(self)
        LifeCycleObserver.start()
        storage.startWatching(since: entries.revision) { [weak self] event in self?.receive(event) }
    }

    /// The write that is made at the end of the process.
    nonisolated var lastWrite: LastWrite {
        LastWrite(cache: cache, storage: storage, unknownEdits: unknownEdits)
    }

    deinit {
        storage.stopWatching()
        if cache.update({ $0.entries.hasPending }) || storage.needsCheckpoint {
            // There is no later attempt: edits that this one cannot write are lost.
            StoreRegistry.all.write(lastWrite) { [cache, endObservations] in
                // Left for the next opening of the list.
                cache.take { $0.log.takeFile() }
                endObservations()
            }
        } else {
            cache.endLog()
            endObservations()
        }
        // Removed last: the process may exit meanwhile on another thread, and waits for the stores in the registry only.
        StoreRegistry.all.remove(ObjectIdentifier(self))
    }

    // Ends all streams and listeners.
    private nonisolated var endObservations: @Sendable () -> Void {
        { [cache, availability] in
            cache.finish()
            cache.reports.finish()
            availability.finish()
        }
    }

    // MARK: Flushing

    func flush(to destination: FlushDestination) async throws(StorageError) {
        try await writeEdits()
        if destination == .storage { try await checkpoint() }
        if let rejection = rejection.take() { throw rejection }
        guard !cache.update({ $0.entries.isOpened }) else { return }
        do throws(StorageError) {
            try await read()
        } catch {
            throw error.with(.kept)
        }
    }

    func close(discardingEdits discardsEdits: Bool) async throws(StorageError) {
        closings += 1
        defer { closings -= 1 }
        cache.update { state in
            state.isClosed = true
            storage.interruption.withdraw(.suspension)
            state.flushes.isLifted = true
        }
        do throws(StorageError) {
            try await commitEdits()
            try await checkpoint()
        } catch {
            guard discardsEdits else {
                // Another call that still tries to close the store closes it, or ends like this one.
                if closings == 1 { reopen() }
                recordUnwritten(error.with(.kept))
                throw error.with(.kept)
            }
            // The edits are moved out of the lock before they are released.
            let edits = cache.update { $0.discardPending() }
            // Without any, those of the journal are not in the list yet, and are written by the process that opens it next.
            cache.reports.report(edits.isEmpty ? error : error.with(.lost(keys: edits.keys.sorted())))
        }
        cache.endLog(discardingEdits: true)
        storage.stopWatching()
        endObservations()
        retained = nil
    }

    private func reopen() {
        cache.update { state in
            state.isClosed = false
            state.flushes.isLifted = false
            // Not if the store was resumed meanwhile.
            if state.flushes.isSuspended { storage.interruption.request(.suspension) }
        }
        guard schedule.isReadQueued else { return }
        schedule.isReadQueued = false
        receive(.changed)
    }

    /// Writes the pending edits as soon as the queue is free.
    nonisolated func scheduleFlush() {
        if let error = StoreRegistry.all.forkError(of: storage.name) { return cache.reports.report(error) }
        guard !StoreRegistry.all.isEnding else {
            cache.update { _ = $0.flushes.beginQueued() }
            return StoreRegistry.all.writeAtEnd(lastWrite)
        }
        let store = shared.withLock { $0?.object }
        storage.executor.queue.async {
            // Starting this thread may have taken the processor from the one that made the edit, which does not wait for the commit.
            sched_yield()
            guard self.cache.update({ $0.flushes.beginQueued() }) else { return }
            self.start { synchronizer in
                if let store { synchronizer.retained = store }
                // Because the last writes took long; not if the edits are not in a log.
                if let delay = synchronizer.schedule.writeDelay(at: .now), synchronizer.cache.isLogged {
                    synchronizer.scheduleFlush(after: delay)
                    // Another write may have stored the edit already.
                    synchronizer.releaseIfIdle()
                } else {
                    await synchronizer.writeEditsBehind()
                }
            }
        }
    }

    /// Releases a shared store unless edits or the next write have to wait: opened again, it would write at once, and read the list.
    func releaseIfIdle() {
        guard retained != nil, !cache.update({ $0.entries.hasPending }) else { return }
        guard let delay = schedule.writeDelay(at: .now) else { return retained = nil }
        if schedule.isReleaseQueued { return }
        schedule.isReleaseQueued = true
        start(after: .now() + delay) { synchronizer in
            synchronizer.schedule.isReleaseQueued = false
            synchronizer.releaseIfIdle()
        }
    }

    /// Writes the pending edits after a delay, unless they are written before; does not retain the store until then.
    ///
    /// - Parameter isHinted: whether an event of the storage is the reason.
    nonisolated func scheduleFlush(after delay: DispatchTimeInterval, isHinted: Bool = false) {
        let time = DispatchTime.now() + delay
        guard let number = cache.update({ $0.entries.hasPending ? $0.flushes.schedule(at: time) : nil }) else { return }
        storage.executor.queue.asyncAfter(deadline: time) { [weak self] in
            guard let self, cache.update({ $0.flushes.begin(number) }) else { return }
            start { synchronizer in
                if !isHinted { synchronizer.schedule.writes.attempt() }
                await synchronizer.writeEditsBehind()
            }
        }
    }

    private func writeEditsBehind() async {
        do {
            try await writeEdits(isBehind: true)
        } catch {
            // The error was already reported.
            scheduleFlush(after: schedule.writes.fail())
        }
        // Also if all edits were reverted.
        releaseIfIdle()
    }

    private func writeEdits(isBehind: Bool = false) async throws(StorageError) {
        do throws(StorageError) {
            try await commitEdits(isBehind: isBehind)
        } catch {
            let failure = error.with(.kept)
            recordUnwritten(failure)
            throw failure
        }
    }

    private func recordUnwritten(_ failure: StorageError) {
        // The storage has not failed, and resuming writes the edits.
        if case .suspended = failure { return }
        recordUnavailable(failure)
    }

    func recordUnavailable(_ error: StorageError) {
        availability.set(.unavailable(error))
        cache.reports.report(error)
    }

    func recordAvailable() {
        if availability.set(.available) { cache.reports.recovered() }
    }

    // MARK: Changes in memory

    /// Changes the entries in memory, schedules a flush of the edits, and notifies observers.
    ///
    /// - Parameters:
    ///   - whenMade: called after the changes are made, before observers are notified.
    ///   - body: makes changes; returns nil if the entries are not those on which these depend.
    /// - Returns: false if the closure has returned nil.
    @discardableResult
    nonisolated func change<Failure: Error>(
        muting token: ObservationToken? = nil, whenMade: () -> Void = {}, _ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]?
    ) throws(Failure) -> Bool {
        var isMade = false
        let (deliveries, needsFlush) = try cache.change(muting: token?.subscriptionID ?? 0) { (state) throws(Failure) in
            let changes = try body(&state)
            isMade = changes != nil
            return changes ?? []
        }
        if needsFlush { scheduleFlush() }
        if isMade { whenMade() }
        // Last, because a listener may be slow.
        cache.deliver(deliveries)
        return isMade
    }
}
