import FoundationSubset
import PropertyListCoding

// What becomes of the journal when others have replaced the list or the journal, and making and shortening it.
extension PropertyListFile {
    /// The entries after another program has put a list in place.
    func merged(_ state: JournalState, over content: FileContent) -> (
        entries: StorageEntries, overrides: [String: StorageCommit.Edit]
    ) {
        var overrides: [String: StorageCommit.Edit] = [:]
        if content.identity != nil {
            overrides = state.remaining { content.entries[$0] }
        } else if list.configuration.onDeletion == .keepLastValues, let entries = state.entries {
            overrides = StorageEntries().edits(to: entries)
        }
        let base = content.identity == nil ? StorageEntries() : content.entries
        return (StorageEntries(base, with: overrides.mapValues(\.newValue)), overrides)
    }

    /// The entries after the journal was removed or damaged.
    func restored(_ state: JournalState, over content: FileContent) -> StorageEntries {
        if state.list(content.identity) != nil, let entries = state.entries { return entries }
        return merged(state, over: content).entries
    }

    /// The entries of a copied journal and its list: of the list alone, if that is not one of the journal's.
    func copied(_ file: JournalFile, _ content: FileContent) throws(StorageError) -> StorageEntries {
        let checksum = JournalFormat.checksum(content.bytes)
        let records = try file.records().records.map(\.record)
        let lists = records.compactMap { record -> JournaledList? in
            guard case .list(let list) = record, list.checksum == checksum, (list.identity?.size ?? 0) == content.bytes.count else {
                return nil
            }
            return list
        }
        guard let journaled = lists.last, (journaled.identity == nil) == (content.identity == nil) else {
            list.reports.report([.unreadable(file: file.path.path, reason: "it is the journal of another property list, and is not used")])
            return content.entries
        }
        var changes = journaled.overrides.mapValues(\.newValue)
        for case .commit(let commit) in records where commit.revision > journaled.revision { commit.apply(to: &changes) }
        return StorageEntries(content.entries, with: changes)
    }

    /// Makes what another program has changed a commit; if the entries before are not known, only that something has changed.
    func adopt(_ content: FileContent, in state: JournalState, at target: ResolvedPath) throws -> JournalState {
        var state = state
        // Otherwise commits over it could be durable, but not the list itself.
        try synchronize(content, at: target)
        try synchronizeFolder(of: target)
        let (entries, overrides) = merged(state, over: content)
        let edits = state.entries?.edits(to: entries)
        let commit = state.commit(edits ?? [:], at: list.calls.now(), by: JournalCommit.otherProgram)
        let adopted = JournaledList(
            content, at: edits == nil || !commit.isEmpty ? state.revision + 1 : state.revision, overrides: overrides, isGap: edits == nil)
        try append(commit + [.list(adopted)], to: &state)
        if state.entries == nil {
            state.load(content.entries, of: adopted)
            remember(state)
        }
        return state
    }

    /// Waits until the list is on the medium, which another program need not have done.
    private func synchronize(_ content: FileContent, at target: ResolvedPath) throws(StorageError) {
        guard content.identity != nil else { return }
        do throws(SystemError) {
            let descriptor = try list.calls.openFile(target, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { list.calls.discard(descriptor) }
            try list.calls.uninterrupted { () throws(SystemError) in try list.calls.synchronize(descriptor) }
        } catch let error where error.isMissing {
            // Deleted meanwhile, which is found next.
            return
        } catch {
            throw .unwritable(file: name, reason: "\(error.reason) (synchronizing it before edits are added to its journal)")
        }
    }

    /// Waits until the names in the folder are on the medium.
    func synchronizeFolder(of target: ResolvedPath) throws(StorageError) {
        do throws(SystemError) {
            try list.calls.synchronizeFolder(of: target)
        } catch {
            throw .unwritable(file: name, reason: "\(error.reason) (synchronizing the folder \(target.folder))")
        }
    }

    /// Stores the entries of a journal in the list itself, because something else stands in its place, and continues without one.
    func leaveJournal(
        _ state: JournalState, _ entries: StorageEntries, over content: FileContent, at target: ResolvedPath
    ) throws {
        let base = content.identity == nil ? StorageEntries() : content.entries
        let edits = base.edits(to: entries)
        remember(nil)
        var listEdit = ListEdit(of: list)
        defer { listEdit.drop() }
        do {
            try listEdit.run({ entries in for (key, edit) in edits { entries[key] = edit.newValue } }, at: target)
        } catch {
            remember(state)
            throw error
        }
    }

    /// Makes a new journal with a history of its own.
    func makeJournal(over content: FileContent, _ entries: StorageEntries, at target: ResolvedPath) throws -> JournalState {
        try synchronize(content, at: target)
        let base = content.identity == nil ? StorageEntries() : content.entries
        let first = JournaledList(content, at: 0, overrides: base.edits(to: entries))
        return try makeJournal(
            history: list.calls.random(), first: 0, [.list(first)], (content.entries, first), after: nil, at: target)
    }

    func makeJournal(
        history: UInt64, first: UInt64, _ records: [JournalRecord], _ base: (entries: StorageEntries, list: JournaledList)?,
        after earlier: JournalState?, at target: ResolvedPath
    ) throws -> JournalState {
        let status: FileStatus?
        do throws(SystemError) {
            status = try list.calls.status(at: target)
        } catch {
            throw StorageError.unwritable(file: name, reason: error.reason)
        }
        let (file, written) = try JournalFile.make(
            of: target, history: history, first: first, records, besides: status, protection: list.configuration.protection,
            calls: list.calls)
        var state = JournalState(file, written, after: earlier)
        if state.entries == nil, let base { state.load(base.entries, of: base.list) }
        remember(state)
        return state
    }

    /// Records that a list is in place, durably, and replaces a journal that has become too long by one with its last commits.
    ///
    /// - Parameter placed: the list that was put in place; nil if none was.
    func settleJournal(_ placed: JournaledList?, at target: ResolvedPath) throws {
        _ = try withJournal(of: target) { _, state in
            // Otherwise another process has recorded it, or has put another list in place.
            if let placed, state.lists.count > 1, placed.isSame(as: state.lists.last),
                placed.isFile(try FileIdentity(at: target, calls: list.calls))
            {
                try append([.placed], to: &state)
            }
            _ = try shortened(state, at: target)
        }
    }

    /// The journal, or one with its last commits if it has become too long.
    func shortened(_ state: JournalState, at target: ResolvedPath) throws -> JournalState {
        guard state.end / 2 > keptJournal else { return state }
        let kept = state.lastRecords(of: try state.file.records(), atLeast: keptJournal)
        return try makeJournal(
            history: state.file.header.history, first: kept.first, kept.records, nil, after: state, at: target)
    }
}

extension JournalState {
    /// The last records of the journal, with the list in place and every commit that it lacks, and the revision before them.
    ///
    /// - Parameter size: how many bytes to keep at least.
    fileprivate func lastRecords(of all: JournalRecords, atLeast size: Int) -> (first: UInt64, records: [JournalRecord]) {
        var start = end
        for (offset, record) in all.records where offset < start {
            // Commits that were made while the list was written are before its record.
            if offset >= end - size || record.isCommit(commits.first?.revision) { start = offset }
        }
        for (offset, record) in all.records where record.isList(lists.first) { start = min(start, offset) }
        var (first, kept) = (file.header.first, [JournalRecord]())
        for (offset, record) in all.records {
            if offset >= start {
                kept.append(record)
            } else if let revision = record.revision {
                first = max(first, revision)
            }
        }
        return (first, kept)
    }
}

extension JournalRecord {
    fileprivate func isList(_ list: JournaledList?) -> Bool {
        if case .list(let own) = self { own == list } else { false }
    }

    fileprivate func isCommit(_ revision: UInt64?) -> Bool {
        if case .commit(let own) = self { own.revision == revision } else { false }
    }

    fileprivate var revision: UInt64? {
        switch self {
        case .commit(let commit): commit.revision
        case .list(let list): list.revision
        case .placed: nil
        }
    }
}

extension JournaledList {
    /// A list that is in place.
    fileprivate init(_ content: FileContent, at revision: UInt64, overrides: [String: StorageCommit.Edit], isGap: Bool = false) {
        self.init(
            identity: content.identity.map { Identity($0) }, checksum: JournalFormat.checksum(content.bytes), revision: revision,
            format: content.format, overrides: overrides, isGap: isGap, isPlaced: true)
    }
}
