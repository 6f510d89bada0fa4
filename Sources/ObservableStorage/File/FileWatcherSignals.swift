/// What is known to have happened to a watched path, gathered until its queue comes to it.
struct FileWatcherSignals: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// A writer wrote and may write more.
    static let written = FileWatcherSignals(rawValue: 1)
    /// A writer closed the file.
    static let closed = FileWatcherSignals(rawValue: 2)
    /// The file's name was made, or its permissions changed: it may be worth watching now, and is perhaps still being written.
    static let created = FileWatcherSignals(rawValue: 4)
    /// The file's name stands for another file, or for none.
    static let replaced = FileWatcherSignals(rawValue: 8)
    /// A folder or link on the way changed, or notices were lost: the path has to be followed anew.
    static let rerouted = FileWatcherSignals(rawValue: 16)
    /// Everything is in place for the first time.
    static let armed = FileWatcherSignals(rawValue: 32)

    private static let arming: FileWatcherSignals = [.created, .replaced, .rerouted]

    /// Whether what is watched may no longer be what the path means.
    var needsArming: Bool {
        !isDisjoint(with: Self.arming)
    }

    /// Whether to look before arming anew: another file bears the name, most often a complete one, and nobody is kept waiting for it.
    var looksFirst: Bool {
        contains(.replaced) && isDisjoint(with: [.created, .rerouted, .armed])
    }

    /// What to do once everything is armed again and the file is as found.
    func urgency(_ found: FileWatcherFound) -> FileWatcherUrgency {
        // What was written to the other file between that look and its arming was not told.
        if looksFirst { return .whenQuiet }
        let news = found == .unchanged ? subtracting(Self.arming) : self
        if !news.isDisjoint(with: [.closed, .replaced, .rerouted, .armed]) || (news.contains(.created) && found == .ready) {
            return .now
        }
        return news.isEmpty ? .none : .whenQuiet
    }
}

/// When to tell the reader.
enum FileWatcherUrgency: Sendable, Hashable {
    case none
    case whenQuiet
    case now
}

/// What stood at the end of the path when it was armed again.
enum FileWatcherFound: Sendable, Hashable {
    /// Nothing on the way or at its end is different from before.
    case unchanged
    /// An empty file, whose writer is probably about to fill it.
    case empty
    /// A file with content, or none at all.
    case ready
}
