/// What readers of a store's entries hold on to, by name, for as long as anybody does.
struct WatchTable: Sendable {
    private var watches: [String: EntryWatch] = [:]
    private var crowdSize = 64

    /// The watch of an entry that somebody may hold.
    subscript(name: String) -> EntryWatch? {
        watches[name]
    }

    /// The watch of an entry, made if there is none.
    mutating func watch(_ name: String) -> EntryWatch {
        if let watch = watches[name] { return watch }
        if watches.count >= crowdSize { forgetUnheld() }
        let watch = EntryWatch()
        watches[name] = watch
        return watch
    }

    // Names may be made without end: whenever the table has grown to twice its size, those that nobody holds go.
    private mutating func forgetUnheld() {
        for name in Array(watches.keys) where isKnownUniquelyReferenced(&watches[name]) { watches[name] = nil }
        crowdSize = max(64, watches.count * 2)
    }
}
