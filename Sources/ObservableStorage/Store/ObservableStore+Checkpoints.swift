import Dispatch

/// What a flush writes.
public enum FlushDestination: Sendable, Hashable {
    /// The journal, if the storage has one: the edits survive a power failure, and other stores of this library see them.
    case journal
    /// The storage itself, such as the property list, for every program to read.
    case storage
}

/// When the property list is rewritten that lacks edits of its journal: after a quiet time, and at the latest some time after the first.
struct CheckpointSchedule: Sendable, Equatable {
    /// What the timer does next.
    enum Step: Sendable, Equatable {
        case wait(DispatchTimeInterval)
        case checkpoint
    }

    // In nanoseconds, like the times.
    private var waiting: (first: UInt64, last: UInt64, quiet: UInt64, atMost: UInt64)?

    static func == (one: CheckpointSchedule, other: CheckpointSchedule) -> Bool {
        (one.waiting == nil) == (other.waiting == nil)
    }

    /// Notes edits that the list lacks.
    ///
    /// - Parameter quiet: how long no others may follow.
    /// - Parameter atMost: the longest delay.
    /// - Returns: the delay of the timer; nil if it runs already.
    mutating func note(at now: UInt64, quiet: Duration, atMost: Duration) -> DispatchTimeInterval? {
        let (quiet, atMost) = (UInt64(clamping: quiet.wholeNanoseconds), UInt64(clamping: atMost.wholeNanoseconds))
        guard let before = waiting else {
            waiting = (now, now, quiet, atMost)
            return .nanoseconds(Int(clamping: min(quiet, atMost)))
        }
        // Those of this store are not delayed by later ones of others.
        waiting = (before.first, now, min(before.quiet, quiet), min(before.atMost, atMost))
        return nil
    }

    /// The timer has fired.
    mutating func fired(at now: UInt64) -> Step? {
        guard let waiting else { return nil }
        let due = min(waiting.last + waiting.quiet, waiting.first + waiting.atMost)
        if now < due { return .wait(.nanoseconds(Int(clamping: due - now))) }
        self.waiting = nil
        return .checkpoint
    }
}

extension ObservableStore {
    // A checkpoint of others' edits is left to them, while they live.
    private static let patienceWithOthers = 10

    private nonisolated var file: PropertyListFile? { backend as? PropertyListFile }

    /// Schedules a checkpoint, if the list lacks edits.
    ///
    /// - Parameter isOwn: whether they are those of this store.
    func noteCheckpointNeeded(isOwn: Bool) {
        guard let file, file.needsCheckpoint, !isSuspended else { return }
        let options = file.journalOptions ?? JournalOptions()
        let factor = isOwn ? 1 : Self.patienceWithOthers
        let delay = checkpoints.note(
            at: DispatchTime.now().uptimeNanoseconds, quiet: options.quiet * factor, atMost: options.atMost * factor)
        if let delay { fireCheckpoint(after: delay) }
    }

    private nonisolated func fireCheckpoint(after delay: DispatchTimeInterval) {
        executor.queue.asyncAfter(deadline: .now() + delay) { [weak self] in
            self?.start { await $0.checkpointFired() }
        }
    }

    private func checkpointFired() async {
        switch checkpoints.fired(at: DispatchTime.now().uptimeNanoseconds) {
        case nil: return
        case .wait(let delay): return fireCheckpoint(after: delay)
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

    /// Writes the edits that are in the journal into the property list.
    func checkpoint() async throws(StorageError) {
        guard let file, file.needsCheckpoint else { return }
        if isSuspended { throw .suspended(file: backend.name) }
        do {
            try await inTurn {
                let assertion = activity.map { FlushAssertion($0, of: backend.name, interruption) }
                defer { assertion?.finish() }
                try await interruption.cover { try file.checkpoint() }
            }
        } catch {
            throw StorageError.writing(backend.name, error)
        }
    }
}
