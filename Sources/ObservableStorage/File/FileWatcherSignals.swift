/// What is known to have happened to a watched path, gathered until its queue comes to it.
struct FileWatcherSignals: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// A writer wrote and may write more.
    static let written = FileWatcherSignals(rawValue: 1)
    /// A writer closed the file.
    static let closed = FileWatcherSignals(rawValue: 2)
    /// The file's name was made, or its permissions changed: it may be worth watching now, and is perhaps still being written.
    static let created = FileWatcherSignals(rawValue: 4)
    /// Another file was moved to the file's name.
    static let replaced = FileWatcherSignals(rawValue: 8)
    /// A folder or link on the way changed, or notices were lost: the path has to be followed anew.
    static let rerouted = FileWatcherSignals(rawValue: 16)
    /// Everything is in place for the first time.
    static let armed = FileWatcherSignals(rawValue: 32)
    /// The file's name stands for none any more.
    static let removed = FileWatcherSignals(rawValue: 64)
    /// The watched file itself is no more, of which its folder tells as well, unless it knows the file by another spelling.
    static let ended = FileWatcherSignals(rawValue: 128)

    private static let arming: FileWatcherSignals = [.created, .removed, .rerouted]

    /// Whether to watch what the path means now before looking: what happens there next may be told by nothing else.
    var needsArming: Bool {
        !isDisjoint(with: Self.arming)
    }

    /// Whether the file is another one, which is to be watched when things are quiet: who replaces a file as a whole does so again, as all
    /// stores do, rather than write to it, and its folder tells of that.
    var needsArmingLater: Bool {
        !isDisjoint(with: [.replaced, .ended]) && !needsArming
    }

    /// What to do once everything is armed that has to be, and the file is as found.
    func urgency(_ found: FileWatcherFound) -> FileWatcherUrgency {
        let news = found == .unchanged ? subtracting(Self.arming) : self
        if !news.isDisjoint(with: [.closed, .replaced, .removed, .rerouted, .armed]) || (news.contains(.created) && found == .ready) {
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
