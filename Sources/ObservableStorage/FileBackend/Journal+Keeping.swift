import FoundationSubset
import PropertyListCoding
import Synchronization

// Making and shortening the journal, and continuing it after other programs have replaced it or its list.
extension Journal {
    /// The journal, ready for commits; nil if it has to be looked up again.
    ///
    /// - Parameter status: the status of the list, if it was found in place under the lock.
    func prepare(at target: ResolvedPath, _ status: FileStatus? = nil) throws -> JournalState? {
        let (view, status, journal) = try view(at: target, status)
        let inode = journal?.identity.inode
        switch view {
        case .current(let state):
            if state.hasRemainder {
                return try list.content(of: target).flatMap { try replaceDamaged(state, over: $0, restored(state, over: $0), at: target) }
            }
            return try state.file.header.isOfOtherRun(than: list.calls.boot) || state.file.isDoubtful
                || state.file.hasWrongAccess(besides: status, as: journal) ? renew(state, of: target) : state
        case .none:
            return try list.content(of: target).flatMap { try make(over: $0, $0.entries, insteadOf: inode, at: target) }
        case .foreign(let state, let content):
            if state.hasRemainder { return try replaceDamaged(state, over: content, restored(state, over: content), at: target) }
            let current = state.file.header.isOfOtherRun(than: list.calls.boot) ? try renew(state, of: target) : state
            return try current.flatMap { try adopt(content, in: $0, at: target) }
        case .lost(let state, let content):
            let entries = restored(state, over: content)
            // Another file may be at the path of the journal.
            if try entry(of: target)?.isJournal != false { return try make(over: content, entries, insteadOf: inode, at: target) }
            try leave(state, entries, over: content)
            return nil
        case .replaced(let state, let lost):
            // The commits that the new journal lacks are made again; if that fails, by the next attempt.
            remember(state)
            var isDone = false
            defer { if !isDone { remember(lost) } }
            guard var state = try prepare(at: target), let entries = state.entries else { return nil }
            isDone = try append(state.commit(lost.remaining { entries[$0] }, at: list.calls.now()), to: &state)
            return isDone ? state : nil
        case .copied(let file, let content): return try make(over: content, copied(file, content), insteadOf: inode, at: target)
        }
    }

    /// Makes a new journal without the bytes after the last record.
    ///
    /// It has a history of its own: others may know of commits that are lost.
    private func replaceDamaged(
        _ state: JournalState, over content: FileContent, _ entries: StorageEntries, at target: ResolvedPath
    ) throws -> JournalState? {
        try isDamaged(state) ? make(over: content, entries, insteadOf: state.file.inode, at: target) : nil
    }

    /// Whether what follows the last record is not about to become one; that is reported.
    private func isDamaged(_ state: JournalState) throws -> Bool {
        // A writer with another lock file may not have completed the record yet: it has the journal locked, and appending nothing waits for it.
        _ = try state.file.append(Data(), at: state.end)
        if let now = try state.continued(), !now.hasRemainder || now.end > state.end { return false }
        let reason = "there is no complete record at byte \(state.end); a new journal was made without it"
        list.reports.report([.unreadable(file: state.file.path.path, reason: reason)])
        return true
    }

    /// Moves a malformed list away, under its lock, and keeps the commits that it did not have: without the records around it, the list would
    /// count as deleted, and they with it.
    ///
    /// - Returns: whether there are such commits; nil if it has to be tried again.
    /// - Throws: an error with the remedy if they would be lost, as this user cannot open the journal, or it only counts beside that list.
    func quarantine(_ target: ResolvedPath, by move: () throws -> Bool) throws -> Bool? {
        guard let entry = try entry(of: target), entry.isJournal else { return try move() ? false : nil }
        let reason = """
            it is malformed, and is not moved aside: the edits in its journal \(target.journal.path), which belongs to user \
            \(entry.status.owner), would be lost; open it as that user, or remove the journal
            """
        let refusal = StorageError.unreadable(file: list.name, reason: reason)
        let found: JournalState?
        do throws(StorageError) {
            found = try current(of: target, entry, known(of: target))
        } catch {
            if case .unreadable(target.journal.path, _, _) = error { throw refusal }
            throw error
        }
        guard var state = found, !state.lists.isEmpty else { return try move() ? false : nil }
        let missing = FileContent.missing(format: list.newFormat)
        let edits = state.missingEdits
        if !edits.isEmpty, !entry.status.belongsToThisUser { throw refusal }
        if state.file.isCopy || state.hasRemainder || state.file.header.isOfOtherRun(than: list.calls.boot) || state.file.isDoubtful {
            guard try !state.hasRemainder || isDamaged(state), let renewed = try renew(state, of: target) else { return nil }
            state = renewed
        }
        let announced = JournaledList(missing, at: state.revision + 1, overrides: edits, isGap: true, isPlaced: false)
        // An earlier attempt may have announced it, and failed to move it.
        let isAnnounced = state.lists.last.map { $0.isQuarantined && ($0.revision, $0.overrides) == (state.revision, edits) } ?? false
        guard try isAnnounced || append([.list(announced)], to: &state) else { return nil }
        try state.synchronize()
        guard try move() else { return nil }
        do {
            try synchronizeFolder(of: target)
            _ = try append([.placed], to: &state)
        } catch {
            // The next checkpoint does both.
            list.reports.report([.writing(list.name, error)])
        }
        return !edits.isEmpty
    }

    /// Writes the records of a journal to another file: after a failed synchronization, the system may consider lost data written.
    ///
    /// In a later run of the system they get a history of their own: a power failure may have removed commits that were not synchronized,
    /// but whose revisions others know. So do those of a copy, and of a damaged journal, which has lost its last ones.
    private func renew(_ state: JournalState, of target: ResolvedPath) throws -> JournalState? {
        let records = try state.file.records().records.map(\.record)
        let (header, isOther) = (state.file.header, state.file.isCopy || state.hasRemainder)
        return try make(
            history: isOther ? list.calls.random() : header.history(in: list.calls.boot), first: header.first, records,
            after: isOther ? nil : state, insteadOf: isOther ? state.file.inode : nil, at: target)
    }

    /// Appends the changes of another program as a commit, or as a gap if the entries before are not known.
    private func adopt(_ content: FileContent, in state: JournalState, at target: ResolvedPath) throws -> JournalState? {
        var state = state
        // Otherwise commits over it could be durable, but not the list itself.
        try synchronize(content, at: target)
        try synchronizeFolder(of: target)
        if state.entries == nil, let same = state.list(withBytesOf: content) { state.load(content.entries, of: same) }
        let (entries, overrides) = merged(state, over: content)
        let edits = state.entries?.edits(to: entries)
        let commit = state.commit(edits ?? [:], at: list.calls.now(), by: JournalCommit.otherProgram)
        let adopted = JournaledList(
            content, at: edits == nil || !commit.isEmpty ? state.revision + 1 : state.revision, overrides: overrides, isGap: edits == nil)
        guard try append(commit + [.list(adopted)], to: &state) else { return nil }
        if state.entries == nil {
            state.load(content.entries, of: adopted)
            remember(state)
        }
        return state
    }

    /// Waits until the list is on the medium: the program that wrote it may not have done so.
    private func synchronize(_ content: FileContent, at target: ResolvedPath) throws(StorageError) {
        guard content.identity != nil else { return }
        do throws(SystemError) {
            let descriptor = try list.calls.openFile(target, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { list.calls.discard(descriptor) }
            try list.calls.uninterrupted { () throws(SystemError) in try list.calls.synchronize(descriptor) }
        } catch let error where error.isMissing {
            // It was deleted meanwhile, which the next attempt finds.
            return
        } catch {
            throw .unwritable(file: list.name, reason: "\(error.reason) (synchronizing it before edits are added to its journal)")
        }
    }

    /// Waits until the names in the folder are on the medium.
    func synchronizeFolder(of target: ResolvedPath) throws(StorageError) {
        try list.calls.writing(list.name, "synchronizing the folder \(target.folder)") { () throws(SystemError) in
            try list.calls.synchronizeFolder(of: target)
        }
    }

    /// Stores the entries of a journal in the list itself, because another file is at the journal's path, and continues without a journal.
    private func leave(_ state: JournalState, _ entries: StorageEntries, over content: FileContent) throws {
        let edits = content.storedEntries.edits(to: entries)
        remember(nil)
        do {
            _ = try self.edit { entries in for (key, edit) in edits { entries[key] = edit.newValue } }
        } catch {
            remember(state)
            throw error
        }
    }

    /// Makes a new journal with a history of its own.
    ///
    /// - Parameter inode: the number of the file at its path; nil if there is none.
    private func make(
        over content: FileContent, _ entries: StorageEntries, insteadOf inode: UInt64?, at target: ResolvedPath
    ) throws -> JournalState? {
        try synchronize(content, at: target)
        let isQuarantined = content.identity == nil && list.isQuarantined.load(ordering: .relaxed)
        let first = JournaledList(
            content, at: 0, overrides: content.storedEntries.edits(to: entries), isGap: isQuarantined, isPlaced: !isQuarantined)
        return try make(
            history: list.calls.random(), first: 0, [.list(first)], over: (content.entries, first), insteadOf: inode, at: target)
    }

    private func make(
        history: UInt64, first: UInt64, _ records: [JournalRecord], over base: (entries: StorageEntries, list: JournaledList)? = nil,
        after earlier: JournalState? = nil, insteadOf inode: UInt64? = nil, at target: ResolvedPath
    ) throws -> JournalState? {
        let status = try list.calls.writing(list.name) { () throws(SystemError) in try list.calls.status(at: target) }
        let new: (file: JournalFile, records: JournalRecords)?
        do throws(StorageError) {
            new = try JournalFile.make(
                of: target, history: history, first: first, records, after: earlier, insteadOf: inode, besides: status,
                protection: list.configuration.protection, calls: list.calls)
        } catch {
            // That the list may not be written is more specific.
            if let status { try list.calls.requireWritable(status, at: target) }
            throw error
        }
        guard let (file, written) = new else { return nil }
        var state = JournalState(file, written, after: earlier)
        if state.entries == nil, let base { state.load(base.entries, of: base.list) }
        remember(state)
        return state
    }

    /// Records that a list is in place, durably, and replaces a journal that has become too long by one with its last commits.
    ///
    /// - Parameter placed: the list that was put in place; nil if none was.
    func settle(_ placed: JournaledList?, at target: ResolvedPath) throws {
        _ = try withJournal(of: target) { _, state -> JournalState? in
            // Otherwise another process has recorded it, or has put another list in place.
            if let placed, state.lists.count > 1, placed.isSame(as: state.lists.last),
                placed.isFile(try FileIdentity(at: target, calls: list.calls))
            {
                guard try append([.placed], to: &state) else { return nil }
            }
            do {
                return try shortened(state, at: target)
            } catch {
                // Everything is stored, and the next checkpoint tries again.
                list.reports.reportOnce(.writing(list.name, error))
                return state
            }
        }
    }

    /// The journal, or one with its last commits if it has become too long; nil if it has to be looked at again.
    func shortened(_ state: JournalState, at target: ResolvedPath) throws -> JournalState? {
        guard state.end / 2 > keptSize else { return state }
        let kept = state.lastRecords(of: try state.file.records(), atLeast: keptSize)
        return try make(
            history: state.file.header.history, first: kept.first, kept.records, after: state, at: target)
    }
}

extension JournaledList {
    fileprivate init(
        _ content: FileContent, at revision: UInt64, overrides: [String: StorageCommit.Edit], isGap: Bool = false, isPlaced: Bool = true
    ) {
        self.init(
            identity: content.identity?.recorded, checksum: content.checksum, revision: revision,
            format: content.format, overrides: overrides, isGap: isGap, isPlaced: isPlaced)
    }
}
