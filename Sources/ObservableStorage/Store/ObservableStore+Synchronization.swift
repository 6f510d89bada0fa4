import Dispatch

extension ObservableStore {
    /// Writes everything that is still in memory only, and returns when it is on disk.
    ///
    /// A storage that could not be opened is opened first.
    ///
    /// - Throws: ``StorageError`` naming the file; the edits stay in memory and are tried again. ``StorageError/unencodable(key:reason:)`` when an
    ///   edit since the last flush was of a value that cannot be stored there: that one was taken back, all others are on disk.
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

    /// Writes what is in memory only, ends every stream, and stops watching. Later edits are refused.
    ///
    /// - Parameter discardsEdits: whether the store is closed even if the edits cannot be written. They are lost then, which is reported in
    ///   ``failures``.
    /// - Throws: ``StorageError`` when the edits cannot be written; the store stays open then and nothing is lost.
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
            // They leave the lock before they are released.
            let edits = cache.update { $0.discardPending() }
            reports.report(error.with(.lost(keys: edits.keys.sorted())))
        }
        stopWatching()
        finishObservations()
    }

    /// Errors that no caller is there to catch: failed write-behind, property setters, a file that stays bad, a fallback to polling.
    ///
    /// A stream of its own for each call, until the store is closed or goes. It begins with what nobody has heard yet. What nobody asks for
    /// within a second, or by the end of the process, is logged once: to standard error, and to the system's log on Apple's systems.
    public nonisolated var failures: AsyncStream<StorageError> {
        reports.stream
    }

    /// How long the normal end of the process may wait for edits that are not on disk yet; 2 seconds unless it is set.
    ///
    /// What cannot be written in that time is lost, and logged. For all stores of the process.
    public static var exitTimeout: Duration {
        get { StoreRegistry.exitTimeout.withLock { $0 } }
        set { StoreRegistry.exitTimeout.withLock { $0 = newValue } }
    }

    /// Writes the pending edits as soon as the queue comes to it; keeps the store alive until then.
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

    /// Writes the pending edits after a time, unless they are written before; does not keep the store alive until then.
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

    /// Tries again soon what could not be written: the storage has shown that something about it has changed.
    func hastenFlush() {
        if cache.update({ $0.entries.hasPending }), let delay = flushBackoff.hint() { scheduleFlush(after: delay, isHinted: true) }
    }

    private func writeEditsBehind() {
        do {
            try writeEdits()
        } catch {
            // It has been reported.
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
    /// How often a bad file is read before it counts as one that stays bad: most are just being written.
    private static let patience = 4

    /// Takes a report of the backend; those on the store's own queue enter the actor without a hop.
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

    /// Changes memory and tells observers about it.
    nonisolated func tell<Failure: Error>(_ body: (inout EntryCacheState) throws(Failure) -> [EntryChange]) throws(Failure) {
        follow(try cache.change(body))
    }

    /// Does what a change of memory calls for.
    nonisolated func follow(_ outcome: (deliveries: Deliveries, needsFlush: Bool)) {
        if outcome.needsFlush { scheduleFlush() }
        cache.deliver(outcome.deliveries)
    }

    /// Reads what is stored now and tells what others changed. What cannot be read leaves the last good values in force.
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
            // Of one that could not be opened only a new reason is deliveries.
            if availabilityState.isOpened ? loadBackoff.failures == Self.patience : availability != .unavailable(error) {
                noteUnreadable(error)
            }
        }
    }

    /// Reads what is stored now and tells what others changed.
    func load() throws(StorageError) {
        let latest: StorageEntries
        do {
            latest = try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        let external = latest.changes(since: base)
        base = latest
        // Before anybody is told: what is told may migrate.
        availabilityState.noteOpened()
        if !external.isEmpty { tell { $0.merge(external, origin: .external) } }
        noteReadable()
    }

    private func noteReadable() {
        loadBackoff.succeed()
        // Whether it can be written shows when the edits are.
        if !cache.update({ $0.entries.hasPending }) { noteAvailable() }
    }

    /// Notes that nothing is wrong with the storage at present.
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
