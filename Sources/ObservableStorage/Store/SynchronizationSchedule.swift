import Dispatch

/// When a store reads its storage again, writes to it again, and makes a checkpoint.
struct SynchronizationSchedule: Sendable {
    /// Reads after failures and, while dead stores' edits cannot be replayed, after successes.
    var reads = Backoff()
    private var replays = Backoff()
    var writes = Backoff()
    var checkpoints: Debouncer
    var checkpointAttempts = Backoff()
    /// When a log of edits that a burst has made large is removed: after a second without a commit.
    var logRemoval = Debouncer(quiet: .seconds(1), limit: .seconds(3_600))
    /// Whether the storage has to be read after the present operation.
    var isReadQueued = false
    /// Whether the release of a shared store has to be tried again.
    var isReleaseQueued = false

    init(_ mode: JournalMode = .off) {
        let options = mode.options
        // Limited, as times are computed with them.
        checkpoints = Debouncer(quiet: .nanoseconds(options.quiet.wholeNanoseconds), limit: .nanoseconds(options.atMost.wholeNanoseconds))
    }

    /// Records that the storage was read.
    ///
    /// - Parameter needsReplay: whether dead stores' edits could not be replayed.
    /// - Returns: the delay before another read; nil if none is needed, or one is scheduled already.
    mutating func didRead(needsReplay: Bool) -> DispatchTimeInterval? {
        reads.succeed()
        if !needsReplay { replays.succeed() }
        guard needsReplay, !reads.isScheduled else { return nil }
        reads.isScheduled = true
        return replays.fail()
    }
    // The pace of writes that nobody waits for: they take a share of the time, as measured by the last ones.
    private var lastWriteDuration: Duration?
    private var nextWrite: Debouncer.Instant?
    // As between attempts after failures.
    private static let longestWriteDelay: Duration = .seconds(30)

    /// Records a write that is over.
    ///
    /// - Parameter share: the share of the time that writes may take; 1 if the next one need not wait.
    mutating func didWrite(from start: Debouncer.Instant, to end: Debouncer.Instant, share: Double) {
        let duration = start.duration(to: end)
        // The shorter of two, so that a write that had to wait for the disk or a lock does not count.
        let usual = min(duration, lastWriteDuration ?? duration)
        lastWriteDuration = duration
        nextWrite = end + min(usual * (1 / (share > 0.001 ? min(share, 1) : 0.001) - 1), Self.longestWriteDelay)
    }

    /// The time until the next write may begin; nil if it may begin now.
    func writeDelay(at now: Debouncer.Instant) -> DispatchTimeInterval? {
        guard let nextWrite, nextWrite > now else { return nil }
        return .milliseconds(Int(now.duration(to: nextWrite).wholeNanoseconds / 1_000_000) + 1)
    }
}
