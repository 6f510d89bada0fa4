import ObservableStorage

/// Follows the keys under a prefix: keeps the newest entries, reports differences, and lets edits wait until their own are among them.
final class EtcdFollower: Sendable {
    typealias Instant = ContinuousClock.Instant

    fileprivate struct State {
        /// Nil before everything was read for the first time.
        var replica: EtcdReplica?
        /// What is being read, page by page.
        var builder: EtcdReplica.Builder?
        /// The names of the histories that were followed before.
        var histories: Set<String> = []
        /// The newest revision that was read besides, and that stores may know.
        var lastRead: Int64 = 0
        /// Why no member serves at present; nil if one does, or if that is not known yet.
        var failure: (any Error)?
        /// Attempts of transactions whose results are awaited.
        var attempts: [String: Attempt] = [:]
        var task: Task<Void, Never>?
        var isStopped = false
    }

    /// What is known of an attempt of a transaction.
    enum Attempt: Sendable {
        /// Nothing yet; what it stores if it takes effect, and the entries that were edited.
        case expected(StorageEntries, over: StorageEntries)
        /// It has taken effect; the entries at its revision, or those known before with its edits, if its event has not come.
        case stored(StorageEntries)
    }

    /// The events of the storage, in the order of the revisions.
    let events = ChangePublisher<StorageEvent>()
    private let name: String
    private let keys: EntryKeys
    private let client: EtcdClient
    /// How long it waits for what.
    let timing: EtcdWatch.Timing
    private let state = AwaitableState(State())

    init(_ client: EtcdClient, _ keys: EntryKeys, named name: String, timing: EtcdWatch.Timing = EtcdWatch.Timing()) {
        (self.client, self.keys, self.name, self.timing) = (client, keys, name, timing)
    }

    /// Begins to follow, unless it has begun. It is retained until ``stop()``.
    func start() {
        state.withLock { state in
            guard state.task == nil, !state.isStopped else { return }
            state.task = Task(executorPreference: client.executor) {
                let watch = EtcdWatch(self.client, from: self.keys.rangeStart, to: self.keys.rangeEnd, timing: self.timing)
                await self.client.run(watch, isAwaited: { self.state.isAwaited }) { self.receive($0) }
            }
        }
    }

    /// Ends to follow.
    func stop() {
        let task = state.withLock { state in
            state.isStopped = true
            defer { state.task = nil }
            return state.task
        }
        task?.cancel()
    }

    // MARK: Following

    // Called by one task, step by step, which determines the order of events.
    private func receive(_ step: WatchStep) {
        state.update {
            follow(step, &$0)
        } before: { events in
            // A store looks at the events before the end of a transaction, which may be older.
            for event in events { self.events.publish(event) }
        }
    }

    private func follow(_ step: WatchStep, _ state: inout State) -> [StorageEvent] {
        switch step {
        case .connected:
            guard state.failure != nil else { return [] }
            state.failure = nil
            return [.reachable(true)]
        case .disconnected(let error):
            defer { state.failure = error }
            return state.failure == nil && state.replica != nil ? [.reachable(false)] : []
        case .events(let revision, let events):
            guard let outcome = state.replica?.apply(events, at: revision) else { return [] }
            let entries = state.replica?.entries
            for attempt in outcome.attempts where state.attempts[attempt] != nil {
                state.attempts[attempt] = entries.map { .stored($0) }
            }
            return (outcome.changes.map { [.changes($0)] } ?? []) + outcome.failures.map { .failed($0) }
        case .eventsLost:
            let reason = "the cluster has not told of changes, as old versions of etcd do at times"
            return [.failed(.historyLost(storage: name, reason: reason))]
        case .page(let page):
            if page.isFirst {
                state.builder = EtcdReplica.Builder(page.clusterID, page.revision, keyCount: page.keyCount, keys, named: name)
            }
            state.builder?.add(page.keyValues)
            return []
        case .reset(let snapshot): return reset(to: snapshot, &state)
        }
    }

    /// What was read, of which the pages may have been received.
    private func replica(of snapshot: EtcdSnapshot, _ state: inout State) -> EtcdReplica {
        defer { state.builder = nil }
        guard let builder = state.builder, builder.isOf(snapshot) else {
            return EtcdReplica(of: snapshot, keys, named: name, after: state.replica?.view, avoiding: state.histories)
        }
        return builder.replica(after: state.replica?.view, avoiding: state.histories)
    }

    /// Everything was read at one revision, and what has happened since the last event is not known in steps.
    private func reset(to snapshot: EtcdSnapshot, _ state: inout State) -> [StorageEvent] {
        guard let earlier = state.replica else {
            // Told to whoever subscribes.
            state.replica = replica(of: snapshot, &state)
            return []
        }
        state.histories.formUnion(earlier.identity.names)
        var replica = replica(of: snapshot, &state)
        let replacement = replica.interruption(after: earlier.view)
        defer { state.replica = replica }
        var events = replacement.map { [StorageEvent.failed(.historyLost(storage: name, reason: $0))] } ?? []
        var isContinued = replacement == nil && replica.revision > earlier.revision && state.lastRead <= earlier.revision
        for token in snapshot.keyValues {
            guard let attempt = keys.attempt(token), case .expected(let edited, let base)? = state.attempts[attempt] else { continue }
            // Its store tells it as a step of its own before it reads what others have stored since.
            isContinued = false
            let revision = replacement == nil ? token.modRevision : .max
            state.attempts[attempt] = .stored(earlier.entries(with: edited, over: base, storedAt: revision))
        }
        if replacement != nil { state.lastRead = 0 }
        // The differences continue what is known here. Where stores may know something else, they read everything.
        let rest = isContinued ? replica.changes(after: earlier).map { .changes($0) } : StorageEvent.changed
        if let rest { events.append(rest) }
        return events + replica.failures.filter { earlier.failures[$0.key] == nil }.map { .failed($0.value) }
    }

    // MARK: Reading

    /// What is known at present, which waits for the first time that everything is read.
    ///
    /// - Throws: the reason why that is not possible.
    nonisolated(nonsending) func current(until deadline: Instant) async throws -> EtcdReplica.View {
        let result = await state.wait(until: deadline) { state -> Result<EtcdReplica.View, any Error>? in
            if let replica = state.replica { return .success(replica.view) }
            return state.failure.map { .failure($0) }
        }
        try Task.checkCancellation()
        guard let result else { throw EtcdFailure(code: nil, message: "no member has answered in time") }
        return try result.get()
    }

    /// What is known after another revision has come; nil if none does in time.
    nonisolated(nonsending) func newer(than revision: StorageRevision?, until deadline: Instant) async -> EtcdReplica.View? {
        await state.wait(until: deadline) { state in state.replica.flatMap { $0.entries.revision == revision ? nil : $0.view } }
    }

    /// What is known at present; nil if nothing is yet.
    var known: EtcdReplica.View? {
        read { $0.view }
    }

    /// Looks at what is known, under the lock; returns nil if nothing is yet.
    func read<Value: Sendable>(_ body: @Sendable (EtcdReplica) -> Value?) -> Value? {
        state.withLock { $0.replica.flatMap(body) }
    }

    /// The entries of a snapshot, or newer ones that are known.
    func entries(of snapshot: EtcdSnapshot) -> StorageEntries {
        let (known, histories) = state.withLock { state in
            if state.replica?.clusterID == snapshot.clusterID { state.lastRead = max(state.lastRead, snapshot.revision) }
            return (state.replica?.view, state.histories.union(state.replica?.identity.names ?? []))
        }
        if let known, known.clusterID == snapshot.clusterID, known.revision >= snapshot.revision { return known.entries }
        return EtcdReplica(of: snapshot, keys, named: name, after: known, avoiding: histories).entries
    }

    // MARK: Awaiting results

    /// Expects the event of a transaction, by the value of its token.
    ///
    /// - Parameters:
    ///   - edited: the entries that it stores.
    ///   - base: the entries that were edited.
    func expect(_ attempt: String, storing edited: StorageEntries, over base: StorageEntries) {
        state.withLock { $0.attempts[attempt] = .expected(edited, over: base) }
    }

    /// Expects it no longer.
    func forget(_ attempt: String) {
        state.withLock { _ = $0.attempts.removeValue(forKey: attempt) }
    }

    /// Waits until an expected transaction is known to have taken effect.
    ///
    /// - Returns: the entries with its edits; nil if it is not known in time.
    nonisolated(nonsending) func outcome(of attempt: String, until deadline: Instant) async -> StorageEntries? {
        await state.wait(until: deadline) { state in
            if case .stored(let entries)? = state.attempts[attempt] { entries } else { nil }
        }
    }

    /// Waits until what is known fulfils a condition, or until the deadline.
    ///
    /// - Returns: whether it does.
    @discardableResult
    nonisolated(nonsending) func wait(
        until deadline: Instant, where condition: @escaping @Sendable (EtcdReplica) -> Bool
    ) async -> Bool {
        await state.wait(until: deadline) { state in state.replica.map(condition) == true ? true : nil } ?? false
    }
}
