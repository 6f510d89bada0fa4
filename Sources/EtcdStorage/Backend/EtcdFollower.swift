import ObservableStorage

/// Watches the keys under a prefix: keeps the newest entries, reports changes, and lets transactions wait for their own events.
final class EtcdFollower: Sendable {
    typealias Instant = ContinuousClock.Instant

    fileprivate struct State {
        /// Nil before everything was read for the first time.
        var replica: EtcdReplica?
        /// A snapshot that is being read.
        var incoming: EtcdReplica?
        /// The names of the histories that were followed before.
        var histories: Set<String> = []
        /// The newest revision of a snapshot that was read apart from the watch, and that stores may have.
        var lastRead: Int64 = 0
        /// Why no member serves at present; nil if one does, or if that is not known yet.
        var failure: (any Error)?
        /// The attempts of transactions whose events are expected.
        var attempts: [String: Attempt] = [:]
        var task: Task<Void, Never>?
    }

    enum Attempt: Sendable {
        /// Unknown; the edited entries, and those on which they are based.
        case expected(StorageEntries, over: StorageEntries)
        /// It has taken effect; the entries at its revision, or without its event, the entries before with its edits.
        case stored(StorageEntries)
    }

    /// The events of the storage, in the order of the revisions.
    let events = ChangePublisher<StorageEvent>()
    /// The name of the storage in errors.
    let name: String
    let keys: EntryKeys
    let client: EtcdClient
    /// The timing of the watch and of those who wait for it.
    let timing: EtcdWatch.Timing
    private let state = Lock(State())
    // The calls that wait for a state; used on the client's queue.
    private let waiter: EventWaiter

    init(_ client: EtcdClient, _ keys: EntryKeys, named name: String, timing: EtcdWatch.Timing = EtcdWatch.Timing()) {
        (self.client, self.keys, self.name, self.timing) = (client, keys, name, timing)
        waiter = EventWaiter(queue: client.executor.queue)
    }

    /// Begins to watch, unless it already has. The follower is retained until ``stop()``.
    func start() {
        state.withLock { state in
            guard state.task == nil else { return }
            state.task = Task(executorPreference: client.executor) {
                let watch = EtcdWatch(
                    self.client, from: self.keys.rangeStart, to: self.keys.rangeEnd, timing: self.timing,
                    isAwaited: { self.waiter.isWaiting })
                await self.client.run(watch) { self.receive($0) }
            }
        }
    }

    func stop() {
        state.withLock { $0.task }?.cancel()
    }

    // MARK: Following

    // Called on the client's queue by one task, which determines the order of events.
    func receive(_ step: WatchStep) {
        let events = state.withLock { follow(step, &$0) }
        // A store handles the events before the result of a transaction, which may be older.
        for event in events { self.events.publish(event) }
        waiter.wakeFinished()
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
        case .refused(let error):
            state.failure = error
            return state.replica == nil ? [] : [.failed(.unreadable(file: name, reason: "\(error)"))]
        case .events(let revision, let events):
            guard let outcome = state.replica?.apply(events, at: revision) else { return [] }
            let entries = state.replica?.view.entries
            for attempt in outcome.attempts where state.attempts[attempt] != nil {
                state.attempts[attempt] = entries.map { .stored($0) }
            }
            return (outcome.changes.map { [.differences($0)] } ?? []) + outcome.failures.map { .failed($0) }
        case .eventsLost:
            let reason = "the cluster has not sent some changes, a bug of old versions of etcd"
            return [.failed(.historyLost(storage: name, reason: reason))]
        case .historyReplaced:
            state.replica?.endHistory()
            return []
        case .page(let snapshot, let page, let keyCount):
            if page.startIndex == 0 {
                state.incoming = EtcdReplica(snapshot.clusterID, snapshot.revision, keyCount: keyCount, keys, named: name)
            }
            state.incoming?.add(page)
            return []
        case .reset(let snapshot): return reset(to: snapshot, &state)
        }
    }

    /// Continues with a snapshot, whose pages were received: what has happened since the last event is not known step by step.
    private func reset(to snapshot: EtcdSnapshot, _ state: inout State) -> [StorageEvent] {
        guard var replica = state.incoming.take() else { return [] }
        let earlier = state.replica
        state.histories.formUnion(earlier?.view.identity.names ?? [])
        replica.finish(after: earlier?.view, avoiding: state.histories)
        defer { state.replica = replica }
        // Subscribers get the first one when they subscribe.
        guard let earlier else { return [] }
        let replacement = replica.interruption(after: earlier.view)
        var events = replacement.map { [StorageEvent.failed(.historyLost(storage: name, reason: $0))] } ?? []
        var isContinued = replacement == nil && replica.view.revision > earlier.view.revision && state.lastRead <= earlier.view.revision
        for token in snapshot.keyValues {
            guard let attempt = keys.attempt(token), case .expected(let edited, let base)? = state.attempts[attempt] else { continue }
            // Its store reports it as a step of its own, before it reads what others have stored since.
            isContinued = false
            let revision = replacement == nil ? token.modRevision : .max
            // Stores may have read newer entries than the replica had; these are older, also with the edits.
            let isOutdated = replacement == nil && state.lastRead > earlier.view.revision
            state.attempts[attempt] = .stored(
                isOutdated ? replica.view.entries : earlier.entries(with: edited, over: base, storedAt: revision))
        }
        if replacement != nil { state.lastRead = 0 }
        // The differences are based on the replica. Stores that may have other entries have to read everything.
        let rest = isContinued ? replica.changes(after: earlier).map { .differences($0) } : StorageEvent.changed
        if let rest { events.append(rest) }
        return events + replica.failures.filter { earlier.failures[$0.key] == nil }.map { .failed($0.value) }
    }

    // MARK: Reading

    /// The latest state of the keys, after everything was read for the first time.
    ///
    /// - Throws: the reason why nothing can be read.
    nonisolated(nonsending) func current(until deadline: Instant) async throws -> EtcdReplica.View {
        let result = await wait(until: deadline) { state -> Result<EtcdReplica.View, any Error>? in
            if let replica = state.replica { return .success(replica.view) }
            return state.failure.map { .failure($0) }
        }
        try Task.checkCancellation()
        guard let result else { throw EtcdFailure(code: nil, message: "no member has responded in time") }
        return try result.get()
    }

    /// The state of the keys after a new revision has arrived; nil if none does in time.
    nonisolated(nonsending) func newer(than revision: StorageRevision?, until deadline: Instant) async -> EtcdReplica.View? {
        await wait(until: deadline) { state in state.replica.flatMap { $0.view.entries.revision == revision ? nil : $0.view } }
    }

    /// The latest state of the keys; nil before everything was read.
    var latest: EtcdReplica.View? { read { $0.view } }

    /// Reads from the replica under the lock; returns nil before everything was read.
    func read<Value: Sendable>(_ body: @Sendable (EtcdReplica) -> Value?) -> Value? {
        state.withLock { $0.replica.flatMap(body) }
    }

    /// The entries of a snapshot, or those of the watch if they are newer.
    func entries(of snapshot: EtcdSnapshot) -> StorageEntries {
        let (latest, histories) = state.withLock { state in
            let latest = state.replica?.view
            if latest?.clusterID == snapshot.clusterID { state.lastRead = max(state.lastRead, snapshot.revision) }
            return (latest, state.histories.union(latest?.identity.names ?? []))
        }
        if let latest, latest.clusterID == snapshot.clusterID, latest.revision >= snapshot.revision { return latest.entries }
        return EtcdReplica(of: snapshot, keys, named: name, after: latest, avoiding: histories).view.entries
    }

    // MARK: Awaiting results

    /// Expects the event of a transaction, identified by the value of its token.
    func expect(_ attempt: String, storing edited: StorageEntries, over base: StorageEntries) {
        state.withLock { $0.attempts[attempt] = .expected(edited, over: base) }
    }

    func forget(_ attempt: String) {
        state.withLock { _ = $0.attempts.removeValue(forKey: attempt) }
    }

    /// Waits for the event of an expected transaction.
    ///
    /// - Returns: the entries with its edits; nil if the event does not arrive in time.
    nonisolated(nonsending) func outcome(of attempt: String, until deadline: Instant) async -> StorageEntries? {
        await wait(until: deadline) { state in
            if case .stored(let entries)? = state.attempts[attempt] { entries } else { nil }
        }
    }

    /// Waits until the replica meets a condition; returns false at the deadline.
    @discardableResult
    nonisolated(nonsending) func wait(
        until deadline: Instant, where condition: @escaping @Sendable (EtcdReplica) -> Bool
    ) async -> Bool {
        await wait(until: deadline) { state in state.replica.map(condition) == true ? true : nil } ?? false
    }

    /// Waits until a closure, which is called under the lock, returns a value; returns nil at the deadline, or when the task is cancelled.
    private nonisolated(nonsending) func wait<Value: Sendable>(
        until deadline: Instant, for find: @escaping @Sendable (State) -> Value?
    ) async -> Value? {
        if let value = state.withLock({ find($0) }) { return value }
        if deadline <= .now { return nil }
        await waiter.wait(until: deadline) { self.state.withLock { find($0) != nil } }
        return state.withLock { find($0) }
    }
}
