import Dispatch

extension ObservableStore {
    /// Writes everything that is still in memory only, and returns when it is on disk.
    ///
    /// A storage that could not be opened is opened first.
    ///
    /// - Throws: ``StorageError`` naming the file; the edits stay in memory and are tried again. ``StorageError/unencodable(key:reason:)``
    ///   if a value set since the last flush cannot be stored there: that edit was reverted, and all others are on disk.
    public func flush() throws(StorageError) {
        try writeEdits()
        if let refusal = refusal.take() { throw refusal }
        guard !availabilityState.isOpened else { return }
        do throws(StorageError) {
            try load()
        } catch {
            throw error.with(.kept)
        }
    }

    /// Writes the pending edits, ends every stream, and stops watching. Later edits are rejected.
    /// - Parameter discardsEdits: whether the store is closed even if the edits cannot be written. They are lost then, which is reported
    ///   in ``failures``.
    ///   ``failures``.
    /// - Throws: ``StorageError`` if the edits cannot be written; the store then stays open, and nothing is lost.
    public func close(discardingEdits discardsEdits: Bool = false) throws(StorageError) {
        cache.update { $0.isClosed = true }
        do throws(StorageError) {
            try commitEdits()
        } catch {
            guard discardsEdits else {
                cache.update { $0.isClosed = false }
                noteUnwritten(error.with(.kept))
                throw error.with(.kept)
            }
            // The edits are moved out of the lock before they are released.
            let edits = cache.update { $0.discardPending() }
            reports.report(error.with(.lost(keys: edits.keys.sorted())))
        }
        stopWatching()
        finishObservations()
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
            self.assumeIsolated { store in
                store.cache.update { $0.flushes.beginQueued() }
                store.writeEditsBehind()
            }
        }
    }

    /// Writes the pending edits after a delay, unless they are written before; does not retain the store until then.
    func scheduleFlush(after delay: DispatchTimeInterval, isHinted: Bool = false) {
        let time = DispatchTime.now() + delay
        guard let number = cache.update({ $0.scheduleFlush(at: time) }) else { return }
        executor.queue.asyncAfter(deadline: time) { [weak self] in
            self?.assumeIsolated { store in
                guard store.cache.update({ $0.flushes.begin(number) }) else { return }
                if !isHinted { store.flushBackoff.attempt() }
                store.writeEditsBehind()
            }
        }
    }

    /// Tries soon again to write pending edits, after an event of the storage.
    func hastenFlush() {
        if cache.update({ $0.entries.hasPending }), let delay = flushBackoff.hint() { scheduleFlush(after: delay, isHinted: true) }
    }

    private func writeEditsBehind() {
        do {
            try writeEdits()
        } catch {
            // The error was already reported.
            scheduleFlush(after: flushBackoff.fail())
        }
    }

    private func writeEdits() throws(StorageError) {
        do throws(StorageError) {
            try commitEdits()
        } catch {
            let failure = error.with(.kept)
            noteUnwritten(failure)
            throw failure
        }
    }

    private func noteUnwritten(_ failure: StorageError) {
        availabilityState.set(.unavailable(failure))
        reports.report(failure)
    }

    private func commitEdits() throws(StorageError) {
        guard cache.update({ $0.entries.hasPending }) else { return }
        do {
            let (_, deliveries) = try commit(.local) { _ in }
            cache.deliver(deliveries)
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }
}

extension ObservableStore {
    /// How many times a malformed file is read before it is reported: most are being written at that moment.
    private static let patience = 4

    /// Receives an event of the backend; an event on the store's own queue enters the actor without a hop.
    nonisolated func receive(_ event: StorageEvent) {
        switch event {
        case .failed(let error):
            reports.report(error)
        case .changed where executor.isCurrent:
            assumeIsolated { $0.lookAgain() }
        case .changed:
            executor.queue.async { [weak self] in self?.assumeIsolated { $0.lookAgain() } }
        }
    }

    /// Changes the entries in memory, and notifies observers.
    nonisolated func tell<Failure: Error>(_ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]) throws(Failure) {
        follow(try cache.change(body))
    }

    /// Schedules a flush and delivers changes, as a change of the entries in memory requires.
    nonisolated func follow(_ outcome: (deliveries: Deliveries, needsFlush: Bool)) {
        if outcome.needsFlush { scheduleFlush() }
        cache.deliver(outcome.deliveries)
    }

    /// Reads the stored entries and reports external changes. If reading fails, the last valid values are kept.
    private func lookAgain() {
        guard !cache.update({ $0.isClosed }) else { return }
        if isCommitting { return lookLater(after: .nanoseconds(0)) }
        do throws(StorageError) {
            try load()
            hastenFlush()
        } catch {
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
    func load() throws(StorageError) {
        let latest: StorageEntries
        do {
            latest = try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        let external = latest.changes(since: base)
        base = latest
        // Before observers are notified: they may read keys, which may migrate entries.
        availabilityState.noteOpened()
        if !external.isEmpty { tell { $0.merge(external, origin: .external) } }
        noteReadable()
    }

    private func noteReadable() {
        loadBackoff.succeed()
        // If edits are pending, writing them determines whether the storage is available.
        if !cache.update({ $0.entries.hasPending }) { noteAvailable() }
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

    private nonisolated func lookLater(after delay: DispatchTimeInterval) {
        executor.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            self?.assumeIsolated { store in
                store.isLookTimed = false
                store.lookAgain()
            }
        }
    }
}
