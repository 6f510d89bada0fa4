/// A step of a watch, in the order in which a store has to follow them.
enum WatchStep: Sendable {
    /// Events are arriving, or will as they happen.
    case connected
    /// No member serves the watch at present: all were tried, the last one failed with this error. They are tried again until one does.
    case disconnected(any Error)
    /// All events of one revision. Each revision comes once, and higher than those before since the last reset.
    case events(revision: Int64, [WatchEvent])
    /// The member has not told events that etcd has had for a while; a reset follows.
    case eventsLost
    /// A part of what a reset will tell, unless reading the rest fails.
    case page(EtcdSnapshot.Page)
    /// Everything as it is at one revision, which may be an older one; the events in between are not known.
    case reset(EtcdSnapshot)
}

/// Follows all keys of a range from a revision on, whichever members come and go, until its task is cancelled.
///
/// The events are those of the history, each once. Where the history is lost, because it was compacted, because etcd has lost events, or
/// because another cluster serves at the address, everything is read anew instead.
struct EtcdWatch: Sendable {
    /// How long the watch, and those who follow it, wait for what.
    struct Timing: Sendable {
        /// The time between two heartbeats, which every member that lives answers.
        var heartbeat = Duration.seconds(1)
        /// How long a member may be silent before the next one is tried.
        var silence = Duration.seconds(4)
        /// How long a member may take to begin a watch, and to answer a small request.
        var response = Duration.seconds(2)
        /// How long a member may take to send a page of values.
        var page = Duration.seconds(10)
        /// The delays after all members have failed.
        var backoff = RetryBackoff()
        /// The time between two comparisons of what was delivered with what etcd has.
        var comparison = Duration.seconds(60)
        /// The time before a difference is looked at again, which is that of events on their way.
        var suspicion = Duration.seconds(5)
        /// How long a transaction that has taken effect may take to come. A member that cannot be watched any more is left within five seconds.
        var arrival = Duration.seconds(20)
        /// How often a lease is renewed during its time to live: a member that does not answer takes a third, and its successor another one.
        var renewals = 3
    }

    private let client: EtcdClient
    private let range: (start: [UInt8], end: [UInt8])
    private let timing: Timing
    private var progress: WatchProgress?
    // The attempts since a member has answered a heartbeat or sent an event.
    private var failures = 0
    // What the receiver knows; nil at first.
    private var isConnected: Bool?
    private var nextComparison: ContinuousClock.Instant
    // Whether nothing has arrived for longer than a member takes to answer, since the last comparison: its buffers may have been full, in
    // which etcd before 3.4.31 loses events when it is compacted.
    private var hasStalled = false

    /// Creates a watch.
    ///
    /// - Parameters:
    ///   - start: the first key of the range.
    ///   - end: the key after the last one of the range.
    ///   - snapshot: what the receiver knows already, with the keys at least; nil if the first step shall be a reset.
    init(
        _ client: EtcdClient, from start: [UInt8], to end: [UInt8], after snapshot: EtcdSnapshot? = nil,
        timing: Timing = Timing()
    ) {
        self.client = client
        self.timing = timing
        range = (start, end)
        progress = snapshot.map { WatchProgress(after: $0, memoryLimit: client.memoryLimit) }
        nextComparison = .now + timing.comparison * Double.random(in: 0.5...1)
    }

    /// Passes each step on, one after the other; returns when the task is cancelled.
    ///
    /// - Parameter isAwaited: whether somebody waits for an event.
    nonisolated(nonsending) mutating func run(isAwaited: () -> Bool, _ receive: (WatchStep) -> Void) async {
        while !Task.isCancelled {
            do {
                if progress == nil { try await reset(receive) }
                try await follow(isAwaited, receive)
                failures += 1
            } catch {
                if Task.isCancelled { return }
                failures += 1
                if failures >= client.endpointCount, isConnected != false {
                    isConnected = false
                    receive(.disconnected(error))
                }
                if let failure = error as? EtcdFailure {
                    await refreshToken(after: failure)
                    // The events would be the same again, but the keys are read in pages.
                    if failure.isAnswerTooLarge { progress = nil }
                }
            }
            await waitAfterFailures()
        }
    }

    private nonisolated(nonsending) mutating func reset(_ receive: (WatchStep) -> Void) async throws {
        let snapshot = try await client.snapshot(from: range.start, to: range.end, pageTimeout: timing.page) { receive(.page($0)) }
        receive(.reset(snapshot))
        progress = WatchProgress(after: snapshot, memoryLimit: client.memoryLimit)
    }

    private nonisolated(nonsending) func refreshToken(after failure: EtcdFailure) async {
        // Older members than 3.4.23 say of a watch with an expired token that it has no right to read.
        if failure.isTokenRefused || failure.isPermissionDenied { await client.discardToken() }
    }

    private nonisolated(nonsending) func waitAfterFailures() async {
        guard failures > client.endpointCount else { return }
        do {
            try await client.pause(for: timing.backoff.delay(after: failures - client.endpointCount))
        } catch {
            // The task was cancelled, which ends the loop.
        }
    }
}

// MARK: - One connection

extension EtcdWatch {
    /// Follows one stream. Returns if everything has to be read anew.
    private nonisolated(nonsending) mutating func follow(_ isAwaited: () -> Bool, _ receive: (WatchStep) -> Void) async throws {
        guard let revision = progress?.revision else { return }
        progress?.reconnect()
        // A revision at which this would overflow only a damaged answer has, for which the process must not end.
        var request = WatchRequest.Create(key: range.start, rangeEnd: range.end, startRevision: revision &+ 1)
        (request.notifiesProgress, request.allowsFragments) = (true, true)
        let (stream, member) = try await client.watch(request, deadline: .now + timing.response)
        defer { stream.close() }
        do {
            async let _: Void = Self.beat(stream, every: timing.heartbeat)
            try await read(stream, isAwaited, receive)
        } catch {
            await client.markFailed(member)
            throw error
        }
    }

    /// Asks for an answer again and again, until the task is cancelled or the stream has ended.
    private static func beat(_ stream: WatchStream, every interval: Duration) async {
        do {
            while true {
                try await Task.sleep(for: interval)
                try await stream.requestProgress()
            }
        } catch {
            // Whoever reads the stream is told the reason.
        }
    }

    private nonisolated(nonsending) mutating func read(
        _ stream: WatchStream, _ isAwaited: () -> Bool, _ receive: (WatchStep) -> Void
    ) async throws {
        while true {
            let start = ContinuousClock.now
            let responses = try await stream.next(deadline: start + timing.silence)
            if .now - start > timing.heartbeat * 2 { hasStalled = true }
            for response in responses {
                try await handle(response, receive)
                if progress == nil { return }
            }
            await compareIfDue(isAwaited, receive)
            if progress == nil { return }
        }
    }

    private nonisolated(nonsending) mutating func handle(_ response: WatchResponse, _ receive: (WatchStep) -> Void) async throws {
        let outcome = progress?.receive(response) ?? .reset
        switch outcome {
        case .created:
            if isConnected != true { receive(.connected) }
            isConnected = true
        case .events(let revisions):
            failures = 0
            for revision in revisions { receive(.events(revision: revision.number, revision.events)) }
        case .isBehind:
            failures = 0
            if let current = progress, await isHistoryLost(current) { progress = nil }
        case .reset: progress = nil
        case .ended(let failure): throw failure
        }
    }
}

// MARK: - Comparison

extension EtcdWatch {
    /// Whether an older revision than the delivered one is the newest of the cluster, rather than of a member that is late.
    private nonisolated(nonsending) func isHistoryLost(_ progress: WatchProgress) async -> Bool {
        do {
            let header = try await client.call(
                RangeRequest(key: range.start, rangeEnd: range.end, countOnly: true), isRepeatable: true, deadline: .now + timing.response
            ).header
            return header.clusterID != progress.clusterID || header.revision < progress.revision
        } catch {
            // The next heartbeat is a reason to ask again.
            return false
        }
    }

    /// Compares what was delivered with what etcd has, if it is time, or if no event comes any more after some may have been lost; events
    /// have to be read anew if some were.
    private nonisolated(nonsending) mutating func compareIfDue(_ isAwaited: () -> Bool, _ receive: (WatchStep) -> Void) async {
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
            case .isReplaced: progress = nil
            case .isSuspect: nextComparison = .now + timing.suspicion
            case .isComplete, nil: break
            }
        } catch {
            // It is compared another time.
        }
    }
}

extension EtcdClient {
    /// Runs a watch on the client's queue until the task is cancelled, and passes each step on.
    func run(_ watch: EtcdWatch, isAwaited: () -> Bool, _ receive: (WatchStep) -> Void) async {
        var watch = watch
        await watch.run(isAwaited: isAwaited, receive)
    }
}
