import Dispatch

extension ObservableStore {
    /// How often a bad file is read before it counts as one that stays bad: most are just being written.
    private static let patience = 4

    /// Takes a report of the backend; those on the store's own queue enter the actor without a hop.
    nonisolated func receive(_ event: StorageEvent) {
        switch event {
        case .failed(let error):
            reported.publish(error)
        case .changed where executor.isCurrent:
            assumeIsolated { $0.lookAgain() }
        case .changed:
            executor.queue.async { [weak self] in self?.assumeIsolated { $0.lookAgain() } }
        }
    }

    /// Reads what is stored now and tells what others changed. What cannot be read leaves the last good values in force.
    private func lookAgain() {
        do {
            let latest = try backend.load()
            loadBackoff.succeed()
            let external = latest.changes(since: base)
            base = latest
            guard !external.isEmpty else { return }
            memory.change { $0.merge(external, origin: .external) }
            memory.deliver()
        } catch {
            let delay = loadBackoff.fail()
            if loadBackoff.failures == Self.patience { reported.publish(StorageError.reading(backend.name, error)) }
            executor.queue.asyncAfter(deadline: .now() + delay) { [weak self] in self?.receive(.changed) }
        }
    }
}
