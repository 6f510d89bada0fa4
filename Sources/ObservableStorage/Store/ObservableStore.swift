public import FoundationSubset

/// Values by key, stored in a property list. Observers are notified of every change, including those by other processes.
///
/// Reading, writing and subscribing are synchronous, from any thread, and never wait for the disk: they access memory. Edits are written
/// immediately if the store is idle, together with later ones if it is busy, and at the latest when the store is released or the process exits
/// normally. Operations that wait (loading, flushing, transactions, changes by other processes) run on the actor, whose executor is a serial
/// dispatch queue of its own. Neither streams nor tokens retain the store: they end with it.
///
/// ```swift
/// let store = try ObservableStore(at: url)
/// store[.volume] = 0.3
/// try await store.flush()
/// for await volume in store.values(of: .volume) { }
/// ```
public actor ObservableStore {
    nonisolated let cache: EntryCache
    nonisolated let backend: any StorageBackend
    nonisolated let synchronizer: Synchronizer
    nonisolated let layerFiles: LayerFiles
    // The keys of groups in this store, by the type of the group.
    nonisolated let tables = Lock<[ObjectIdentifier: any AnyObject & Sendable]>([:])

    /// The store's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        synchronizer.unownedExecutor
    }

    /// Opens a store on a backend and watches it; see ``open(_:defaults:mandatory:overrides:)`` for backends that do not block.
    ///
    /// Layers of values that are only read are watched as well. A key has the first of these values: the mandatory one, the override, the
    /// stored one, the registered one, that of the defaults, the key's own default. A key with a mandatory value cannot be set: that throws
    /// ``StorageError/mandatory(key:)``, or reports it in ``failures``. An edit of such a key by another process is stored, and used after the
    /// key is no longer mandatory.
    ///
    /// - Parameters:
    ///   - backend: the storage of the store.
    ///   - defaults: storages of default values, those with precedence first.
    ///   - mandatory: storages of mandatory values, those with precedence first.
    ///   - overrides: sources of values that hide stored ones in this process, those with precedence first; see ``OverrideSource``.
    /// - Throws: the error of a storage that cannot be read; nothing is written. One that becomes unreadable later keeps its last values,
    ///   and is reported in ``failures``.
    public init(
        backend: any BlockingStorageBackend, defaults: [any BlockingStorageBackend] = [], mandatory: [any BlockingStorageBackend] = [],
        overrides: [OverrideSource] = []
    ) throws(StorageError) {
        let layers = LayerFiles(defaults: defaults, mandatory: mandatory)
        try layers.load()
        self.init(backend: backend, entries: try Self.load(backend), layers: layers, overrides: overrides)
    }

    /// Opens a store on any backend, as on a service on other machines, and watches it.
    ///
    /// - Parameters:
    ///   - backend: the storage of the store.
    ///   - defaults: storages of default values, those with precedence first; see ``init(backend:defaults:mandatory:overrides:)``.
    ///   - mandatory: storages of mandatory values, those with precedence first.
    ///   - overrides: sources of values that hide stored ones in this process, those with precedence first; see ``OverrideSource``.
    /// - Throws: the error of a storage that cannot be read. Nothing is written. ``StorageError/unwritable(file:reason:edits:)`` in a forked
    ///   child, where the store could do nothing.
    public nonisolated(nonsending) static func open(
        _ backend: any StorageBackend, defaults: [any BlockingStorageBackend] = [], mandatory: [any BlockingStorageBackend] = [],
        overrides: [OverrideSource] = []
    ) async throws(StorageError) -> ObservableStore {
        if let error = StoreRegistry.all.forkError(of: backend.name) { throw error }
        return try await read(backend, after: LayerFiles(defaults: defaults, mandatory: mandatory), overrides: overrides)
    }

    /// Runs on no actor: there may be many entries.
    private nonisolated static func read(
        _ backend: any StorageBackend, after layers: LayerFiles, overrides: [OverrideSource]
    ) async throws(StorageError) -> ObservableStore {
        let entries = try await backend.loadEntries(after: layers)
        return ObservableStore(backend: backend, entries: entries, layers: layers, overrides: overrides)
    }

    static func load(_ backend: any BlockingStorageBackend) throws(StorageError) -> StorageEntries {
        do {
            return try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
    }

    /// Opens a store that works in memory while its storages cannot be read; they are reported, and opened as soon as possible.
    init(backend: any BlockingStorageBackend, layersIfReadable layers: LayerFiles, overrides: [OverrideSource] = []) {
        var failures = layers.loadReadable()
        do throws(StorageError) {
            self.init(backend: backend, entries: try Self.load(backend), layers: layers, overrides: overrides)
        } catch {
            self.init(
                backend: backend, entries: StorageEntries(), layers: layers, overrides: overrides, availability: .unavailable(error))
            failures.append(error)
        }
        for failure in failures { reports.report(failure) }
    }

    init(
        backend: any StorageBackend, entries: StorageEntries, layers: LayerFiles = LayerFiles(), overrides: [OverrideSource] = [],
        availability: StorageAvailability = .available, activity: ExpiringActivity? = FlushAssertion.system
    ) {
        let storage = SerializedBackend(backend, activity: activity)
        self.backend = backend
        cache = storage.makeCache(of: entries, isOpened: availability == .available)
        cache.open(overrides)
        synchronizer = Synchronizer(cache, with: storage, entries: entries, AvailabilityState(availability))
        layerFiles = layers
        layers.startWatching(on: executor.queue, from: storage.watchStart, for: cache)
        storage.watchStart.requestLater()
    }

    /// Opens the property list at a URL and watches it; a missing file is an empty store, and is created by the first write.
    ///
    /// ```swift
    /// let store = try ObservableStore(at: url, access: .readOnly, overrides: [.environment(prefix: "APP")])
    /// ```
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed.
    ///   - access: whether the store writes the file; nil for what the configuration says.
    ///   - journal: what protects edits that are not in the file yet; nil for what the configuration says.
    ///   - defaults: files of default values, as administrators provide them, those with precedence first; missing files have none.
    ///   - mandatory: files of mandatory values, those with precedence first; see ``init(backend:defaults:mandatory:overrides:)``.
    ///   - configuration: how the file is read, written and protected.
    ///   - overrides: sources of values that hide stored ones in this process, those with precedence first; see ``OverrideSource``.
    /// - Throws: ``StorageError`` naming the file, the offset and the reason. The file is not changed.
    public init(
        at url: URL, access: StorageAccess? = nil, journal: JournalMode? = nil, defaults: [URL] = [], mandatory: [URL] = [],
        configuration: PropertyListFile.Configuration = PropertyListFile.Configuration(), overrides: [OverrideSource] = []
    ) throws(StorageError) {
        try self.init(
            backend: PropertyListFile(at: url, access: access, journal: journal, configuration: configuration),
            defaults: defaults.map { PropertyListFile(at: $0, access: .readOnly) },
            mandatory: mandatory.map { PropertyListFile(at: $0, access: .readOnly) }, overrides: overrides)
    }

    /// The name of the storage in errors: the path of the file, unless the store has another backend.
    public nonisolated var name: String { backend.name }

    /// The file of the store; nil if it is not stored in one file.
    public nonisolated var url: URL? { journaling?.url }

    /// The revision of the storage up to which the store has the changes of every writer; nil if the storage has no revisions.
    ///
    /// Edits of this store that are not written yet come after it.
    public nonisolated var storageRevision: StorageRevision? {
        cache.update { $0.storageRevision }
    }

    nonisolated var reports: FailureReports { cache.reports }

    nonisolated var executor: DispatchQueueExecutor { synchronizer.storage.executor }

    nonisolated var journaling: (any JournalingBackend)? { synchronizer.storage.journaling }
}

extension ObservableStore: CustomReflectable {
    /// The storage and the revision, without values.
    public nonisolated var customMirror: Mirror {
        Mirror(self, children: ["name": name, "revision": revision], ancestorRepresentation: .suppressed)
    }
}
