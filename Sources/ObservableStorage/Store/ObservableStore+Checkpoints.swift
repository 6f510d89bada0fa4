import Dispatch

/// What a flush writes.
public enum FlushDestination: Sendable, Hashable {
    /// The journal, if the storage has one: the edits survive a power failure, and other stores of this library see them.
    case journal
    /// The storage itself, such as the property list, for every program to read.
    case storage
}

/// When the property list is rewritten that lacks edits of its journal: after a quiet time, and at the latest some time after the first.
/// Times are in nanoseconds.
struct CheckpointSchedule: Sendable {
    /// What has to be done when the time has come.
    enum Step: Sendable, Equatable {
        case wait(until: UInt64)
        case checkpoint
    }

    private var waiting: (first: UInt64, last: UInt64, quiet: UInt64, atMost: UInt64)?
    // The next time at which it is asked what to do.
    private var next: UInt64 = .max

    /// Notes edits that the list lacks.
    ///
    /// - Parameters:
    ///   - options: how long no others may follow, and the longest delay.
    ///   - factor: how many times as long to wait for them.
    /// - Returns: the time at which to call ``reached(_:)``; nil if it is called before that anyway.
    mutating func note(at now: UInt64, _ options: JournalOptions, times factor: UInt64 = 1) -> UInt64? {
        func nanoseconds(_ duration: Duration) -> UInt64 {
            let (product, isTooLong) = UInt64(clamping: duration.wholeNanoseconds).multipliedReportingOverflow(by: factor)
            return isTooLong ? .max : product
        }
        let (quiet, atMost) = (nanoseconds(options.quiet), nanoseconds(options.atMost))
        // Those of this store are not delayed by later ones of others.
        waiting = (waiting?.first ?? now, now, min(waiting?.quiet ?? .max, quiet), min(waiting?.atMost ?? .max, atMost))
        guard due < next else { return nil }
        next = due
        return due
    }

    private var due: UInt64 {
        guard let waiting else { return .max }
        return min(waiting.last.advanced(by: waiting.quiet), waiting.first.advanced(by: waiting.atMost))
    }

    /// Decides what to do at a time; nil if there is nothing to do.
    mutating func reached(_ now: UInt64) -> Step? {
        next = .max
        guard waiting != nil else { return nil }
        if now < due {
            next = due
            return .wait(until: due)
        }
        waiting = nil
        return .checkpoint
    }
}

extension UInt64 {
    fileprivate func advanced(by nanoseconds: UInt64) -> UInt64 {
        let (sum, isTooLate) = addingReportingOverflow(nanoseconds)
        return isTooLate ? .max : sum
    }
}

extension ObservableStore {
    // A checkpoint of others' edits is left to them, while they live.
    private static let patienceWithOthers: UInt64 = 10

    /// Schedules a checkpoint, if the list lacks edits.
    ///
    /// - Parameter isOwn: whether they are those of this store.
    func noteCheckpointNeeded(isOwn: Bool) {
        guard let journaling, journaling.needsCheckpoint, !isSuspended else { return }
        let now = DispatchTime.now().uptimeNanoseconds
        let time = checkpoints.note(at: now, journaling.checkpointDelays, times: isOwn ? 1 : Self.patienceWithOthers)
        if let time { checkLater(at: time) }
    }

    private nonisolated func checkLater(at time: UInt64) {
        executor.queue.asyncAfter(deadline: DispatchTime(uptimeNanoseconds: time)) { [weak self] in
            self?.start { await $0.checkpointIfDue() }
        }
    }

    private func checkpointIfDue() async {
        switch checkpoints.reached(DispatchTime.now().uptimeNanoseconds) {
        case nil: return
        case .wait(let time): return checkLater(at: time)
        case .checkpoint: break
        }
        guard !isSuspended, !cache.update({ $0.isClosed }) else { return }
        do throws(StorageError) {
            try await checkpoint()
            checkpointBackoff.succeed()
        } catch {
            if case .suspended = error { return }
            // The edits are durable in the journal.
            reports.report(error)
            executor.queue.asyncAfter(deadline: .now() + checkpointBackoff.fail()) { [weak self] in
                self?.start { $0.noteCheckpointNeeded(isOwn: true) }
            }
        }
    }

    /// Waits until the edits that were written behind are durable.
    func makeDurable() async throws {
        guard let journaling, journaling.needsSynchronization else { return }
        try await inTurn {
            try await interruption.cover { try journaling.synchronizeJournal() }
        }
    }

    /// Writes the edits that are in the journal into the property list.
    func checkpoint() async throws(StorageError) {
        guard let journaling, journaling.needsCheckpoint else { return }
        if isSuspended { throw .suspended(file: backend.name) }
        do {
            try await inTurn {
                let assertion = activity.map { FlushAssertion($0, of: backend.name, interruption) }
                defer { assertion?.finish() }
                try await interruption.cover { try journaling.checkpoint() }
            }
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }
}
