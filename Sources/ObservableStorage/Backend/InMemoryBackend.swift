public import Dispatch
import FoundationSubset
public import PropertyListCoding

/// Entries in memory: for tests and previews. Several stores on one backend behave like several processes on one file.
public final class InMemoryBackend: BlockingStorageBackend, CommittingBackend {
    /// The name of the storage in errors.
    public let name = "memory"
    // `owners` has the number of the presence that has stored an entry, until another edit of the entry.
    private let state: Lock<(entries: StorageEntries, commits: CommitMemory, owners: [String: UInt64])>
    private let edits = ChangePublisher<StorageEvent>()

    /// Creates a backend with some entries, at the first revision of a history of its own.
    ///
    /// - Parameters:
    ///   - entries: the entries.
    ///   - rememberedCommits: how many of the last commits it remembers, with their values.
    public init(_ entries: [String: PropertyListValue] = [:], rememberedCommits: Int = 1_000) {
        let history = String(UInt64.random(in: .min ... .max), radix: 16)
        let revision = StorageRevision(history: history, number: 0)
        state = Lock((StorageEntries(entries, revision: revision), CommitMemory(since: revision, limit: rememberedCommits), [:]))
    }

    /// The current entries.
    public func load() -> StorageEntries {
        state.withLock { $0.entries }
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
            let changes = StorageChanges(stored.changes(since: before), since: revision, revision: next)
            let commit = StorageCommit(
                changes.values.reduce(into: [:]) { $0[$1.key] = StorageCommit.Edit(from: before[$1.key], to: $1.value) },
                revision: next, time: Date())
            let (deliveries, _) = state.take { state -> (Deliveries?, StorageEntries) in
                let latest = state.entries
                guard latest.revision == revision else { return (nil, latest) }
                state.entries = stored
                state.commits.append(commit)
                for name in changes.values.keys { state.owners[name] = nil }
                var deliveries = Deliveries()
                edits.post(to: &deliveries) { .differences(changes) }
                return (deliveries, latest)
            }
            guard let deliveries else { continue }
            deliveries.deliver()
            return stored
        }
    }

    package var allowsNestedEdits: Bool { true }

    /// Reports every edit, by any store.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let token = edits.subscribe { event in queue.async { report(event) } }
        if revision == nil || load().revision != revision { queue.async { report(.changed) } }
        return token
    }

    /// The commits after a revision; nil if it is one of another backend, or if the backend no longer remembers all of them.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async -> [StorageCommit]? {
        state.withLock { $0.commits.since(revision) }
    }
}

extension InMemoryBackend: PresenceBackend {
    /// Stores an entry until the presence ends, whatever its time to live.
    package func presence(_ name: String, _ value: PropertyListValue, timeToLive: Duration) throws -> Presence {
        _ = try edit { $0[name] = value }
        let number = UniqueNumber.next()
        state.withLock { $0.owners[name] = number }
        return Presence { [weak self] in
            _ = try self?.edit { [weak self] entries in
                if self?.state.withLock({ $0.owners[name] == number }) == true { entries[name] = nil }
            }
        }
    }
}

/// The last commits of a storage, up to a limit.
private struct CommitMemory: Sendable {
    // The revision before the first remembered commit, and that of the last one.
    private var first: StorageRevision
    private var last: StorageRevision
    private var commits: [StorageCommit] = []
    private let limit: Int

    init(since revision: StorageRevision, limit: Int) {
        (first, last, self.limit) = (revision, revision, max(0, limit))
    }

    mutating func append(_ commit: StorageCommit) {
        commits.append(commit)
        last = commit.revision
        guard commits.count > limit else { return }
        let forgotten = commits.count - limit
        first = commits[forgotten - 1].revision
        // Removed in groups: removing each one would move all that follow.
        if forgotten >= limit { commits.removeFirst(forgotten) }
    }

    /// The commits after a revision, or all; nil if not all of them are remembered.
    func since(_ revision: StorageRevision?) -> [StorageCommit]? {
        guard let revision else { return commits.suffix(limit) }
        guard revision.history == last.history, !first.isNewer(than: revision), !revision.isNewer(than: last) else { return nil }
        return commits.filter { $0.revision.isNewer(than: revision) }
    }
}
