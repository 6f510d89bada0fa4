import FoundationSubset
import PropertyListCoding

// A checkpoint writes the edits of the journal into the property list.
extension PropertyListFile {
    // Each attempt fails because another program has replaced the list meanwhile.
    private static let mostCheckpoints = 100

    /// Whether the property list lacks edits that are in its journal, as far as this backend has read it.
    var needsCheckpoint: Bool {
        !isReadOnly && journalState.withLock { $0?.needsCheckpoint ?? false }
    }

    /// Runs an edit, after which the property list has it for every program, for one that ends then.
    package func editList(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let entries = try edit(body)
        try checkpoint()
        return entries
    }

    /// Writes a property list with everything that is in the journal, unless another process has done so; returns when it is durable.
    ///
    /// The list is encoded and written beside the old one without a lock, while edits go on. Under the lock it is announced in the journal,
    /// which is synchronized, and renamed: whichever list is found afterwards, the journal tells which edits it has.
    ///
    /// - Parameter newFormat: the format to write; nil for that of the list.
    func checkpoint(as newFormat: PropertyListFormat? = nil) throws {
        guard !isReadOnly else { return }
        for _ in 0..<Self.mostCheckpoints {
            let target = try list.target()
            // Edits of others, and what other programs have done, are in the journal first.
            guard let state = try upToDateJournal(at: target), let entries = state.entries else { return }
            try list.removeLeftovers(of: target)
            guard var found = try list.contentUnlessCorrupt(at: target), let base = state.list(found.identity) else { continue }
            // Of a deleted list, its last values may be known, which are not those of a file.
            if found.identity == nil { found = .missing(format: found.format) }
            guard state.needsCheckpoint || (newFormat ?? found.format) != found.format else {
                return state.end / 2 > keptJournal ? try settleJournal(nil, at: target) : ()
            }
            var edited = found.entries.unedited
            for key in state.editedKeys(since: base) { edited[key] = entries[key] }
            let (bytes, format) = try encoded(edited, over: found, as: newFormat ?? found.format, isForced: newFormat != nil)
            guard let draft = try list.draft(of: edited, bytes, as: format, over: found, at: target) else { continue }
            defer { list.discard(draft) }
            let outcome = try list.recording(failureOf: draft.replacement) {
                try withJournal(of: target) { _, current in
                    try place(draft, over: base, at: state.revision, isForced: newFormat != nil, &current)
                }
            }
            switch outcome ?? .failed {
            case .failed: continue
            case .superseded: return try synchronizeJournal()
            case .placed(let placed):
                _ = try list.finish(draft)
                return try settleJournal(placed, at: target)
            }
        }
        throw list.busyError
    }

    /// Another store may have committed what XML has not: then the list becomes binary, rather than never to be written again.
    private func encoded(
        _ entries: StorageEntries, over found: FileContent, as format: PropertyListFormat, isForced: Bool
    ) throws(StorageError) -> (Data, PropertyListFormat) {
        do throws(StorageError) {
            return try list.encode(entries, over: found, as: format)
        } catch {
            guard format == .xml, !isForced, case .unencodable = error else { throw error }
            return try list.encode(entries, over: found, as: .binary)
        }
    }

    private enum PlacingOutcome {
        case placed(JournaledList)
        /// Another process has written the same edits.
        case superseded
        /// The list was replaced, or the path leads elsewhere.
        case failed
    }

    /// Announces and renames a list, under the lock. That it is in place is recorded when the folder is synchronized: a power failure before
    /// brings back the list that it replaced.
    private func place(
        _ draft: ListDraft, over base: JournaledList, at revision: UInt64, isForced: Bool, _ state: inout JournalState
    ) throws -> PlacingOutcome {
        guard let written = draft.replacement.written,
            var current = state.list(try FileIdentity(at: draft.target, calls: list.calls))
        else { return .failed }
        if !current.isSame(as: state.lists.first) {
            // Whoever announced it was killed when it was in place, perhaps before that was durable.
            try synchronizeFolder(of: draft.target)
            current.isPlaced = true
            try append([.list(current)], to: &state)
        }
        guard current.isSame(as: base), isForced || state.needsCheckpoint else {
            return isForced || state.needsCheckpoint && current.revision < revision ? .failed : .superseded
        }
        let announced = JournaledList(
            identity: JournaledList.Identity(written), checksum: JournalFormat.checksum(draft.bytes), revision: revision,
            format: draft.format)
        // A list that a power failure keeps, and not what announces it, is taken for that of another program. It has the value of each
        // durable edit then, unless there are later ones.
        let isRecognized = state.revision == revision && state.file.isSynchronized(to: state.end)
        try append([.list(announced)], to: &state)
        if !isRecognized { try state.file.synchronize(to: state.end) }
        return try draft.replacement.replace() ? .placed(announced) : .failed
    }

    /// The commits after a revision, as far as the journal reaches back.
    ///
    /// - Parameter revision: the revision; nil for all commits in the journal.
    /// - Returns: nil without a journal, if it has another history, or if it does not know every commit since.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        try rememberedCommits(since: revision)
    }

    func rememberedCommits(since revision: StorageRevision?) throws -> [StorageCommit]? {
        let target = try list.target()
        guard try loadJournaled() != nil, let state = knownJournal(of: target) else { return nil }
        let history = state.file.header.historyName
        let first = revision?.number ?? state.file.header.first
        if let revision, revision.history != history { return nil }
        guard first >= state.file.header.first, first <= state.revision else { return nil }
        var commits: [StorageCommit] = []
        for (_, record) in try state.file.records().records {
            switch record {
            case .commit(let commit) where commit.revision > first:
                let number = StorageRevision(history: history, number: commit.revision)
                let edits = commit.edits.mapValues { StorageCommit.Edit(from: $0.oldValue, to: $0.newValue) }
                commits.append(StorageCommit(edits, revision: number, time: commit.time, writer: commit.writer))
            case .list(let list) where list.isGap && list.revision > first:
                // Nobody knows what that program has changed.
                if revision != nil { return nil }
                commits = []
            case .commit, .list, .placed: break
            }
        }
        return commits
    }
}
