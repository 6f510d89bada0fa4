public import Foundation
import PropertyListCoding

/// Values by key, kept in a property list, that tells its readers about every change, whoever made it.
///
/// Reading, writing and subscribing are synchronous, from any thread, and never wait for the disk: they work on memory. What is
/// written there is stored at once when the store is idle, together with what came meanwhile when it is busy, and at the latest when
/// the process ends normally. What waits (loading, flushing, transactions, other processes' changes) runs on the actor, whose
/// executor is a serial dispatch queue of its own.
///
/// ```swift
/// let store = try ObservableStore(at: url)
/// store[.volume] = 0.3
/// try await store.flush()
/// for await volume in store.values(of: .volume) { }
/// ```
public actor ObservableStore {
    nonisolated let memory: Memory
    nonisolated let executor: DispatchQueueExecutor
    nonisolated let reports = FailureReports()
    nonisolated let availabilityState: AvailabilityState
    nonisolated let backend: any StorageBackend
    /// What the backend held when it was last asked.
    var base: StorageEntries
    var flushBackoff = Backoff()
    var loadBackoff = Backoff()
    /// Whether a failed look is to be repeated at a time that is set already.
    var isLookTimed = false
    /// An edit that the backend has refused and that no call has thrown yet.
    var refusal: StorageError?
    /// Whether the backend runs an edit, so that what it reports meanwhile has to wait.
    var isCommitting = false
    private nonisolated let watch = Guarded<ObservationToken?>(nil)

    /// The store's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Opens a store on a backend and watches it.
    ///
    /// - Throws: what the backend throws when it cannot be read. Nothing is written.
    public init(backend: any StorageBackend) throws(StorageError) {
        let entries: StorageEntries
        do {
            entries = try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        self.init(backend: backend, entries: entries)
    }

    /// Opens a store on a backend that could not be read: it works in memory, and opens the backend as soon as that can be done.
    init(backend: any StorageBackend, unavailableBecause error: StorageError) {
        self.init(backend: backend, entries: StorageEntries(), availability: .unavailable(error))
        reports.report(error)
    }

    init(backend: any StorageBackend, entries: StorageEntries, availability: StorageAvailability = .available) {
        self.backend = backend
        availabilityState = AvailabilityState(availability)
        base = entries
        executor = DispatchQueueExecutor(label: "ObservableStore \(backend.name)")
        memory = Memory(entries: entries.values, executor: executor)
        StoreRegistry.all.add(ObjectIdentifier(self), lastWrite)
        let token = backend.watch(on: executor.queue) { [weak self] event in self?.receive(event) }
        watch.withLock { $0 = token }
    }

    /// Opens the property list at a place and watches it; a missing file is an empty store, and appears at the first write.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed.
    ///   - onCorruption: what to do about a file that is no readable property list.
    ///   - lockTimeout: how long to wait for other processes that write the file.
    /// - Throws: ``StorageError`` naming the file, the place and the reason. The file is not touched.
    public init(at url: URL, onCorruption: CorruptionPolicy = .refuse, lockTimeout: Duration = .seconds(10)) throws(StorageError) {
        try self.init(backend: PropertyListFile(at: url, onCorruption: onCorruption, lockTimeout: lockTimeout))
    }

    /// What it would write at the end of the process.
    nonisolated var lastWrite: LastWrite {
        LastWrite(memory: memory, backend: backend, reports: reports, executor: executor)
    }

    deinit {
        stopWatching()
        if memory.update({ $0.entries.hasPending }) {
            // Nobody is left to try again later: this is the last attempt, and what it cannot write is lost.
            StoreRegistry.all.write(on: executor.queue) { [lastWrite, availabilityState] in
                lastWrite.make()
                Self.finish(lastWrite.memory, lastWrite.reports, availabilityState)
            }
        } else {
            finishObservations()
        }
        // Not before: the end of the process, which may come meanwhile on another thread, waits for what is known to the registry.
        StoreRegistry.all.remove(ObjectIdentifier(self))
    }

    nonisolated func stopWatching() {
        let token = watch.withLock { $0.take() }
        token?.cancel()
    }

    nonisolated func finishObservations() {
        Self.finish(memory, reports, availabilityState)
    }

    private static func finish(_ memory: Memory, _ reports: FailureReports, _ availability: AvailabilityState) {
        memory.finish()
        reports.finish()
        availability.finish()
    }
}
