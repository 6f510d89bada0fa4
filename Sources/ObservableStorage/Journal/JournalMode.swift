/// What protects edits that are not in the property list yet.
public enum JournalMode: Sendable, Hashable {
    /// Nothing: edits that were not written are lost if the process is killed.
    case off
    /// A log for each open store that edits, which keeps every edit from the moment at which it returns, if the process is killed; see
    /// <doc:Durability>. Where there can be none, the store works as with ``JournalMode/off``, and ``ObservableStore/durability`` tells the
    /// reason.
    ///
    /// An edit takes 25 ns longer than the 60 ns without a log, and one of a text of 40 bytes 45 ns longer than 190 ns, on ext4 and in
    /// memory alike (medians). The first edit of a store takes a tenth of a millisecond longer.
    case edits
    /// The same log, and a journal beside the file, to which edits are added together: they are durable after one synchronization, whatever
    /// the size of the file, and other processes read them alone. The file itself is rewritten some time later; see <doc:Durability>.
    ///
    /// Where a journal stands beside a file, every store of this library uses it, whatever its own mode is. Files that are written in place,
    /// and file systems on which it is not known to be safe, have none.
    ///
    /// - Parameters:
    ///   - quiet: the file is rewritten after so long without an edit, and when a store is flushed or closed.
    ///   - atMost: the longest time until then, while edits go on.
    ///   - keeping: how many bytes of edits are kept at least, in order to know what was changed since an earlier revision.
    case full(quiet: Duration = .milliseconds(50), atMost: Duration = .seconds(1), keeping: Int = 1 << 20)

    /// Whether each store has a log of its edits.
    var hasLog: Bool { self != .off }
}

/// When the property list is rewritten, and how much of its journal is kept.
struct JournalOptions: Sendable, Equatable {
    var quiet: Duration = .milliseconds(50)
    var atMost: Duration = .seconds(1)
    var keeping = 1 << 20

    init() {}

    /// - Returns: nil without a journal.
    init?(_ mode: JournalMode) {
        guard case .full(let quiet, let atMost, let keeping) = mode else { return nil }
        (self.quiet, self.atMost, self.keeping) = (quiet, atMost, keeping)
    }
}
