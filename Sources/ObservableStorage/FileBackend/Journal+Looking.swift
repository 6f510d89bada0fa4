import FoundationSubset
import PropertyListCoding
import Synchronization

// Looking at the journal and its list.
extension Journal {
    /// The list and the journal that are currently at their paths, and the status of both files; nil for those that are missing.
    ///
    /// - Parameter placed: the status of the list, if it was just found in place; a list that was missing is looked at again.
    func view(at target: ResolvedPath, _ placed: FileStatus? = nil) throws -> (view: JournalView, list: FileStatus?, journal: FileStatus?) {
        var isFirst = list.cached.withLock { $0 == nil }
        var placed = placed
        var waited: Duration = .zero
        var last: FileContent?
        for _ in 0..<Self.maximumAttempts {
            let known = known(of: target)
            // Before the journal: a list is announced before it is put in place.
            let status = try list.calls.reading(target.path) { () throws(SystemError) in
                try list.calls.status(at: target, or: placed.take())
            }
            if status != nil {
                absent.exchange(nil)
                list.isQuarantined.store(false, ordering: .relaxed)
            }
            let entry = try entry(of: target)
            let journal = try current(of: target, entry, known)
            if status == nil, let journal, !journal.file.isCopy { list.markMissing(as: journal.list(nil)) }
            let findings = JournalFindings(known: known, list: status?.identity, journal: journal, isReadOnly: list.isReadOnly)
            var step = findings.next()
            if case .readList(let mayReturn) = step {
                let recorded = findings.journal?.lists.last
                if mayReturn, absent.withLock({ $0?.isSame(as: recorded) != true }) {
                    // Reading waits for a list that was read before.
                    if waited < ListFile.missingGrace, list.cached.withLock({ $0?.identity == nil }) {
                        list.calls.pause(ListFile.pause)
                        waited += ListFile.pause
                        continue
                    }
                    absent.exchange(recorded)
                }
                let before = last
                last = try list.content(of: target, quarantining: quarantine)
                if last?.entries.stored.isEmpty == false { isFirst = false }
                guard let content = last, content.isUnchanged(since: before, at: status?.identity) else { continue }
                step = findings.next(content)
                // Otherwise it was reported when the list was read.
                if isFirst, content.isBlank, case .found(.foreign(let journal, _)) = step, let known = journal.lists.first,
                    known.checksum != content.checksum
                {
                    list.reportTruncation()
                }
            }
            guard case .found(let view) = step else { continue }
            switch view {
            case .none: if known != nil { remember(nil) }
            case .current(let state): keep(state, after: known)
            case .foreign, .lost, .replaced, .copied: break
            }
            return (view, status, entry?.status)
        }
        throw StorageError.unreadable(file: list.name, reason: "it keeps changing while it is read")
    }

    /// The journal as far as it can be read now; nil if there is none, or the one that was known is damaged.
    func current(
        of target: ResolvedPath, _ entry: (status: FileStatus, isJournal: Bool)?, _ known: JournalState?
    ) throws(StorageError) -> JournalState? {
        guard let (status, isJournal) = entry, isJournal else { return nil }
        if let known, known.file.inode == status.identity.inode { return try known.continued(as: status) }
        do throws(StorageError) {
            guard let file = try JournalFile.open(of: target, calls: list.calls) else { return nil }
            // Known entries may lack commits that a list has.
            return JournalState(file, try file.records(skippingStored: known == nil), after: known)
        } catch {
            guard case .malformed(let file, let offset, _, _, let reason, _) = error else { throw error }
            if !wasDamageReported.exchange(true, ordering: .relaxed) {
                let outcome = "\(target.name) is read without it, and its next write replaces it"
                list.reports.report([.unreadable(file: file, reason: "\(reason) (byte \(offset ?? 0)); \(outcome)")])
            }
            return nil
        }
    }

    /// The status of the file at the journal's path, and whether it is used as the journal, which requires that its owner may write the list;
    /// nil if there is none. A file that is not used is reported once; the list is then read and written without a journal.
    func entry(of target: ResolvedPath) throws(StorageError) -> (status: FileStatus, isJournal: Bool)? {
        try list.calls.reading(list.name, "looking for its journal \(target.journal.path)") { () throws(SystemError) in
            guard let status = try list.calls.untimedStatus(at: target.journal) else { return nil }
            if status.kind == .file, status.belongsToThisUser { return (status, true) }
            return (status, try isJournal(status, of: target))
        }
    }

    /// Whether a file that belongs to another user is used as the journal, and not a folder or the like.
    private func isJournal(_ status: FileStatus, of target: ResolvedPath) throws(SystemError) -> Bool {
        let objection: String
        if let reason = status.kind.objection {
            objection = "it \(reason)"
        } else {
            let model = try list.calls.status(at: target)
            if try list.calls.isTrusted(status, besides: target, model) { return true }
            // An editor may be about to write the list, whose permissions decide.
            if model == nil { return false }
            objection = "it belongs to user \(status.owner), who is not known to be allowed to write the property list"
        }
        let reason = "\(objection); it is not used as the journal of \(target.name), which is read and written without one; remove it"
        list.reports.reportOnce(.unreadable(file: target.journal.path, reason: reason))
        return false
    }

    // MARK: Entries of lists of other programs

    /// The entries after another program has put a list in place.
    func merged(_ state: JournalState, over content: FileContent) -> (
        entries: StorageEntries, overrides: [String: StorageCommit.Edit]
    ) {
        var overrides: [String: StorageCommit.Edit] = [:]
        if let entries = state.entries, isLate(content, in: state) {
            // The commits since it was announced are not in it.
            overrides = content.storedEntries.edits(to: entries)
        } else if content.isBlank {
            // Nobody has removed these entries one by one.
            overrides = state.missingEdits
        } else if content.identity != nil {
            overrides = state.remaining { content.entries[$0] }
        } else if list.configuration.onDeletion == .keepLastValues, let entries = state.entries {
            overrides = StorageEntries().edits(to: entries)
        }
        return (StorageEntries(content.storedEntries, with: overrides.mapValues(\.newValue)), overrides)
    }

    /// Whether a list was announced, and was put in place only after another one, by a writer with another lock file.
    private func isLate(_ content: FileContent, in state: JournalState) -> Bool {
        guard content.identity != nil, let records = try? state.file.records().records else { return false }
        var announced: [JournaledList] = []
        for record in records.map(\.record) {
            switch record {
            case .list(let list) where !list.isPlaced: announced.append(list)
            // Whoever puts it in place again means it.
            case .placed: announced.removeLast(min(1, announced.count))
            case .list, .commit: break
            }
        }
        return announced.contains { $0.isFile(content.identity) && $0.hasBytes(of: content) }
    }

    /// The entries after the journal was removed or damaged.
    func restored(_ state: JournalState, over content: FileContent) -> StorageEntries {
        if state.list(content) != nil, let entries = state.entries { return entries }
        return merged(state, over: content).entries
    }

    /// The entries of a copied journal and its list: of the list alone, if that is not one of the journal's.
    func copied(_ file: JournalFile, _ content: FileContent) throws(StorageError) -> StorageEntries {
        let records = try file.records().records.map(\.record)
        let lists = records.compactMap { record -> JournaledList? in
            guard case .list(let list) = record else { return nil }
            return list.hasBytes(of: content) ? list : nil
        }
        guard let journaled = lists.last, (journaled.identity == nil) == (content.identity == nil) else {
            list.reports.report([.unreadable(file: file.path.path, reason: "it is the journal of another property list, and is not used")])
            return content.entries
        }
        var changes = journaled.overrides.mapValues(\.newValue)
        for case .commit(let commit) in records where commit.revision > journaled.revision { commit.apply(to: &changes) }
        return StorageEntries(content.entries, with: changes)
    }
}
