import Dispatch

/// The backend of a store, which runs one operation at a time, in the order of the calls, on the store's queue.
///
/// A suspension ends the operations that would lock the file of the storage.
final class SerializedBackend: Sendable {
    let backend: any StorageBackend
    /// The backend, if it keeps a log or a journal.
    let journaling: (any JournalingBackend)?
    let executor: DispatchQueueExecutor
    let interruption = Interruption()
    /// The activity during which a write is finished before the system suspends the process; nil if none is needed.
    let activity: ExpiringActivity?
    private let turns = Lock<(isTaken: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))
    /// When the storage and the layers of the store are watched.
    let watchStart: WatchStart
    private let watch = Lock<ObservationToken?>(nil)
    // The most edits in one commit, after more were refused as too large, and how many commits of that size were stored since; nil if none
    // were refused.
    private let learned = Lock<(maximum: Int, stored: Int)?>(nil)

    init(_ backend: any StorageBackend, activity: ExpiringActivity?) {
        self.backend = backend
        journaling = backend as? any JournalingBackend
        executor = DispatchQueueExecutor(label: "ObservableStore \(backend.name)")
        watchStart = WatchStart(on: executor.queue)
        self.activity = journaling?.isOutsideContainer == true ? activity : nil
    }

    var name: String { backend.name }

    /// Whether the file is where the system does not let suspended processes lock it, as in the container of an app group.
    var isOutsideContainer: Bool { journaling?.isOutsideContainer ?? false }

    /// The cache of a store on the backend, with the entries that were read, and the backend's limits and log.
    ///
    /// - Parameter isOpened: whether they were read; otherwise the storage could not be opened.
    func makeCache(of entries: StorageEntries, isOpened: Bool) -> EntryCache {
        let logging = journaling.flatMap { $0.hasLog ? $0 : nil }
        let cache = EntryCache(
            entries: entries.stored, executor: executor, watchStart: watchStart,
            log: EditLog(isOn: logging != nil, refusal: logging?.logObjection),
            makeLog: { [interruption, name] halfSize throws(EditLogRefusal) in
                guard let logging else { throw EditLogRefusal(error: .closed, recurrence: .certain) }
                if interruption.isRequested { throw EditLogRefusal(error: .suspended(file: name), recurrence: .never) }
                return try logging.makeLog(halfSize: halfSize)
            })
        cache.update { state in
            (state.storageRevision, state.limits, state.entries.isOpened) = (entries.revision, backend.limits, isOpened)
            if backend.isReadOnly { state.readOnlyFile = name }
            state.entries.onUse = (backend as? any CommittingBackend)?.onUse
        }
        return cache
    }

    // MARK: Limits

    /// The limits of a commit: those of the backend, or fewer edits if it has refused more as too large.
    var limits: StorageLimits {
        var limits = backend.limits
        if let learned = learned.withLock({ $0 }) { limits.operations = min(learned.maximum, limits.operations ?? .max) }
        return limits
    }

    /// Halves the number of edits in one commit after some were refused as too large; returns false if those cannot be divided.
    func divide(_ edits: [String: PendingEdit]) -> Bool {
        guard Set(edits.values.map(\.revision)).count > 1 else { return false }
        learned.withLock { $0 = (max(1, min(edits.count, $0?.maximum ?? .max) / 2), 0) }
        return true
    }

    /// Doubles the number of edits in one commit after enough commits were stored with as many: large values may have been the reason.
    func didStore(_ edits: [String: PendingEdit]) {
        learned.withLock { learned in
            guard let (maximum, stored) = learned, edits.count >= maximum else { return }
            learned = stored + 1 < Self.commitsBeforeGrowth ? (maximum, stored + 1) : (maximum * 2, 0)
        }
    }

    private static let commitsBeforeGrowth = 16

    // MARK: Events

    /// Calls a closure on the store's queue with each event of the backend, until ``stopWatching()``.
    func startWatching(since revision: StorageRevision?, _ onEvent: @escaping @Sendable (StorageEvent) -> Void) {
        watch.exchange(backend.watch(since: revision, on: executor.queue, from: watchStart, onEvent))
    }

    func stopWatching() {
        watch.take { $0.take() }?.cancel()
    }

    // MARK: Operations

    /// Runs an operation after those that began earlier.
    nonisolated(nonsending) func inTurn<Result>(
        _ operation: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = turns.withLock { turns in
                if turns.isTaken { turns.waiting.append(continuation) }
                defer { turns.isTaken = true }
                return !turns.isTaken
            }
            if isFree { continuation.resume() }
        }
        defer { endTurn() }
        return try await operation()
    }

    /// Whether an operation waits for the end of another one.
    var isAwaited: Bool { turns.withLock { !$0.waiting.isEmpty } }

    private func endTurn() {
        let next = turns.withLock { turns in
            turns.isTaken = !turns.waiting.isEmpty
            return turns.waiting.isEmpty ? nil : turns.waiting.removeFirst()
        }
        next?.resume()
    }

    /// Requests the activity during which the file is locked, if the system requires one. The caller finishes it.
    func requestActivity() -> FlushAssertion? {
        activity.map { FlushAssertion($0, of: name, interruption) }
    }

    /// Whether the journal has commits that the storage lacks.
    var needsCheckpoint: Bool { journaling?.needsCheckpoint == true }
}

// Isolated to the actor: a closure that inherits the isolation of its caller would run on the thread pool inside `cover(_:)`.
extension Synchronizer {
    /// Reads the entries, after earlier operations.
    func load() async throws(StorageError) -> StorageEntries {
        do {
            return try await storage.inTurn { try await self.loadInTurn() }
        } catch {
            throw StorageError.reading(storage.name, error)
        }
    }

    private func loadInTurn() async throws -> StorageEntries {
        schedule.isReadQueued = false
        return try await storage.interruption.cover { try await self.storage.backend.load() }
    }

    /// Reads the commits after a revision, after earlier operations; nil if the backend does not remember all of them.
    func commits(since revision: StorageRevision) async throws(StorageError) -> [StorageCommit]? {
        do {
            return try await storage.inTurn {
                try await self.storage.interruption.cover { try await self.storage.backend.commits(since: revision) }
            }
        } catch {
            throw StorageError.reading(storage.name, error)
        }
    }

    /// Writes the commits of the journal into the storage, after earlier operations.
    func checkpoint() async throws(StorageError) {
        guard let journaling = storage.journaling, journaling.needsCheckpoint else { return }
        if isSuspended { throw .suspended(file: storage.name) }
        do {
            try await storage.inTurn {
                let activity = self.storage.requestActivity()
                defer { activity?.finish() }
                try await self.storage.interruption.cover { try journaling.checkpoint() }
            }
            releaseDecodedValues()
        } catch {
            throw StorageError.writing(storage.name, error)
        }
    }

    /// Makes the commits of the journal durable, after earlier operations.
    func synchronizeJournal() async throws {
        guard let journaling = storage.journaling, journaling.needsSynchronization else { return }
        try await storage.inTurn {
            try await self.storage.interruption.cover { try journaling.synchronizeJournal() }
        }
    }
}
