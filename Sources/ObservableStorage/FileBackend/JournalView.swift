/// A property list and its journal as they were found.
enum JournalView {
    /// There is no journal, and there was none.
    case none
    /// The list in place is recorded in the journal.
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

/// A property list and its journal as they were found one after the other, while others may replace them.
///
/// It determines the next step, or the view, without accessing files.
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
            // The journal was replaced by a copy, perhaps an older one: the known entries prevail.
            if let known, counts(known) { return .found(.lost(known, content)) }
            return .found(.copied(journal.file, content))
        }
        let lost = known.flatMap { known in
            !journal.file.header.continues(known.file.header) && known.needsCheckpoint && counts(known) ? known : nil
        }
        guard let journaled = content.map({ journal.list($0) }) ?? journal.list(list) else {
            if let lost { return .found(.replaced(journal, lost: lost)) }
            return content.map { .found(.foreign(journal, $0)) } ?? .readList(mayReturn: list == nil)
        }
        if content == nil, journal.entries == nil || journal.mayBeOverwritten(list) { return .readList() }
        if journal.entries == nil, let content { journal.load(content.storedEntries, of: journaled) }
        journal.found = content?.identity ?? list
        return .found(lost.map { .replaced(journal, lost: $0) } ?? .current(journal))
    }

    /// Whether the known entries of a lost journal prevail. A read-only backend cannot store them: there, a list that was put in place since
    /// then prevails.
    private func counts(_ known: JournalState) -> Bool {
        !isReadOnly || list == nil || known.list(list) != nil
    }
}

extension JournalState {
    /// The recorded list that has the identity and the bytes of a file.
    func list(_ content: FileContent) -> JournaledList? {
        list(content.identity).flatMap { $0.checksum == content.checksum ? $0 : nil }
    }

    /// The recorded list that has the bytes of a file, whatever its identity: it was written again as it was, or only marked as modified.
    func list(withBytesOf content: FileContent) -> JournaledList? {
        content.identity == nil ? nil : lists.last { $0.hasBytes(of: content) }
    }
}

extension JournaledList {
    /// Whether it has the bytes of a file, or neither is there. A blank file has none, but may have a size.
    func hasBytes(of content: FileContent) -> Bool {
        (identity?.size ?? 0) == (content.identity?.size ?? 0) && checksum == content.checksum
    }
}
