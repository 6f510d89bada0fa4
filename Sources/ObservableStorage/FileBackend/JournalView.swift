/// What looking at a property list and its journal has found.
enum JournalView {
    /// There is no journal, and there was none.
    case none
    /// The list in place is one of the journal's.
    case current(JournalState)
    /// Another program has put a list in place, or deleted it.
    case foreign(JournalState, FileContent)
    /// The journal was removed, or damaged.
    case lost(JournalState, FileContent)
    /// Another journal is in place, which lacks commits of the one before.
    case replaced(JournalState, lost: JournalState)
    /// The journal is a copy, as in a copy of the folder.
    case copied(JournalFile, FileContent)
}

extension JournalView {
    /// Whether something has to be written before it is a state of the journal.
    var needsWriting: Bool {
        switch self {
        case .none, .current: false
        case .foreign, .lost, .replaced, .copied: true
        }
    }

    /// Whether the list was removed, perhaps with its journal and its folder.
    var isGone: Bool {
        switch self {
        case .foreign(_, let content), .lost(_, let content): content.identity == nil
        case .none, .current, .replaced, .copied: false
        }
    }
}
