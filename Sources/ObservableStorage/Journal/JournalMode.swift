/// What protects edits that are not in the property list yet.
public enum JournalMode: Sendable, Hashable {
    /// Nothing: edits that were not written are lost if the process is killed.
    case off
    /// A log of the edits of each open store: every edit that has returned survives if the process is killed; see <doc:Durability>. Where a
    /// log is not possible, the store works as with ``JournalMode/off``, and ``ObservableStore/durability`` has the reason.
    ///
    /// Logging an edit takes tens of nanoseconds (see <doc:Performance>), and making the log, with the first edit of a store, a tenth of a
    /// millisecond.
    case edits
    /// The same log, and a journal beside the file, to which edits are added together: they are durable after one synchronization, whatever
    /// the size of the file, and other processes read them alone. The file itself is rewritten some time later; see <doc:Durability>.
    ///
    /// If a file has a journal, every store of this library uses it, whatever its own mode is. No journal is made for files that are written
    /// in place, and on file systems on which it is not known to be safe.
    ///
    /// - Parameters:
    ///   - quiet: the time without an edit after which the file is rewritten; it is also rewritten when a store is flushed or closed.
    ///   - atMost: the time after which the file is rewritten even though edits continue.
    ///   - keeping: how many bytes of edits are kept at least, for the changes since an earlier revision; 256 MB at most.
    case full(quiet: Duration = .milliseconds(50), atMost: Duration = .seconds(1), keeping: Int = 1 << 20)

    /// Whether each store has a log of its edits.
    var hasLog: Bool { self != .off }
    /// Whether a journal is made.
    var hasJournal: Bool {
        if case .full = self { true } else { false }
    }

    /// When the property list is rewritten, and how much of its journal is kept, also of one that another process has made.
    var options: (quiet: Duration, atMost: Duration, keeping: Int) {
        guard case .full(let quiet, let atMost, let keeping) = self else { return JournalMode.full().options }
        return (quiet, atMost, keeping)
    }
}
