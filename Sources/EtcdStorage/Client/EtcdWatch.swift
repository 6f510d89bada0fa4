/// A step of a watch; steps have to be applied in order.
enum WatchStep: Sendable {
    /// Events arrive as they happen.
    case connected
    /// No member serves the watch: all were tried, and the last one failed with this error. They are tried again until one does.
    case disconnected(any Error)
    /// Members have refused the client, as often as there are members and once more, and none has served it meanwhile. After
    /// ``disconnected(_:)``.
    case refused(any Error)
    /// All events of one revision. Each revision is delivered once, in rising order since the last reset.
    case events(revision: Int64, [WatchEvent])
    /// The member has not sent events that etcd has had for a while; a reset follows.
    case eventsLost
    /// The cluster does not continue the delivered history, as after a restoration; a reset follows.
    case historyReplaced
    /// A part of the following reset, unless reading the rest fails; see ``EtcdClient/snapshot(from:to:keysOnly:pageSize:pageTimeout:_:)``.
    case page(EtcdSnapshot, ArraySlice<KeyValue>, keyCount: Int)
    /// All keys at one revision, which may be an older one; the events in between are not known.
    case reset(EtcdSnapshot)
}

/// Watches all keys of a range from a revision on, at any member, until its task is cancelled.
///
/// Each event of the history is delivered once. If the history is lost, because it was compacted, because etcd has lost events, or because
/// another cluster serves at the address, all keys are read again instead.
struct EtcdWatch: Sendable {
    /// The timeouts and intervals of the watch, and of those who wait for its events.
    struct Timing: Sendable {
        /// The interval of heartbeats, to which every working member responds.
        var heartbeat = Duration.seconds(1)
        /// How long a member may be silent before the next one is tried.
        var silence = Duration.seconds(4)
        /// How long a member may take to begin a watch, or to respond to a small request.
        var response = Duration.seconds(2)
        /// How long a member may take to send a page of values.
        var page = Duration.seconds(10)
        /// The interval of comparisons between the delivered revisions and those in etcd.
        var comparison = Duration.seconds(60)
        /// The time before a difference is checked again: events may still be in transit.
        var suspicion = Duration.seconds(5)
        /// How long the event of a transaction that has taken effect may take. A member that cannot be watched is left within five seconds.
        var arrival = Duration.seconds(20)
        /// How often a lease is renewed during its time to live, so that two members may fail to respond before it expires.
        var renewals = 3
    }

    private let client: EtcdClient
    private let range: (start: [UInt8], end: [UInt8])
    private let timing: Timing
    private let isAwaited: @Sendable () -> Bool
    private var progress: WatchProgress?
    // The attempts since a member has responded to a heartbeat or sent an event.
    private var failures = 0
    // The attempts that members have refused since one has served the watch.
    private var refusals = 0
    // The last reported state; nil at first.
    private var isConnected: Bool?
    private var nextComparison: ContinuousClock.Instant
    // Whether nothing has arrived for longer than a response takes, since the last comparison: the member's buffers may have been full, and
    // etcd before 3.4.31 then loses events in a compaction.
    private var hasStalled = false

    /// - Parameters:
    ///   - end: the key after the last one of the range.
    ///   - snapshot: the receiver's state, with or without values; nil to begin with a reset.
    ///   - isAwaited: whether a task waits for an event.
    init(
        _ client: EtcdClient, from start: [UInt8], to end: [UInt8], after snapshot: EtcdSnapshot? = nil,
        timing: Timing = Timing(), isAwaited: @escaping @Sendable () -> Bool = { false }
    ) {
        (self.client, self.timing, self.isAwaited) = (client, timing, isAwaited)
        range = (start, end)
        progress = snapshot.map { WatchProgress(after: $0, memoryLimit: client.configuration.memoryLimit) }
        nextComparison = .now + timing.comparison * Double.random(in: 0.5...1)
    }

    /// Delivers the steps in order; returns when the task is cancelled.
    nonisolated(nonsending) mutating func run(_ receive: (WatchStep) -> Void) async {
        while !Task.isCancelled {
            do {
                let isResumed = progress != nil
                if !isResumed { try await reset(receive) }
                try await follow(isResumed: isResumed, receive)
                failures += 1
            } catch {
                if Task.isCancelled { return }
                failures += 1
                if failures >= client.endpointCount, isConnected != false {
                    isConnected = false
                    receive(.disconnected(error))
                }
                if error.isRefusal {
                    refusals += 1
                    // The first may be that of a token that has expired.
                    if refusals == client.endpointCount + 1 { receive(.refused(error)) }
                }
                if let failure = error as? EtcdFailure {
                    // Members before 3.4.23 deny permission to a watch with an expired token.
                    if failure.isTokenRefused || failure.isPermissionDenied { await client.discardToken() }
                    // The same events would be too large again, but keys can be read in pages.
                    if failure.isResponseTooLarge { progress = nil }
                }
            }
            await waitAfterFailures()
        }
    }

    private nonisolated(nonsending) mutating func reset(_ receive: (WatchStep) -> Void) async throws {
        let snapshot = try await client.snapshot(from: range.start, to: range.end, pageTimeout: timing.page) {
            receive(.page($0, $1, keyCount: $2))
        }
        receive(.reset(snapshot))
        progress = WatchProgress(after: snapshot, memoryLimit: client.configuration.memoryLimit)
    }

    private nonisolated(nonsending) func waitAfterFailures() async {
        guard failures > client.endpointCount else { return }
        do {
            try await client.pause(for: .backoff(after: failures - client.endpointCount))
        } catch {
            // The task was cancelled, which ends the loop.
        }
    }
}

// MARK: - One connection

extension EtcdWatch {
    /// Reads one stream. Returns if all keys have to be read again, or if the watch has to be resumed.
    ///
    /// - Parameter isResumed: whether the stream continues an earlier one.
    private nonisolated(nonsending) mutating func follow(isResumed: Bool, _ receive: (WatchStep) -> Void) async throws {
        if isResumed { progress?.reconnect() }
        guard let progress else { return }
        let request = WatchRequest(key: range.start, rangeEnd: range.end, startRevision: progress.startRevision)
        let (stream, member) = try await client.watch(request, deadline: .now + timing.response)
        defer { stream.close() }
        do {
            // Before any event: since a restoration, others may have written beyond the delivered revision.
            if isResumed, try await isHistoryReplaced(progress) { return endHistory(receive) }
            async let _: Void = Self.sendHeartbeats(stream, every: timing.heartbeat)
            try await read(stream, receive)
        } catch {
            await client.markFailed(member)
            throw error
        }
    }

    /// Sends heartbeats until the task is cancelled or the stream has ended.
    private static func sendHeartbeats(_ stream: HTTP2Stream, every interval: Duration) async {
        do {
            while true {
                try await Task.sleep(for: interval)
                try await stream.requestProgress()
            }
        } catch {
            // The reader of the stream gets the error.
        }
    }

    private nonisolated(nonsending) mutating func read(_ stream: HTTP2Stream, _ receive: (WatchStep) -> Void) async throws {
        var splitter = GRPCMessageSplitter()
        while true {
            let start = ContinuousClock.now
            let response = try await stream.next(&splitter, deadline: start + timing.silence)
            if .now - start > timing.heartbeat * 2 { hasStalled = true }
            if let response, progress?.isLate(response) == true { return failures -= 1 }
            if let response { try await handle(response, receive) }
            // After all messages that have arrived together.
            if progress != nil, splitter.isEmpty { await compareIfDue(receive) }
            if progress == nil { return }
        }
    }

    private nonisolated(nonsending) mutating func handle(_ response: WatchResponse, _ receive: (WatchStep) -> Void) async throws {
        let outcome = progress?.receive(response) ?? .reset
        switch outcome {
        case .created:
            if isConnected != true { receive(.connected) }
            (isConnected, refusals) = (true, 0)
        case .events(let revisions):
            // Not by the last delivered revision, which a member sends again at first.
            if response.isProgress || !revisions.isEmpty { failures = 0 }
            for revision in revisions { receive(.events(revision: revision.number, revision.events)) }
        case .isBehind:
            failures = 0
            if let current = progress, try await isHistoryReplaced(current) { endHistory(receive) }
        case .reset: progress = nil
        case .ended(let failure): throw failure
        }
    }

    private mutating func endHistory(_ receive: (WatchStep) -> Void) {
        receive(.historyReplaced)
        (progress, failures) = (nil, 0)
    }
}

// MARK: - Comparison

extension EtcdWatch {
    /// Whether the cluster has gone back to an older revision than the delivered one, or has written another key in the last delivered
    /// revision, rather than that a member lags behind.
    private nonisolated(nonsending) func isHistoryReplaced(_ progress: WatchProgress) async throws -> Bool {
        var last = progress.lastWritten
        // A large value is not sent again, because that may take longer than a response.
        let keysOnly = last.map { $0.value.count > 4_096 } ?? true
        if keysOnly { last?.value = [] }
        let request = RangeRequest(key: last?.key ?? range.start, revision: last?.modRevision ?? 0, keysOnly: keysOnly)
        do {
            let response = try await client.call(request, deadline: .now + timing.response)
            let isContinued = response.header.clusterID == progress.clusterID && response.header.revision >= progress.revision
            return try !isContinued || last != nil && response.decoded() != [last]
        } catch let failure as EtcdFailure where failure.isFutureRevision || failure.isCompacted {
            return failure.isFutureRevision
        }
    }

    /// Compares the delivered revisions with those in etcd, periodically, and as soon as the watch is quiet after events may have been
    /// lost. If some were, all keys have to be read again.
    private nonisolated(nonsending) mutating func compareIfDue(_ receive: (WatchStep) -> Void) async {
        let isDoubtful = progress?.isQuiet == true && progress?.hasSuspects == false && (hasStalled || isAwaited())
        guard isDoubtful || ContinuousClock.now >= nextComparison else { return }
        nextComparison = .now + timing.comparison * Double.random(in: 0.5...1)
        hasStalled = false
        do {
            let keys = try await client.snapshot(
                from: range.start, to: range.end, keysOnly: true, pageSize: 10_000, pageTimeout: timing.response)
            switch progress?.compare(with: keys) {
            case .isLost:
                receive(.eventsLost)
                progress = nil
            case .isReplaced: endHistory(receive)
            case .isSuspect: nextComparison = .now + timing.suspicion
            case .isComplete, nil: break
            }
        } catch {
            // The next comparison makes up for it.
        }
    }
}

extension EtcdClient {
    /// Runs a watch on the client's queue until the task is cancelled, and delivers its steps.
    func run(_ watch: EtcdWatch, _ receive: (WatchStep) -> Void) async {
        var watch = watch
        await watch.run(receive)
    }
}
