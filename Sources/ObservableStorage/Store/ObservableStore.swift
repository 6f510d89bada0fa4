public import FoundationSubset

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
    /// The backend, if it keeps a log or a journal.
    nonisolated let journaling: (any JournalingBackend)?
    nonisolated let layerFiles: LayerFiles?
    /// Ends the store's calls of the backend that would lock its file while the store is suspended.
    nonisolated let interruption = Interruption()
    /// What lets the process finish a flush before it is suspended; nil if it needs nothing for that.
    nonisolated let activity: ExpiringActivity?
    /// The entries of the backend when they were last read or written.
    var base: StorageEntries
    var flushBackoff = Backoff()
    var loadBackoff = Backoff()
    var checkpointBackoff = Backoff()
    var replayBackoff = Backoff()
    var checkpoints: Debouncer?
    /// Whether another read, after a failed or incomplete one, is already scheduled.
    var isLookTimed = false
    /// Whether the storage has to be read again after the present operation of it.
    var isLookPending = false
    /// The operations of the storage: one at a time.
    nonisolated let turns = Turns()
    nonisolated let unknownEdits = UnknownEdits()
    /// The edits of the transaction that is being stored, whose own events may arrive before its answer.
    nonisolated let storedTransaction = Lock<(edits: EntryEdits, origin: ChangeOrigin)>(([:], .local))
    /// How many calls of `close` have not returned.
    var closings = 0
    /// An error of an edit that the backend rejected, not thrown by any call yet.
    var refusal: StorageError?
    // The keys of groups in this store, by the type of the group.
    nonisolated let tables = Lock<[ObjectIdentifier: any AnyObject & Sendable]>([:])
    private nonisolated let watch = Lock<ObservationToken?>(nil)

    /// The store's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Opens a store on a backend and watches it; see ``open(_:defaults:mandatory:)`` for backends that do not block.
    ///
    /// - Throws: the error of the backend if it cannot be read. Nothing is written.
    public init(backend: any BlockingStorageBackend) throws(StorageError) {
        self.init(backend: backend, entries: try Self.load(backend))
    }

    /// Opens a store on a backend, with layers of values that are only read, and watches all of them.
    ///
    /// A key has the first of these values: the mandatory one, the stored one, the registered one, that of the defaults, the key's own
    /// default. A key with a mandatory value cannot be set: that throws ``StorageError/mandatory(key:)``, or reports it in ``failures``. An
    /// edit of such a key by another process is stored, and used after the key is no longer mandatory.
    ///
    /// - Parameters:
    ///   - backend: the storage of the store.
    ///   - defaults: storages of default values, those with precedence first.
    ///   - mandatory: storages of mandatory values, those with precedence first.
    /// - Throws: the error of a storage that cannot be read. One that becomes unreadable later keeps its last values, and is reported in
    ///   ``failures``.
    public init(
        backend: any BlockingStorageBackend, defaults: [any BlockingStorageBackend], mandatory: [any BlockingStorageBackend]
    ) throws(StorageError) {
        let layers = LayerFiles(defaults: defaults, mandatory: mandatory)
        try layers.load { error throws(StorageError) in throw error }
        self.init(backend: backend, entries: try Self.load(backend), layers: layers)
    }

    /// Opens a store on any backend, as on a service on other machines, and watches it.
    ///
    /// - Parameters:
    ///   - backend: the storage of the store.
    ///   - defaults: storages of default values, those with precedence first; see ``init(backend:defaults:mandatory:)``.
    ///   - mandatory: storages of mandatory values, those with precedence first.
    /// - Throws: the error of a storage that cannot be read. Nothing is written.
    public static func open(
        _ backend: any StorageBackend, defaults: [any BlockingStorageBackend] = [], mandatory: [any BlockingStorageBackend] = []
    ) async throws(StorageError) -> ObservableStore {
        let layers = LayerFiles(defaults: defaults, mandatory: mandatory)
        let entries = try await StorageReader(backend).load(after: layers)
        return ObservableStore(backend: backend, entries: entries, layers: layers)
    }

    private static func load(_ backend: any BlockingStorageBackend) throws(StorageError) -> StorageEntries {
        do {
            return try backend.load()
        } catch {
            throw StorageError.reading(backend.name, error)
        }
    }

    /// Opens a store that works in memory while its storages cannot be read; they are reported, and opened as soon as possible.
    init(backend: any BlockingStorageBackend, layersIfReadable layers: LayerFiles?) {
        var failures: [StorageError] = []
        do throws(StorageError) {
            try layers?.load { failures.append($0) }
        } catch {
            failures.append(error)
        }
        do throws(StorageError) {
            self.init(backend: backend, entries: try Self.load(backend), layers: layers)
        } catch {
            self.init(backend: backend, entries: StorageEntries(), layers: layers, availability: .unavailable(error))
            failures.append(error)
        }
        for failure in failures { reports.report(failure) }
    }

    init(
        backend: any StorageBackend, entries: StorageEntries, layers: LayerFiles? = nil, availability: StorageAvailability = .available,
        activity: ExpiringActivity? = .system
    ) {
        self.backend = backend
        let journaling = backend as? any JournalingBackend
        self.journaling = journaling
        self.activity = journaling?.isOutsideContainer == true ? activity : nil
        checkpoints = journaling.map { Debouncer(quiet: $0.checkpointDelays.quiet, limit: $0.checkpointDelays.atMost) }
        layerFiles = layers
        availabilityState = AvailabilityState(availability)
        base = entries
        executor = DispatchQueueExecutor(label: "ObservableStore \(backend.name)")
        let logging = journaling.flatMap { $0.hasLog ? $0 : nil }
        cache = EntryCache(
            entries: entries.values, executor: executor, log: EditLog(isOn: logging != nil, refusal: logging?.logObjection),
            makeLog: { [interruption] halfSize throws(EditLogRefusal) in
                guard let logging else { throw EditLogRefusal(error: .closed, isPermanent: true) }
                if interruption.isRequested { throw EditLogRefusal(error: .suspended(file: backend.name)) }
                return try logging.makeLog(halfSize: halfSize)
            })
        cache.update { ($0.storageRevision, $0.limits) = (entries.revision, backend.limits) }
        if backend.isReadOnly { cache.update { $0.readOnlyFile = backend.name } }
        StoreRegistry.all.add(self)
        LifeCycleObserver.start()
        if let backend = backend as? any NameObservingBackend {
            let names = UsedNames(queue: executor.queue) { backend.addUsed($0) }
            cache.update { $0.entries.usedNames = names }
        }
        let token = backend.watch(since: entries.revision, on: executor.queue) { [weak self] event in self?.receive(event) }
        watch.withLock { $0 = token }
        noteLayersChanged()
        layers?.watch(on: executor.queue, reports) { [weak self] in self?.noteLayersChanged() }
    }

    /// Opens the property list at a URL and watches it; a missing file is an empty store, and is created by the first write.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed.
    ///   - access: whether the store writes the file.
    ///   - journal: what protects edits that are not in the file yet.
    /// - Throws: ``StorageError`` naming the file, the offset and the reason. The file is not changed.
    public init(at url: URL, access: StorageAccess = .readWrite, journal: JournalMode = .edits) throws(StorageError) {
        try self.init(backend: PropertyListFile(at: url, access: access, journal: journal))
    }

    /// Opens the property list at a URL and watches it; see ``init(at:access:journal:)``.
    public init(at url: URL, configuration: PropertyListFile.Configuration) throws(StorageError) {
        try self.init(backend: PropertyListFile(at: url, configuration: configuration))
    }

    /// Opens the property list at a URL with layers of property lists that are only read: defaults below it, and mandatory values above it,
    /// as administrators provide them.
    ///
    /// - Parameters:
    ///   - url: the file; see ``init(at:access:journal:)``.
    ///   - defaults: files of default values, those with precedence first; missing files have none.
    ///   - mandatory: files of mandatory values, those with precedence first; see ``init(backend:defaults:mandatory:)``.
    /// - Throws: ``StorageError`` naming the file that cannot be read.
    public init(at url: URL, defaults: [URL], mandatory: [URL] = []) throws(StorageError) {
        try self.init(
            backend: PropertyListFile(at: url), defaults: defaults.map { PropertyListFile(at: $0, access: .readOnly) },
            mandatory: mandatory.map { PropertyListFile(at: $0, access: .readOnly) })
    }

    /// The name of the storage in errors: the path of the file, unless the store has another backend.
    public nonisolated var name: String { backend.name }

    /// The file of the store; nil if it is not stored in one file.
    public nonisolated var url: URL? { backend.url }

    /// The revision of the storage whose changes, by any writer, the store has told of; nil if the storage has no revisions.
    ///
    /// Edits of this store that are not written yet come after it.
    public nonisolated var storageRevision: StorageRevision? {
        cache.update { $0.storageRevision }
    }

    /// Whether the store's file is where the system does not let suspended processes lock it, such as in the container of an app group.
    nonisolated var isOutsideContainer: Bool { journaling?.isOutsideContainer ?? false }

    /// The write that the store makes at the end of the process.
    nonisolated var lastWrite: LastWrite {
        LastWrite(
            cache: cache, backend: backend, journaling: journaling, reports: reports, unknownEdits: unknownEdits, executor: executor,
            turns: turns)
    }

    deinit {
        stopWatching()
        if cache.update({ $0.entries.hasPending }) || journaling?.needsCheckpoint == true {
            // There is no later attempt: edits that this one cannot write are lost.
            StoreRegistry.all.write(lastWrite, during: activity) { [lastWrite, availabilityState] in
                lastWrite.cache.leaveLog()
                Self.finish(lastWrite.cache, lastWrite.reports, availabilityState)
            }
        } else {
            cache.endLog()
            finishObservations()
        }
        // Removed last: the process may exit meanwhile on another thread, and waits for the stores in the registry only.
        StoreRegistry.all.remove(ObjectIdentifier(self))
    }

    nonisolated func stopWatching() {
        let token = watch.withLock { $0.take() }
        token?.cancel()
        layerFiles?.stopWatching()
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
    /// Opens the store of a suite in the standard folder for settings: `NAME.plist` in the configuration folder on Linux, which is the file
    /// of `UserDefaults(suiteName:)` there, and in Application Support on Apple's systems. `prefs NAME` uses the same file. On tvOS it is in
    /// Caches, as applications have no other folder there, where the system may remove it: ``durability`` is ``EditDurability/purgeable``.
    ///
    /// On Linux, administrators can provide defaults in `NAME.plist` and mandatory values in `NAME.mandatory.plist`, in the folders of
    /// `$XDG_CONFIG_DIRS`, by default `/etc/xdg`; see ``init(backend:defaults:mandatory:)``.
    ///
    /// In a service of systemd, it is in the service's state folder, see <doc:Services>.
    ///
    /// If it cannot be opened, values are kept in memory until it can: ``flush(to:)`` throws the reason, ``failures`` reports it, and
    /// ``availability`` changes after it was opened.
    ///
    /// - Parameters:
    ///   - suiteName: the name of the suite.
    ///   - configuration: how its file is read, written and protected.
    public init(suiteName: String, configuration: PropertyListFile.Configuration = PropertyListFile.Configuration()) {
        let (defaults, mandatory) = PropertyListFile.administratorsFiles(ofSuite: suiteName)
        self.init(
            backend: PropertyListFile(suiteName: suiteName, configuration: configuration),
            layersIfReadable: LayerFiles(defaults: defaults, mandatory: mandatory))
    }
}
