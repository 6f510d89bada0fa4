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
    nonisolated func tell<Failure: Error>(_ body: (inout MemoryState) throws(Failure) -> [StoredChange]) throws(Failure) {
        follow(try memory.change(body))
    }

    /// Does what a change of memory calls for.
    nonisolated func follow(_ outcome: (hasNews: Bool, needsFlush: Bool)) {
        if outcome.needsFlush { scheduleFlush() }
        // Who has no news leaves the queue alone: a writer tells its own change before its call returns.
        if outcome.hasNews { memory.deliver() }
    }

    /// Reads what is stored now and tells what others changed. What cannot be read leaves the last good values in force.
    private func lookAgain() {
        guard !memory.update({ $0.isClosed }) else { return }
        if isCommitting { return lookLater(after: .nanoseconds(0)) }
        do {
            let latest = try backend.load()
            loadBackoff.succeed()
            let external = latest.changes(since: base)
            base = latest
            guard !external.isEmpty else { return }
            tell { $0.merge(external, origin: .external) }
        } catch {
            guard !isLookTimed else { return }
            isLookTimed = true
            lookLater(after: loadBackoff.fail())
            if loadBackoff.failures == Self.patience { reports.report(StorageError.reading(backend.name, error)) }
        }
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
