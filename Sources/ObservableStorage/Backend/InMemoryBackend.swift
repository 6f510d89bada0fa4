public import Dispatch
public import PropertyListCoding

/// Entries in memory: for tests and previews. Several stores on one backend behave like several processes on one file.
public final class InMemoryBackend: StorageBackend {
    /// The name of the storage in errors.
    public let name = "memory"
    private let state: Lock<(entries: StorageEntries, version: Int)>
    private let edits = ChangePublisher<StorageEvent>()

    /// Creates a backend with some entries.
    public init(_ entries: [String: PropertyListValue] = [:]) {
        state = Lock((StorageEntries(entries), 0))
    }

    /// The current entries.
    public func load() -> StorageEntries {
        state.withLock { $0.entries }
    }

    /// Runs an edit on the latest entries, and again if another edit was stored meanwhile.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            let (before, version) = state.withLock { $0 }
            var entries = before
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return before }
            let edited = entries.unedited
            // The edit is user code and ran outside the lock: it runs again if another edit was stored meanwhile.
            let isStored = state.withLock { state in
                guard state.version == version else { return false }
                state = (edited, version + 1)
                return true
            }
            guard isStored else { continue }
            edits.publish(.changed)
            return edited
        }
    }

    /// True: an edit inside another one is made separately.
    public var allowsNestedEdits: Bool { true }

    /// Reports every edit, by any store.
    public func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        let token = edits.subscribe { event in queue.async { report(event) } }
        queue.async { report(.changed) }
        return token
    }
}
