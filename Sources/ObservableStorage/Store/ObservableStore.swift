public import Foundation
import PropertyListCoding

/// Values by key, stored in a property list. Observers are notified of every change, including those by other processes.
///
/// Reading, writing and subscribing are synchronous, from any thread, and never wait for the disk: they access memory. Edits are written
/// immediately if the store is idle, together with later ones if it is busy, and at the latest when the process exits normally. Operations
/// that wait (loading, flushing, transactions, changes by other processes) run on the actor, whose executor is a serial dispatch queue of
/// its own.
///
/// ```swift
/// let store = try ObservableStore(at: url)
/// store[.volume] = 0.3
/// try await store.flush()
/// for await volume in store.values(of: .volume) { }
/// ```
public actor ObservableStore {
    nonisolated let cache: EntryCache
    nonisolated let executor: DispatchQueueExecutor
    nonisolated let reports = FailureReports()
    nonisolated let availabilityState: AvailabilityState
    nonisolated let backend: any StorageBackend
    /// The entries of the backend when they were last read or written.
    var base: StorageEntries
    var flushBackoff = Backoff()
    var loadBackoff = Backoff()
    /// Whether another read, after a failed one, is already scheduled.
    var isLookTimed = false
    /// An error of an edit that the backend rejected, not thrown by any call yet.
    var refusal: StorageError?
    /// Whether the backend is running an edit, during which its events have to wait.
    var isCommitting = false
    private nonisolated let watch = Lock<ObservationToken?>(nil)

    /// The store's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Opens a store on a backend and watches it.
    ///
    /// - Throws: the error of the backend if it cannot be read. Nothing is written.
    public init(backend: any StorageBackend) throws(StorageError) {
        let entries: StorageEntries
        do {
            entries = try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
        self.init(backend: backend, entries: entries)
    }

    /// Opens a store on a backend that could not be read: it works in memory, and opens the backend as soon as possible.
    init(backend: any StorageBackend, unavailableBecause error: StorageError) {
        self.init(backend: backend, entries: StorageEntries(), availability: .unavailable(error))
        reports.report(error)
    }

    init(backend: any StorageBackend, entries: StorageEntries, availability: StorageAvailability = .available) {
        self.backend = backend
        availabilityState = AvailabilityState(availability)
        base = entries
        executor = DispatchQueueExecutor(label: "ObservableStore \(backend.name)")
        cache = EntryCache(entries: entries.values, executor: executor)
        StoreRegistry.all.add(ObjectIdentifier(self), lastWrite)
        let token = backend.watch(on: executor.queue) { [weak self] event in self?.receive(event) }
        watch.withLock { $0 = token }
    }

    /// Opens the property list at a URL and watches it; a missing file is an empty store, and is created by the first write.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed.
    ///   - onCorruption: what to do if the file is not a readable property list.
    ///   - lockTimeout: how long to wait for other processes that write the file.
    /// - Throws: ``StorageError`` naming the file, the offset and the reason. The file is not changed.
    public init(at url: URL, onCorruption: CorruptionPolicy = .refuse, lockTimeout: Duration = .seconds(10)) throws(StorageError) {
        try self.init(backend: PropertyListFile(at: url, onCorruption: onCorruption, lockTimeout: lockTimeout))
    }

    /// The write that the store makes at the end of the process.
    nonisolated var lastWrite: LastWrite {
        LastWrite(cache: cache, backend: backend, reports: reports, executor: executor)
    }

    deinit {
        stopWatching()
        if cache.update({ $0.entries.hasPending }) {
            // There is no later attempt: edits that this one cannot write are lost.
            StoreRegistry.all.write(on: executor.queue) { [lastWrite, availabilityState] in
                lastWrite.make()
                Self.finish(lastWrite.cache, lastWrite.reports, availabilityState)
            }
        } else {
            finishObservations()
        }
        // Removed last: the process may exit meanwhile on another thread, and waits for the stores in the registry only.
        StoreRegistry.all.remove(ObjectIdentifier(self))
    }

    nonisolated func stopWatching() {
        let token = watch.withLock { $0.take() }
        token?.cancel()
    }

    nonisolated func finishObservations() {
        Self.finish(cache, reports, availabilityState)
    }

    private static func finish(_ cache: EntryCache, _ reports: FailureReports, _ availability: AvailabilityState) {
        cache.finish()
        reports.finish()
        availability.finish()
    }
}

extension ObservableStore {
    /// The application's own store, opened on first use in the standard folder for settings: ``init(suiteName:)`` with the application's
    /// name.
    ///
    /// If it cannot be opened, values are kept in memory until it can; see ``availability``.
    public static let standard = ObservableStore(suiteName: Bundle.applicationDomain)

    /// Opens the store of a suite in the standard folder for settings: `NAME.plist` in the configuration folder on Linux, which is the file
    /// of `UserDefaults(suiteName:)` there, and in Application Support on Apple's systems. `prefs NAME` uses the same file.
    ///
    /// If it cannot be opened, values are kept in memory until it can: ``flush()`` throws the reason, ``failures`` reports it, and
    /// ``availability`` changes after it was opened.
    public init(suiteName: String) {
        let file = PropertyListFile(suiteName: suiteName)
        do {
            try self.init(backend: file)
        } catch {
            self.init(backend: file, unavailableBecause: error)
        }
    }
}

extension ObservableStore {
    private static let sharedStores = Lock<[ResolvedPath: WeakReference<ObservableStore>]>([:])

    /// The one store of this process for a property list, opened on first use; every path to the same file returns the same store.
    ///
    /// It exists as long as it is retained; after it is closed, the next call opens another one. The file to which a path leads is
    /// determined when this method is called: a store follows the links of the path with which it was opened.
    ///
    /// - Throws: ``StorageError`` if the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        let path = try PropertyListFile.resolvedPath(of: url)
        if let open = openStore(at: path) { return open }
        // Opening reads the file, which is too slow inside a lock: a second thread uses the store that the first one opened.
        let opened = try ObservableStore(at: url)
        return openStore(at: path, or: opened)
    }

    private static func openStore(at path: ResolvedPath) -> ObservableStore? {
        let store = sharedStores.withLock { $0[path]?.object }
        return store.flatMap { $0.isClosed ? nil : $0 }
    }

    private static func openStore(at path: ResolvedPath, or opened: ObservableStore) -> ObservableStore {
        // The stores are moved out of the lock: releasing the last reference to one runs its deinit.
        let (store, _) = sharedStores.take { stores in
            let alive = stores.compactMapValues(\.object)
            let known = alive[path].flatMap { $0.isClosed ? nil : $0 } ?? opened
            stores = stores.filter { alive[$0.key] != nil }
            stores[path] = WeakReference(known)
            return (known, alive)
        }
        return store
    }

    private nonisolated var isClosed: Bool {
        cache.update { $0.isClosed }
    }
}
