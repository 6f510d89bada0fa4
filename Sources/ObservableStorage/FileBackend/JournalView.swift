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

/// What was found of a property list and its journal, one after the other, while others may replace them.
///
/// A value without files: it says what to look at next, and what the view is.
struct JournalFindings {
    /// What was known of the journal before.
    let known: JournalState?
    /// The identity of the list, found before its journal: a list is announced before it is put in place. Nil if there is none.
    let list: FileIdentity?
    /// The journal in place, as far as it can be read; nil if there is none.
    let journal: JournalState?
    let isReadOnly: Bool

    /// What to do next.
    enum Step {
        /// Read the list, and look at both again if its identity is another one.
        ///
        /// - Parameter mayReturn: whether an editor may just be about to write the list, which is then waited for.
        case readList(mayReturn: Bool = false)
        case found(JournalView)
    }

    /// The step after these findings.
    ///
    /// - Parameter content: the content of the list; nil if it was not read.
    func next(_ content: FileContent? = nil) -> Step {
        guard var journal else {
            guard let known, counts(known) else { return .found(.none) }
            return content.map { .found(.lost(known, $0)) } ?? .readList()
        }
        if journal.file.isCopy {
            guard let content else { return .readList() }
            // Somebody has put a copy in place, perhaps an older one: what is known counts.
            if let known, counts(known) { return .found(.lost(known, content)) }
            return .found(.copied(journal.file, content))
        }
        let lost = known.flatMap { known in
            !journal.file.header.continues(known.file.header) && known.needsCheckpoint && counts(known) ? known : nil
        }
        guard let journaled = journal.list(list) else {
            if let lost { return .found(.replaced(journal, lost: lost)) }
            return content.map { .found(.foreign(journal, $0)) } ?? .readList(mayReturn: list == nil)
        }
        if journal.entries == nil {
            guard let content else { return .readList() }
            journal.load(content.entries, of: journaled)
        }
        return .found(lost.map { .replaced(journal, lost: $0) } ?? .current(journal))
    }

    /// Whether what is known of a lost journal counts. Who only reads cannot store it: for them, a list that was put in place since counts.
    private func counts(_ known: JournalState) -> Bool {
        !isReadOnly || list == nil || known.list(list) != nil
    }
}
