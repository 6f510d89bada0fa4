import FoundationSubset
import PropertyListCoding

/// Writes the edits of a journal into its property list.
struct Checkpoint {
    // Each attempt fails because another program has replaced the list meanwhile.
    private static let maximumAttempts = 100

    private let journal: Journal
    private let list: ListFile
    /// The format to write; nil for that of the list.
    private let newFormat: PropertyListFormat?

    private enum Outcome {
        case placed(JournaledList)
        /// Another process has written the same edits.
        case superseded
        /// The list was replaced, or the path leads elsewhere.
        case failed
    }

    init(of journal: Journal, as newFormat: PropertyListFormat?) {
        (self.journal, list, self.newFormat) = (journal, journal.list, newFormat)
    }

    private var isForced: Bool { newFormat != nil }

    /// Writes a property list with everything that is in the journal, unless another process has done so; returns when it is durable.
    ///
    /// The list is encoded and written beside the old one without a lock, while edits go on. Under the lock it is announced in the journal,
    /// which is synchronized, and renamed: whichever list is found afterwards, the journal tells which edits it has.
    ///
    /// - Returns: false if another process has written the edits, which still have to be synchronized.
    func write() throws -> Bool {
        for _ in 0..<Self.maximumAttempts {
            let target = try journal.target()
            // Adds the edits of other stores, and the changes of other programs, to the journal first.
            guard let state = try journal.upToDate(at: target), let entries = state.entries else { return true }
            try list.removeLeftovers(of: target)
            guard var found = try list.contentUnlessCorrupt(at: target), let base = state.list(found.identity) else { continue }
            // The last values of a deleted list may be known, but they are not in a file.
            if found.identity == nil { found = .missing(format: found.format) }
            guard state.needsCheckpoint || (newFormat ?? found.format) != found.format else {
                if state.end / 2 > journal.keptSize { try journal.settle(nil, at: target) }
                return true
            }
            var edited = found.entries.unedited
            for key in state.edits(since: base).keys { edited[key] = entries[key] }
            let (bytes, format) = try encoded(edited, over: found)
            guard let draft = try list.draft(of: edited, bytes, as: format, over: found, at: target) else { continue }
            defer { list.discard(draft) }
            let outcome = try list.recording(failureOf: draft.replacement) {
                try journal.withJournal(of: target) { _, current in try replaceList(with: draft, over: base, at: state.revision, &current) }
            }
            switch outcome ?? .failed {
            case .failed: continue
            case .superseded: return false
            case .placed(let placed):
                _ = try list.finish(draft)
                try journal.settle(placed, at: target)
                return true
            }
        }
        throw list.busyError
    }

    /// Another store may have committed a value that the format cannot represent: the list then becomes binary, or else it could never be written.
    private func encoded(_ entries: StorageEntries, over found: FileContent) throws(StorageError) -> (Data, PropertyListFormat) {
        let format = newFormat ?? found.format
        do throws(StorageError) {
            return try list.encode(entries, over: found, as: format)
        } catch {
            guard format != .binary, !isForced, case .unencodable = error else { throw error }
            return try list.encode(entries, over: found, as: .binary)
        }
    }

    /// Announces and renames a list, under the lock. It is recorded as placed only after the folder is synchronized: a power failure before
    /// that brings back the list that it replaced.
    private func replaceList(
        with draft: ListDraft, over base: JournaledList, at revision: UInt64, _ state: inout JournalState
    ) throws -> Outcome {
        guard let written = draft.replacement.written,
            var current = state.list(try FileIdentity(at: draft.target, calls: list.calls))
        else { return .failed }
        if !current.isSame(as: state.lists.first) {
            // The process that announced it was killed after renaming it, perhaps before that was durable.
            try journal.synchronizeFolder(of: draft.target)
            current.isPlaced = true
            try journal.append([.list(current)], to: &state)
        }
        guard current.isSame(as: base), isForced || state.needsCheckpoint else {
            return isForced || state.needsCheckpoint && current.revision < revision ? .failed : .superseded
        }
        let announced = JournaledList(
            identity: JournaledList.Identity(written), checksum: JournalFormat.checksum(draft.bytes), revision: revision,
            format: draft.format)
        // If a power failure keeps the list without its announcement, the list is taken for that of another program, but has the value of
        // each durable edit, unless there are later ones.
        let isRecognized = state.revision == revision && state.file.isSynchronized(to: state.end)
        try journal.append([.list(announced)], to: &state)
        if !isRecognized { try state.synchronize() }
        return try list.rename(draft) ? .placed(announced) : .failed
    }
}
