public import Dispatch
public import ObservableStorage
public import PropertyListCoding

/// A storage on another machine: it suspends instead of blocking, has revisions and limits, and loses answers on request of a test.
public final class ServiceBackend: CommittingBackend {
    /// Where a call waits until the test lets it go on.
    public enum Place: Sendable, Hashable {
        case beforeLoad, beforeEdit, beforeComparison, afterEdit, beforeCommits
    }

    private struct State {
        var closed: [Place: Int] = [:]
        var waiting: [Place: [CheckedContinuation<Void, Never>]] = [:]
        var lostAnswers = 0
        var refusals: [StorageError] = []
        var isTooLarge: @Sendable (StorageEntries) -> Bool = { _ in false }
        var readKeys: [Set<String>?] = []
        var batches: [[String]] = []
        var identities: Set<UInt64> = []
        var loads = 0
        var report: (@Sendable (StorageEvent) -> Void)?
        var forwardsEvents = true
        var running = 0
        var mostRunning = 0
    }

    /// The error of an edit whose answer was lost.
    public static let lost = StorageError.outcomeUnknown(storage: "service", reason: "the answer was lost")

    /// The name in errors.
    public let name = "service"
    /// The limits of an edit.
    public let limits: StorageLimits
    private let compares: Bool
    /// What is stored, for other writers.
    public let memory: InMemoryBackend
    /// The places at which calls have arrived.
    public let arrivals = Recorder<Place>()
    private let state = Lock(State())

    /// - Parameters:
    ///   - compares: whether an edit is stored over newer entries, unless one that it has read has changed.
    ///   - rememberedCommits: how many commits it remembers.
    public convenience init(
        _ entries: [String: PropertyListValue] = [:], limits: StorageLimits = StorageLimits(), compares: Bool = false,
        rememberedCommits: Int = 100
    ) {
        self.init(over: InMemoryBackend(entries, rememberedCommits: rememberedCommits), limits: limits, compares: compares)
    }

    /// One of several connections to the same storage.
    public init(over memory: InMemoryBackend, limits: StorageLimits = StorageLimits(), compares: Bool = false) {
        (self.memory, self.limits, self.compares) = (memory, limits, compares)
    }

    /// The names that each edit has read; nil for one that has read all.
    public var readKeys: [Set<String>?] { state.withLock { $0.readKeys } }
    /// The names that each stored edit had edited, sorted.
    public var batches: [[String]] { state.withLock { $0.batches } }
    /// How often the entries were loaded.
    public var loads: Int { state.withLock { $0.loads } }
    /// The largest number of calls at one time.
    public var mostRunning: Int { state.withLock { $0.mostRunning } }

    /// Makes calls wait at a place from now on.
    public func hold(_ place: Place) { state.withLock { $0.closed[place] = 1 } }

    /// Lets the calls that wait at a place, and later ones, go on.
    public func release(_ place: Place) {
        let waiting = state.withLock { state in
            state.closed[place] = nil
            return state.waiting.removeValue(forKey: place) ?? []
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Loses the answers of the next edits, which are stored nevertheless.
    public func loseAnswers(_ count: Int) { state.withLock { $0.lostAnswers = count } }

    /// Refuses the next edits with errors, one for each, and stores nothing.
    public func refuse(_ errors: StorageError...) { state.withLock { $0.refusals = errors } }

    /// Refuses edits as too large, whatever the limits say, by the edited entries.
    public func refuse(where isTooLarge: @escaping @Sendable (StorageEntries) -> Bool) {
        state.take { $0.isTooLarge = isTooLarge }
    }

    /// Keeps the storage's own events back, so that the test sends them.
    public func withholdEvents() { state.withLock { $0.forwardsEvents = false } }

    /// Sends an event.
    public func report(_ event: StorageEvent) { state.withLock { $0.report }?(event) }

    private func pass(_ place: Place) async {
        arrivals.record(place)
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if state.closed[place] == nil { return true }
                state.waiting[place, default: []].append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
    }

    private func run<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        state.withLock { state in
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
        }
        defer { state.withLock { $0.running -= 1 } }
        return try await body()
    }

    /// The present entries.
    public func load() async throws -> StorageEntries {
        await run {
            state.withLock { $0.loads += 1 }
            let entries = memory.load()
            await pass(.beforeLoad)
            return entries
        }
    }

    /// Edits the entries, as the test lets it.
    public func edit(_ body: @Sendable (inout StorageEntries) throws -> Void) async throws -> StorageEntries {
        try await edit(CommitOptions(), body)
    }

    package func edit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        try await run {
            await pass(.beforeEdit)
            // As a request does that waits for an answer.
            try Task.checkCancellation()
            if let refusal = state.withLock({ $0.refusals.isEmpty ? nil : $0.refusals.removeFirst() }) {
                var entries = memory.load()
                try body(&entries)
                await pass(.afterEdit)
                throw refusal
            }
            if !options.unknown.isEmpty {
                let known = state.withLock { $0.identities }
                options.whenResolved?(options.unknown.reduce(into: [:]) { $0[$1] = known.contains($1) })
            }
            let identity = options.identity
            let stored = compares ? try await compareAndStore(identity, body) : try memory.edit { try note(&$0, identity, body) }
            await pass(.afterEdit)
            let isLost = state.withLock { state in
                defer { state.lostAnswers = max(0, state.lostAnswers - 1) }
                return state.lostAnswers > 0
            }
            if isLost { throw Self.lost }
            return stored
        }
    }

    private func note(
        _ entries: inout StorageEntries, _ identity: UInt64?, _ body: (inout StorageEntries) throws -> Void
    ) throws {
        try body(&entries)
        if state.withLock({ $0.isTooLarge })(entries) { throw StorageError.tooLarge(key: nil, reason: "refused") }
        let (names, keys) = (entries.editedKeys.sorted(), entries.readKeys)
        state.withLock { state in
            if let identity { state.identities.insert(identity) }
            if !names.isEmpty { state.batches.append(names) }
            state.readKeys.append(keys)
        }
    }

    private func compareAndStore(_ identity: UInt64?, _ body: (inout StorageEntries) throws -> Void) async throws -> StorageEntries {
        while true {
            let found = memory.load()
            var edited = found
            try note(&edited, identity, body)
            await pass(.beforeComparison)
            var isCurrent = true
            let stored = try memory.edit { latest in
                let keys = edited.readKeys ?? Set(found.values.keys).union(latest.values.keys)
                isCurrent = keys.allSatisfy { found[$0] == latest[$0] }
                if isCurrent { for key in edited.editedKeys { latest[key] = edited[key] } }
            }
            if isCurrent { return stored }
        }
    }

    /// The commits after a revision.
    public func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        try await run {
            await pass(.beforeCommits)
            if let refusal = state.withLock({ $0.refusals.isEmpty ? nil : $0.refusals.removeFirst() }) { throw refusal }
            return await memory.commits(since: revision)
        }
    }

    /// Reports the events of the memory, unless the test withholds them.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        state.withLock { $0.report = report }
        return memory.watch(since: revision, on: queue) { [weak self] event in
            guard let self, state.withLock({ $0.forwardsEvents }) else { return }
            report(event)
        }
    }
}
