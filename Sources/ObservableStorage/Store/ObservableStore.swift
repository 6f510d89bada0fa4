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
    nonisolated let cache: EntryCache
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
    private nonisolated let watch = Lock<ObservationToken?>(nil)

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
        cache = EntryCache(entries: entries.values, executor: executor)
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
        LastWrite(cache: cache, backend: backend, reports: reports, executor: executor)
    }

    deinit {
        stopWatching()
        if cache.update({ $0.entries.hasPending }) {
            // Nobody is left to try again later: this is the last attempt, and what it cannot write is lost.
            StoreRegistry.all.write(on: executor.queue) { [lastWrite, availabilityState] in
                lastWrite.make()
                Self.finish(lastWrite.cache, lastWrite.reports, availabilityState)
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
        Self.finish(cache, reports, availabilityState)
    }

    private static func finish(_ cache: EntryCache, _ reports: FailureReports, _ availability: AvailabilityState) {
        cache.finish()
        reports.finish()
        availability.finish()
    }
}

extension ObservableStore {
    /// The application's own store, opened on first use, where its settings belong: see ``init(suiteName:)`` with the application's name.
    ///
    /// If it cannot be opened, values live in memory until it can; see ``availability``.
    public static let standard = ObservableStore(suiteName: Bundle.applicationDomain)

    /// Opens the store of a suite where settings belong: `NAME.plist` in the configuration folder on Linux, which is the file of
    /// `UserDefaults(suiteName:)` there, and in Application Support on Apple's systems. `prefs NAME` is the same file.
    ///
    /// If it cannot be opened, values live in memory until it can: ``flush()`` throws the reason, ``failures`` has it, and ``availability``
    /// tells when that is over.
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

    /// The one store of this process for a property list, opened on first use; every path to the same file gives the same store.
    ///
    /// It lives as long as somebody keeps it; once it is closed, the next call opens another one. Which file a path leads to is
    /// decided when this is called: a store follows the links of the path that it was opened with.
    ///
    /// - Throws: ``StorageError`` when the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        let path = try PropertyListFile.resolvedPath(of: url)
        if let open = openStore(at: path) { return open }
        // Opening reads the file, which takes too long for a lock: whoever comes second uses what the first one opened.
        let opened = try ObservableStore(at: url)
        return openStore(at: path, or: opened)
    }

    private static func openStore(at path: ResolvedPath) -> ObservableStore? {
        let store = sharedStores.withLock { $0[path]?.object }
        return store.flatMap { $0.isClosed ? nil : $0 }
    }

    private static func openStore(at path: ResolvedPath, or opened: ObservableStore) -> ObservableStore {
        // The stores are taken out of the lock: whoever releases a store last ends it.
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
