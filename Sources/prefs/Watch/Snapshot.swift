import ObservableStorage
import PropertyListCoding

/// What a store held at one revision.
struct Snapshot {
    let entries: [String: PropertyListValue]
    let revision: UInt64

    /// Reads a store, again if a change came in between: the same revision before and after is that of the entries.
    init(of store: ObservableStore) {
        var revision = store.revision
        while true {
            let entries = store.entries
            let now = store.revision
            if now == revision {
                (self.entries, self.revision) = (entries, now)
                return
            }
            revision = now
        }
    }

    /// The entries as lines: those of some keys, in their order, whether set or not; or all there are.
    func lines(of keys: [String]) -> [WatchLine] {
        (keys.isEmpty ? entries.keys.sorted(by: JSONText.precedes) : keys).map { key in
            WatchLine(key: key, new: entries[key], kind: .initial, revision: revision)
        }
    }
}
