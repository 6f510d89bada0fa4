public import Dispatch
public import PropertyListCoding

/// Entries in memory: for tests and previews. Several stores on one backend behave like several processes on one file.
public final class InMemoryBackend: BlockingStorageBackend {
    /// The name of the storage in errors.
    public let name = "memory"
    private let entries: Lock<StorageEntries>
    private let edits = ChangePublisher<StorageEvent>()

    /// Creates a backend with some entries, at the first revision of a history of its own.
    public init(_ entries: [String: PropertyListValue] = [:]) {
        let history = String(UInt64.random(in: .min ... .max), radix: 16)
        self.entries = Lock(StorageEntries(entries, revision: StorageRevision(history: history, number: 0)))
    }

    /// The current entries.
    public func load() -> StorageEntries {
        entries.withLock { $0 }
    }

    /// Runs an edit on the latest entries, and again if another edit was stored meanwhile.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        while true {
            let before = load()
            var edited = before
            try body(&edited)
            guard !edited.editedKeys.isEmpty, let revision = before.revision else { return before }
            let next = StorageRevision(history: revision.history, number: revision.number + 1)
            let stored = edited.stored(at: next)
            // The edit is user code and ran outside the lock: it runs again if another edit was stored meanwhile.
            let (deliveries, _) = entries.take { entries -> (Deliveries?, StorageEntries) in
                let latest = entries
                guard latest.revision == revision else { return (nil, latest) }
                entries = stored
                var deliveries = Deliveries()
                let changes = StorageChanges(stored.changes(since: before), since: revision, revision: next)
                edits.post(to: &deliveries) { .changes(changes) }
                return (deliveries, latest)
            }
            guard let deliveries else { continue }
            deliveries.deliver()
            return stored
        }
    }

    /// True: an edit inside another one is made separately.
    public var allowsNestedEdits: Bool { true }

    /// Reports every edit, by any store.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let token = edits.subscribe { event in queue.async { report(event) } }
        if revision == nil || load().revision != revision { queue.async { report(.changed) } }
        return token
    }
}
