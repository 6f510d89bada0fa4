import Dispatch
import FoundationSubset

extension ObservableStore {
    /// Writes everything that is still in memory only, and returns when it is on disk.
    ///
    /// With a journal, the property list then has every edit, for other programs to read; to the journal alone is faster, and as durable. A
    /// storage that could not be opened is opened first.
    ///
    /// - Parameter destination: what is written.
    /// - Throws: ``StorageError`` naming the file; the edits stay in memory and are tried again. ``StorageError/unencodable(key:reason:underlying:)``
    ///   if a value set since the last flush cannot be stored there: that edit was reverted, and all others are on disk.
    ///   ``StorageError/suspended(file:edits:)`` if edits wait for ``resume()``.
    public func flush(to destination: FlushDestination = .storage) async throws(StorageError) {
        try await writeEdits()
        if destination == .storage { try await checkpoint() }
        if let refusal = refusal.take() { throw refusal }
        guard !availabilityState.isOpened else { return }
        do throws(StorageError) {
            try await load()
        } catch {
            throw error.with(.kept)
        }
    }

    /// Writes the pending edits, ends every stream, and stops watching. Later edits are rejected.
    /// - Parameter discardsEdits: whether the store is closed even if the edits cannot be written. They are lost then, which is reported
    ///   in ``failures``.
    /// - Throws: ``StorageError`` if the edits cannot be written; the store then stays open, and nothing is lost.
    ///   ``StorageError/suspended(file:edits:)`` if the system does not let the process finish, for a file of an app group.
    public func close(discardingEdits discardsEdits: Bool = false) async throws(StorageError) {
        closings += 1
        defer { closings -= 1 }
        cache.update { state in
            state.isClosed = true
            interruption.withdraw(.suspension)
            state.flushes.liftSuspension()
        }
        do throws(StorageError) {
            try await commitEdits()
            try await checkpoint()
        } catch {
            guard discardsEdits else {
                // Another call that still tries to close the store closes it, or ends like this one.
                if closings == 1 { reopen() }
                noteUnwritten(error.with(.kept))
                throw error.with(.kept)
            }
            // The edits are moved out of the lock before they are released.
            let edits = cache.update { $0.discardPending() }
            // Without any, those of the journal are not in the list yet, and are written by whoever opens it next.
            reports.report(edits.isEmpty ? error : error.with(.lost(keys: edits.keys.sorted())))
        }
        cache.endLog(discardingEdits: true)
        stopWatching()
        finishObservations()
    }

    private func reopen() {
        cache.update { state in
            state.isClosed = false
            // Not if the store was resumed meanwhile.
            if state.flushes.restoreSuspension() { interruption.request(.suspension) }
        }
        lookIfPending()
    }

    /// Errors without a caller to throw to: failed background writes, property setters, a file that stays malformed, a fallback to polling.
    ///
    /// A new stream for each call, until the store is closed or released. It begins with the errors not delivered yet. An error without a
    /// subscriber within a second, or by the end of the process, is logged once: to standard error, and to the system log on Apple's
    /// systems.
    public nonisolated var failures: AsyncStream<StorageError> {
        reports.stream
    }

    /// How long a normal exit of the process may wait for edits that are not on disk yet; 2 seconds by default.
    ///
    /// Edits that cannot be written in that time are lost, which is logged. Applies to all stores of the process.
    public static var exitTimeout: Duration {
        get { StoreRegistry.exitTimeout.withLock { $0 } }
        set { StoreRegistry.exitTimeout.withLock { $0 = newValue } }
    }

    /// Writes the pending edits as soon as the queue is free; retains the store until then.
    nonisolated func scheduleFlush() {
        guard !StoreRegistry.isEnding else { return StoreRegistry.all.writeAtEnd([lastWrite]) }
        guard !StoreRegistry.all.isForkedChild else {
            return reports.report(
                .unwritable(
                    file: backend.name, reason: "the store was opened before this process was forked; open it in the child", edits: .kept))
        }
        executor.queue.async {
            // Starting this thread may have taken the processor from the one that made the edit, which does not wait for the commit.
            sched_yield()
            guard self.cache.update({ $0.flushes.beginQueued() }) else { return }
            self.start { await $0.writeEditsBehind() }
        }
    }

    /// Writes the pending edits after a delay, unless they are written before; does not retain the store until then.
    func scheduleFlush(after delay: DispatchTimeInterval, isHinted: Bool = false) {
        let time = DispatchTime.now() + delay
        guard let number = cache.update({ $0.scheduleFlush(at: time) }) else { return }
        executor.queue.asyncAfter(deadline: time) { [weak self] in
            guard let self, cache.update({ $0.flushes.begin(number) }) else { return }
            start { store in
                if !isHinted { store.flushBackoff.attempt() }
                await store.writeEditsBehind()
            }
        }
    }

    /// Tries soon again to write pending edits, after an event of the storage.
    func hastenFlush() {
        if cache.update({ $0.entries.hasPending }), let delay = flushBackoff.hint() { scheduleFlush(after: delay, isHinted: true) }
    }

    private func writeEditsBehind() async {
        do {
            try await writeEdits(isBehind: true)
        } catch {
            // The error was already reported.
            scheduleFlush(after: flushBackoff.fail())
        }
    }

    private func writeEdits(isBehind: Bool = false) async throws(StorageError) {
        do throws(StorageError) {
            try await commitEdits(isBehind: isBehind)
        } catch {
            let failure = error.with(.kept)
            noteUnwritten(failure)
            throw failure
        }
    }

    private func noteUnwritten(_ failure: StorageError) {
        // The storage has not failed, and resuming writes the edits.
        if case .suspended = failure { return }
        availabilityState.set(.unavailable(failure))
        reports.report(failure)
    }
}

extension ObservableStore {
    /// Changes the entries in memory, and notifies observers.
    nonisolated func tell<Failure: Error>(_ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]) throws(Failure) {
        follow(try cache.change(body))
    }

    /// Schedules a flush and delivers changes, as a change of the entries in memory requires.
    nonisolated func follow(_ outcome: (deliveries: Deliveries, needsFlush: Bool)) {
        if outcome.needsFlush { scheduleFlush() }
        cache.deliver(outcome.deliveries)
    }
}
