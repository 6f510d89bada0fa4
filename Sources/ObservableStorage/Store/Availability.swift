/// Whether a store's storage can be used.
public enum StorageAvailability: Sendable, Hashable {
    /// The storage was opened, and nothing has failed since.
    case available
    /// The storage could not be opened, or the last read or write failed: edits are kept in memory, and the store tries again.
    case unavailable(StorageError)
}

/// The availability of a storage, and its subscribers.
final class AvailabilityState: Sendable {
    private let state: Lock<StorageAvailability>
    private let publisher = ChangePublisher<StorageAvailability>()

    init(_ availability: StorageAvailability) {
        state = Lock(availability)
    }

    var value: StorageAvailability {
        state.withLock { $0 }
    }

    /// Sets the availability, and notifies subscribers if it is a different one; returns whether it is.
    @discardableResult
    func set(_ availability: StorageAvailability) -> Bool {
        var deliveries = Deliveries()
        let isChanged = state.withLock { state in
            guard state != availability else { return false }
            state = availability
            publisher.post(availability, to: &deliveries)
            return true
        }
        deliveries.deliver()
        return isChanged
    }

    var updates: AsyncStream<StorageAvailability> {
        let latest = LatestSlot()
        var deliveries = Deliveries()
        let token = state.withLock { state in
            publisher.add(initial: [state], .slot(latest), to: &deliveries)
        }
        deliveries.deliver()
        return latest.values(onEnd: token)
    }

    func finish() {
        publisher.finish()
    }
}

extension ObservableStore {
    /// Whether the store's storage can be used at present.
    ///
    /// A store whose storage is unavailable works in memory. It tries again by itself, at intervals that increase to half a minute,
    /// whenever the storage reports an event, and at each ``flush(to:)``; after that succeeds, the edits made meanwhile are applied to the
    /// stored entries.
    /// What is removed meanwhile is removed from them; a value that is not known yet can be set, but not modified (`+=`), which is reported.
    public nonisolated var availability: StorageAvailability {
        synchronizer.availability.value
    }

    /// The names of the entries with edits that are in memory only, and are still to be written.
    ///
    /// Empty soon after an edit, unless the edits wait for a storage that cannot be used, see ``availability``. Edits that are being written
    /// at that moment are included.
    public nonisolated var unwrittenKeys: Set<String> {
        cache.update { Set($0.entries.pending.keys) }
    }

    /// The storage's current availability and each later one, as a new stream for each call.
    ///
    /// A slow reader receives the newest one only. The stream does not retain the store; it ends when the store is closed or released, and
    /// when its task is cancelled.
    public nonisolated var availabilityUpdates: AsyncStream<StorageAvailability> {
        synchronizer.availability.updates
    }
}
