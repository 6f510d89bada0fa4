public import Dispatch
import FoundationSubset
public import PropertyListCoding

/// Entries in memory: for tests and previews. Several stores on one backend behave like several processes on one file.
public final class InMemoryBackend: BlockingStorageBackend, CommittingBackend {
    /// The name of the storage in errors.
    public let name = "memory"
    // `owners` has the number of the presence that has stored an entry, until another edit of the entry.
    private let state: Lock<(entries: StorageEntries, commits: [StorageCommit], owners: [String: UInt64])>
    private let rememberedCommits: Int
    private let edits = ChangePublisher<StorageEvent>()

    /// Creates a backend with some entries, at the first revision of a history of its own.
    ///
    /// - Parameters:
    ///   - entries: the entries.
    ///   - rememberedCommits: how many of the last commits it remembers, with their values.
    public init(_ entries: [String: PropertyListValue] = [:], rememberedCommits: Int = 1_000) {
        let history = String(UInt64.random(in: .min ... .max), radix: 16)
        state = Lock((StorageEntries(entries, revision: StorageRevision(history: history, number: 0)), [], [:]))
        self.rememberedCommits = max(0, rememberedCommits)
    }

    /// The current entries.
    public func load() -> StorageEntries {
        state.withLock { $0.entries }
    }

    /// Runs an edit on the latest entries, and again if another edit was stored meanwhile.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try edit(by: nil, body)
    }

    private func edit(by presence: UInt64?, _ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
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
                let forgotten = state.commits.count - rememberedCommits
                // Removed in groups: removing each one would move all that follow.
                if forgotten > 0, forgotten >= rememberedCommits { state.commits.removeFirst(forgotten) }
                for name in changes.values.keys { state.owners[name] = presence }
                var deliveries = Deliveries()
                edits.post(.differences(changes), to: &deliveries)
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
        let (commits, latest) = state.withLock { ($0.commits.suffix(rememberedCommits), $0.entries.revision) }
        guard let revision else { return Array(commits) }
        guard let latest, revision.history == latest.history, !revision.isNewer(than: latest) else { return nil }
        let later = commits.filter { $0.revision.isNewer(than: revision) }
        // Their numbers are consecutive.
        return later.count == latest.number - revision.number ? later : nil
    }
}

extension InMemoryBackend {
    /// Stores an entry until the presence ends, whatever its time to live.
    package func presence(_ name: String, _ value: PropertyListValue, timeToLive: Duration) throws -> Presence? {
        let number = uniqueNumber()
        _ = try edit(by: number) { $0[name] = value }
        // An equal value was not replaced. Another edit may have replaced this one since, or a later presence have taken it.
        state.withLock { if $0.entries[name] == value { $0.owners[name] = max($0.owners[name] ?? 0, number) } }
        return Presence { [weak self] in
            _ = try self?.edit { [weak self] entries in
                if self?.state.withLock({ $0.owners[name] == number }) == true { entries[name] = nil }
            }
        }
    }
}
