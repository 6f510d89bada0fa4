import Dispatch

/// When a store reads its storage again, writes to it again, and makes a checkpoint.
struct SynchronizationSchedule: Sendable {
    // A checkpoint of others' commits is left to them, unless they have ended.
    private static let patienceWithOthers = 10

    /// Reads after failures and, while another process prevents the replay of dead stores' edits, after successes.
    var reads = ReadAttempts()
    private var replays = Backoff()
    var writes = Backoff()
    var checkpoints = Backoff()
    // Nil without a journal.
    private var debouncer: Debouncer?
    /// Whether the storage has to be read after the present operation.
    private(set) var isReadQueued = false

    /// - Parameter options: when checkpoints are made; nil without a journal.
    init(_ options: JournalOptions?) {
        debouncer = options.map { options in
            // Limited, as times are computed with them.
            Debouncer(quiet: .nanoseconds(options.quiet.wholeNanoseconds), limit: .nanoseconds(options.atMost.wholeNanoseconds))
        }
    }

    /// Queues a read after the present operation; returns false if one is queued already.
    mutating func queueRead() -> Bool {
        defer { isReadQueued = true }
        return !isReadQueued
    }

    /// Records that the storage is read.
    mutating func beginRead() {
        isReadQueued = false
    }

    /// Records that the storage was read.
    ///
    /// - Parameter needsReplay: whether another process has prevented the replay of dead stores' edits.
    /// - Returns: the delay before another read; nil if none is needed, or one is scheduled already.
    mutating func didRead(needsReplay: Bool) -> DispatchTimeInterval? {
        reads.succeeded()
        if !needsReplay { replays.succeed() }
        return needsReplay && reads.schedule() ? replays.fail() : nil
    }

    /// Records that a commit was stored, which has read the storage as well.
    mutating func didCommit() {
        writes.succeed()
        reads.succeeded()
    }

    /// Records a commit of the journal that the storage lacks.
    ///
    /// - Parameter isOwn: whether it is one of this store.
    mutating func didJournal(isOwn: Bool, at now: Debouncer.Instant) -> Debouncer.Action {
        debouncer?.modified(at: now, factor: isOwn ? 1 : Self.patienceWithOthers) ?? .none
    }

    /// Continues at the requested time; a checkpoint is due if the action is ``Debouncer/Action/process``.
    mutating func checkpointWoke(at now: Debouncer.Instant) -> Debouncer.Action {
        debouncer?.woke(at: now) ?? .none
    }
}

/// Repeated attempts to read a storage after a failure, of which one is scheduled at a time.
struct ReadAttempts: Sendable {
    /// The number of failures after which the reason is reported: most malformed files are being written at that moment.
    private static let patience = 4

    private var backoff = Backoff()
    private var isScheduled = false

    /// The number of consecutive failures.
    var failures: Int { backoff.failures }

    /// Records a failure.
    ///
    /// - Returns: the delay before another attempt, and whether the failure has lasted so long that it is reported; nil if an attempt is
    ///   scheduled already.
    mutating func failed() -> (delay: DispatchTimeInterval, isLasting: Bool)? {
        guard schedule() else { return nil }
        let delay = backoff.fail()
        return (delay, failures == Self.patience)
    }

    /// Records that an attempt is scheduled; returns false if one is already.
    mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Records that the scheduled attempt begins.
    mutating func beginScheduled() {
        isScheduled = false
    }

    mutating func succeeded() {
        backoff.succeed()
    }
}
