/// Whether a store's storage can be used.
public enum StorageAvailability: Sendable, Hashable {
    /// It was opened, and nothing failed since.
    case available
    /// It could not be opened, or was last not to be read or written: edits are kept in memory, and the store keeps trying.
    case unavailable(StorageError)
}

/// What is known of a storage's availability, and those who wait for it.
final class AvailabilityState: Sendable {
    private let state: Lock<(availability: StorageAvailability, isOpened: Bool)>
    private let publisher = ChangePublisher<StorageAvailability>()

    init(_ availability: StorageAvailability) {
        state = Lock((availability, availability == .available))
    }

    var value: StorageAvailability {
        state.withLock { $0.availability }
    }

    /// Whether the storage could be read or written once, so that what is stored is known.
    var isOpened: Bool {
        state.withLock { $0.isOpened }
    }

    func noteOpened() {
        state.withLock { $0.isOpened = true }
    }

    /// Tells those who wait, if it is another one.
    func set(_ availability: StorageAvailability) {
        var deliveries = Deliveries()
        state.withLock { state in
            guard state.availability != availability else { return }
            state.availability = availability
            publisher.post(to: &deliveries) { availability }
        }
        deliveries.deliver()
    }

    /// What it is now, and each newer one.
    var updates: AsyncStream<StorageAvailability> {
        let latest = LatestValue<StorageAvailability>()
        var deliveries = Deliveries()
        let token = state.withLock { state in
            publisher.add(
                initial: [{ [availability = state.availability] in availability }],
                Observer(slot: latest.slot, onFinish: { _ in latest.finish() }), to: &deliveries)
        }
        deliveries.deliver()
        return latest.stream(onEnd: token)
    }

    func finish() {
        publisher.finish()
    }
}

extension ObservableStore {
    /// Whether the store's storage can be used at present.
    ///
    /// A store whose storage is unavailable works in memory. It tries again by itself, ever more seldom up to every half minute, whenever
    /// the storage shows a sign of life, and at each ``flush()``; once that succeeds, the edits made meanwhile are laid over what is stored.
    public nonisolated var availability: StorageAvailability {
        availabilityState.value
    }

    /// The storage's availability now and each newer one, as a stream of its own for each call.
    ///
    /// A slow reader gets the newest one only. The stream does not keep the store alive; it ends when the store is closed or goes, and
    /// when its task is cancelled.
    public nonisolated var availabilityUpdates: AsyncStream<StorageAvailability> {
        availabilityState.updates
    }
}
