public import Dispatch
public import ObservableStorage

/// A backend that forwards to another one, fails on demand, counts calls, and can be paused during an edit.
public final class UnreliableBackend: BlockingStorageBackend {
    private struct State {
        var failure: StorageError?
        var edits = 0
        var pause: (@Sendable () -> Void)?
    }

    /// Its name in errors.
    public let name = "unreliable"
    /// The underlying backend.
    public let storage: any BlockingStorageBackend
    private let state = Lock(State())

    /// Creates a backend that forwards to another one.
    public init(_ storage: any BlockingStorageBackend = InMemoryBackend()) {
        self.storage = storage
    }

    /// Makes every call fail from now on, or none.
    public func fail(_ error: StorageError?) {
        state.withLock { $0.failure = error }
    }

    /// Calls a closure inside each edit, before it is stored.
    public func pause(_ body: (@Sendable () -> Void)?) {
        state.withLock { $0.pause = body }
    }

    /// The number of requested edits.
    public var edits: Int {
        state.withLock { $0.edits }
    }

    /// Reads, unless it has to fail.
    public func load() throws -> StorageEntries {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        return try storage.load()
    }

    /// Edits, unless it has to fail.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let (failure, pause) = state.withLock { state in
            state.edits += 1
            return (state.failure, state.pause)
        }
        if let failure { throw failure }
        return try storage.edit { entries in
            try body(&entries)
            pause?()
        }
    }

    /// Watches the underlying backend.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        storage.watch(since: revision, on: queue, report)
    }
}
