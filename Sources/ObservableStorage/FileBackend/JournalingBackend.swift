import Dispatch
import FoundationSubset
import Synchronization

/// A storage with files of its own for edits that it does not contain yet: a log of edits that are not committed, and a journal of commits
/// that a checkpoint writes into the storage later.
protocol JournalingBackend: BlockingStorageBackend, CommittingBackend {
    /// Runs an edit; see ``CommittingBackend/edit(_:_:)``.
    func edit(_ options: CommitOptions, _ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries

    /// Watches the storage; see ``StorageBackend/watch(since:on:_:)``.
    ///
    /// - Parameter start: when it begins to watch; nil for now. Its first report follows, so that no change before is missed.
    func watch(
        on queue: DispatchQueue, from start: WatchStart?, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken

    /// The file of the storage; nil if its path cannot be resolved.
    var url: URL? { get }

    /// Whether the system does not let suspended processes lock the storage, as in the container of an app group.
    var isOutsideContainer: Bool { get }
    /// Whether the system may remove the storage while the application is not running.
    var isPurgeable: Bool { get }

    /// Whether edits are logged, unless there is an objection.
    var hasLog: Bool { get }
    /// Why edits cannot be logged; nil if they can.
    var logObjection: StorageError? { get }
    /// Why no log can be made at the location of the storage, which is resolved again; nil if one can.
    var locationObjection: StorageError? { get }
    /// Makes a file for a log of edits.
    ///
    /// - Parameter halfSize: the bytes of each of its halves.
    func makeLog(halfSize: Int) throws(EditLogRefusal) -> EditLogFile
    /// Whether logs of dead stores are still to be replayed, because the storage was locked by another process, or could not be written.
    var needsReplay: Bool { get }

    /// The share of the time that writes behind may take after the last one; 1 if they need not wait.
    var writingShare: Double { get }

    /// Whether the storage is a large list with decoded entries that may be decoded when they are read instead. Asked after each commit.
    var hasReleasableValues: Bool { get }
    /// The entries of the storage, decoded when they are read, if it is a large list that was written with them, except for later commits;
    /// nil otherwise.
    ///
    /// - Parameter known: the entries as they were last read or written.
    func encodedEntries(of known: StorageEntries) -> StorageEntries?

    /// Whether the journal has commits that the storage lacks.
    var needsCheckpoint: Bool { get }
    /// When a checkpoint is made.
    var journalMode: JournalMode { get }
    /// Writes the commits of the journal into the storage.
    func checkpoint() throws
    /// Whether the journal has commits that a power failure may undo.
    var needsSynchronization: Bool { get }
    /// Makes the commits of the journal durable.
    func synchronizeJournal() throws
}

extension StorageBackend {
    /// Watches the storage, from a moment if it is a file.
    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, from start: WatchStart,
        _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        (self as? any JournalingBackend)?.watch(on: queue, from: start, report) ?? watch(since: revision, on: queue, report)
    }
}

extension PropertyListFile: JournalingBackend {
    var isPurgeable: Bool { calls.rules.mayPurge(name) }
    var hasLog: Bool { configuration.journal.hasLog }
    var needsReplay: Bool { isReplayDue.load(ordering: .relaxed) }

    var needsCheckpoint: Bool { journal.needsCheckpoint }
    var journalMode: JournalMode { journal.mode }
    func checkpoint() throws { try checkpoint(as: nil) }
    var needsSynchronization: Bool { journal.needsSynchronization }

    func synchronizeJournal() throws {
        if try !journal.synchronize() { _ = try edit { _ in } }
    }

    // Writing a list of that size takes little longer than synchronizing it.
    private static let smallSize = 256 << 10

    var hasReleasableValues: Bool { list.cached.withLock { $0?.hasReleasableValues ?? false } }

    func encodedEntries(of known: StorageEntries) -> StorageEntries? {
        guard let content = list.cached.withLock({ $0 }), content.hasReleasableValues,
            let edits = journal.isKnown ? journal.edits(of: known, since: content) : content.entries.isCopy(of: known) ? [:] : nil
        else { return nil }
        let encoded = content.entries.encoded(in: content.bytes)
        list.cached.take { cached in
            if cached?.entries.isCopy(of: content.entries) == true {
                if let encoded { cached?.entries = encoded } else { cached?.isIndivisible = true }
            }
            return content
        }
        guard let encoded else { return nil }
        let entries = known.encoded(as: encoded, with: edits)
        journal.replaceEntries(by: entries)
        return entries
    }

    /// Of a small list, and with a journal, 1.
    var writingShare: Double {
        list.cached.withLock { ($0?.bytes.count ?? 0) <= Self.smallSize } || journal.isKnown ? 1 : configuration.writingShare
    }
}
