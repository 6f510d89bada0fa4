/// The errors of a backend, reported to the stores that watch it, or kept for the first one that does.
final class BackendReports: Sendable {
    private let publisher = ChangePublisher<StorageError>()
    let kept = Lock<[StorageError]>([])
    private let reportedOnce = Lock<Set<StorageError>>([])

    /// Reports errors to the watching stores, or to the first that watches.
    func report(_ errors: [StorageError]) {
        guard !errors.isEmpty else { return }
        kept.withLock { $0 += errors }
        publishKept()
    }

    func reportOnce(_ error: StorageError) {
        if reportedOnce.withLock({ $0.insert(error).inserted }) { report([error]) }
    }

    /// Reports an error to the stores that watch at present only.
    func publish(_ error: StorageError) {
        publisher.publish(error)
    }

    /// Calls a closure with each error from now on, and with those that were kept.
    func subscribe(_ onReceive: @escaping @Sendable (StorageError) -> Void) -> ObservationToken {
        defer { publishKept() }
        return publisher.subscribe(onReceive)
    }

    /// Removes the errors that were kept, so that they are not reported any more.
    func take() -> [StorageError] {
        kept.exchange([])
    }

    private func publishKept() {
        guard !publisher.isIdle else { return }
        for error in take() { publisher.publish(error) }
    }
}
