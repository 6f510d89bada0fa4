import ObservableStorage
import PropertyListCoding

/// Decides which changes a watch tells: those of its keys that its snapshot does not show already.
struct WatchFilter {
    private let keys: Set<String>
    private let revision: UInt64

    /// Tells what is newer than a revision; no keys are all keys.
    init(keys: [String], after revision: UInt64) {
        self.keys = Set(keys)
        self.revision = revision
    }

    /// The line for a change, if it is to be told.
    func line(for change: Change<PropertyListValue?>) -> WatchLine? {
        guard change.revision > revision, keys.isEmpty || keys.contains(change.key) else { return nil }
        return WatchLine(change)
    }
}
