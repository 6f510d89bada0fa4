import Dispatch

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
    nonisolated func tell<Failure: Error>(_ body: (inout MemoryState) throws(Failure) -> [EntryChange]) throws(Failure) {
        follow(try memory.change(body))
    }

    /// Does what a change of memory calls for.
    nonisolated func follow(_ outcome: Memory.Outcome) {
        if outcome.needsFlush { scheduleFlush() }
        memory.deliver(outcome.news)
    }

    /// Reads what is stored now and tells what others changed. What cannot be read leaves the last good values in force.
    private func lookAgain() {
        guard !memory.update({ $0.isClosed }) else { return }
        if isCommitting { return lookLater(after: .nanoseconds(0)) }
        do throws(StorageError) {
            try load()
            hastenFlush()
        } catch {
            guard !isLookTimed else { return }
            isLookTimed = true
            lookLater(after: loadBackoff.fail())
            // Of one that could not be opened only a new reason is news.
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
        if !memory.update({ $0.entries.hasPending }) { noteAvailable() }
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
