import FoundationSubset
import PropertyListCoding
import Synchronization

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

extension PropertyListFile {
    // Each attempt fails because the list or the journal is replaced meanwhile.
    private static let mostLooks = 100

    /// Whether a journal stands beside the list, or this backend is to make one.
    func isJournaled(_ target: ResolvedPath) throws(StorageError) -> Bool {
        if knownJournal(of: target) != nil { return true }
        return try journalEntry(of: target)?.isJournal ?? wantsJournal(target)
    }

    /// What is known of the journal of a list: a link may have led to another list before.
    func knownJournal(of target: ResolvedPath) -> JournalState? {
        journalState.withLock { $0?.file.path == target.journal ? $0 : nil }
    }

    /// The status of what stands where the journal is, and whether that is a file that a user who may write the list can have made; nil if
    /// there is nothing. What is none is reported once: the list is read and written without a journal then.
    private func journalEntry(of target: ResolvedPath) throws(StorageError) -> (status: FileStatus, isJournal: Bool)? {
        do throws(SystemError) {
            guard let status = try list.calls.status(at: target.journal) else { return nil }
            var objection = status.kind.objection.map { "it \($0)" }
            if objection == nil, !status.isTrusted(besides: nil, in: nil) {
                let model = try list.calls.status(at: target)
                if status.isTrusted(besides: model, in: try list.calls.folderStatus(of: target)) { return (status, true) }
                // An editor may just be about to write the list, which tells who may.
                if model == nil { return (status, false) }
                objection = "it belongs to user \(status.owner), who may not write the property list"
            }
            guard let objection else { return (status, true) }
            let reason = "\(objection); it is not used as the journal of \(target.name), which is read and written without one; remove it"
            list.reports.reportOnce(.unreadable(file: target.journal.path, reason: reason))
            return (status, false)
        } catch {
            throw .unreadable(file: name, reason: "\(error.reason) (looking for its journal \(target.journal.path))")
        }
    }

    /// Whether something stands where the journal would be, and is none.
    func isJournalPathTaken(_ target: ResolvedPath) throws(StorageError) -> Bool {
        try journalEntry(of: target)?.isJournal == false
    }

    /// Whether this backend makes a journal: not on file systems on which it is not known to be safe, which is reported once.
    private func wantsJournal(_ target: ResolvedPath) -> Bool {
        guard journalOptions != nil else { return false }
        let known = journalObjection.withLock { $0?.path == target ? $0 : nil }
        if let known { return known.isPossible }
        let objection = list.objection { _, folder throws(SystemError) in try list.calls.mappingObjection(folder) }
        // A folder that is missing is made by the first commit, and looked at by the next.
        if let objection { list.reports.report([objection]) }
        journalObjection.withLock { $0 = (target.unopened, objection == nil) }
        return objection == nil
    }

    /// The entries of list and journal; nil without a journal.
    ///
    /// What another program has changed becomes a commit of the journal, unless that has to wait, or is not possible: then it does with the
    /// next edit.
    func loadJournaled() throws -> StorageEntries? {
        guard try isJournaled(list.lock.resource ?? list.destination()) else { return nil }
        let target = try list.target()
        do {
            return try loadJournaled(target)
        } catch let error as StorageError {
            // This user may read the list, and not its journal.
            guard case .unreadable(target.journal.path, _, _) = error else { throw error }
            list.reports.reportOnce(error)
            guard let known = knownJournal(of: target), known.list(try FileIdentity(at: target, calls: list.calls)) != nil else {
                return nil
            }
            return known.entries
        }
    }

    private func loadJournaled(_ target: ResolvedPath) throws -> StorageEntries? {
        var found = try view(at: target)
        // A process that the system may suspend locks nothing in order to read.
        if !isReadOnly, !isOutsideContainer, needsWriting(found, at: target) {
            do {
                let timeout: Duration = list.lock.resource == nil ? .zero : list.configuration.lockTimeout
                let state = try withJournal(of: target, timeout: timeout) { _, state in try shortened(state, at: target) }
                if let entries = state?.entries { return entries }
            } catch {
                // The entries can be read nevertheless, and the next edit has the same error if it remains.
            }
            found = try view(at: target)
        }
        switch found {
        case .none: return nil
        case .current(let state): return state.entries
        case .foreign(let state, let content): return merged(state, over: content).entries.stored(at: nil)
        case .lost(let state, let content):
            if content.identity == nil, list.configuration.onDeletion == .removeAll { remember(nil) }
            return restored(state, over: content).stored(at: nil)
        case .replaced(let state, let lost):
            guard let entries = state.entries else { return nil }
            return StorageEntries(entries, with: lost.remaining { entries[$0] }.mapValues(\.newValue)).stored(at: nil)
        case .copied(let file, let content): return try copied(file, content).stored(at: nil)
        }
    }

    /// Whether reading writes the journal. A list that is missing may come back; one that there is gets its journal when it is opened, so that
    /// there are revisions for those who only watch.
    private func needsWriting(_ found: JournalView, at target: ResolvedPath) -> Bool {
        guard case .none = found else { return found.needsWriting && !found.isGone }
        return wantsJournal(target) && list.calls.statusOrNil(at: target) != nil
    }

    /// What to tell a store after the journal of a list was written; nil if there is nothing.
    ///
    /// - Parameter told: the revision that the store was told of last, or nil; afterwards the present one.
    func journalEvent(of target: ResolvedPath, since told: inout StorageRevision?) -> StorageEvent? {
        do {
            let found = try list.resolved()
            guard found == target, case .current(let state) = try view(at: found) else { return .changed }
            defer { told = state.storageRevision }
            guard let known = told, let changes = state.changes(since: known) else { return .changed }
            return changes.values.isEmpty ? nil : .changes(changes)
        } catch {
            // The store has the same error when it reads.
            return .changed
        }
    }

    /// Runs a closure under the lock of the list, with the journal ready for commits; returns nil if it has to be tried again.
    func withJournal<Result>(
        of target: ResolvedPath, timeout: Duration? = nil, _ body: (FileLock?, inout JournalState) throws -> Result?
    ) throws -> Result? {
        let result = try list.withFileLock(of: target, timeout: timeout) { lock -> Result? in
            guard var state = try prepareJournal(at: target) else { return nil }
            return try body(lock, &state)
        }
        return result ?? nil
    }

    /// The state of the journal, with everything that others have done; nil without a journal.
    ///
    /// - Throws: the reason why it cannot be brought up to date.
    func upToDateJournal(at target: ResolvedPath) throws -> JournalState? {
        guard try isJournaled(target) else { return nil }
        switch try view(at: target) {
        case .none: return nil
        case .current(let state) where !state.hasRemainder: return state
        case .current, .foreign, .lost, .replaced, .copied:
            for _ in 0..<Self.mostLooks {
                guard try isJournaled(target) else { return nil }
                if let state = try withJournal(of: target, { _, state in state }) { return state }
            }
            throw StorageError.unwritable(file: name, reason: "its lock file or its journal is replaced again and again")
        }
    }

    // MARK: Looking

    func view(at target: ResolvedPath) throws -> JournalView {
        var waited: Duration = .zero
        for _ in 0..<Self.mostLooks {
            let known = knownJournal(of: target)
            // Before the journal: a list is announced before it is put in place.
            let identity = try FileIdentity(at: target, calls: list.calls)
            guard var state = try currentJournal(of: target, known) else {
                guard let known else { return .none }
                let content = try list.content(of: target)
                guard content.identity == identity else { continue }
                if counts(known, beside: identity) { return .lost(known, content) }
                remember(nil)
                return .none
            }
            if state.file.isCopy {
                let content = try list.content(of: target)
                guard content.identity == identity else { continue }
                // Somebody has put a copy in place, perhaps an older one: what is known counts.
                if let known, counts(known, beside: identity) { return .lost(known, content) }
                return .copied(state.file, content)
            }
            if let known, !state.file.header.continues(known.file.header), known.needsCheckpoint, counts(known, beside: identity) {
                if state.entries == nil, let journaled = state.list(identity) {
                    let content = try list.content(of: target)
                    guard content.identity == identity else { continue }
                    state.load(content.entries, of: journaled)
                }
                return .replaced(state, lost: known)
            }
            let journaled = state.list(identity)
            if journaled == nil, identity == nil, waited < ListFile.missingGrace {
                // An editor may just be about to write it.
                list.calls.pause(ListFile.pause)
                waited += ListFile.pause
                continue
            }
            if journaled == nil || state.entries == nil {
                let content = try list.content(of: target)
                guard content.identity == identity else { continue }
                guard let journaled else { return .foreign(state, content) }
                state.load(content.entries, of: journaled)
            }
            note(state, after: known)
            return .current(state)
        }
        throw StorageError.unreadable(file: name, reason: "it keeps changing while it is read")
    }

    /// Whether what is known of a lost journal counts. Who only reads cannot store it: for them, a list that was put in place since counts.
    private func counts(_ known: JournalState, beside identity: FileIdentity?) -> Bool {
        !isReadOnly || identity == nil || known.list(identity) != nil
    }

    /// The journal as far as it can be read now; nil if there is none, or the one that was known is damaged.
    private func currentJournal(of target: ResolvedPath, _ known: JournalState?) throws(StorageError) -> JournalState? {
        guard let (status, isJournal) = try journalEntry(of: target), isJournal else { return nil }
        if var known, known.file.inode == status.identity.inode {
            guard let records = try known.file.records(from: known.end, after: known.chain) else { return nil }
            known.take(records)
            return known
        }
        do throws(StorageError) {
            guard let file = try JournalFile.open(of: target, calls: list.calls) else { return nil }
            return JournalState(file, try file.records(), after: known)
        } catch {
            guard case .malformed = error else { throw error }
            if !wasDamageReported.exchange(true, ordering: .relaxed) { list.reports.report([error]) }
            return nil
        }
    }

    /// Keeps what was read, unless another thread has read more meanwhile.
    func note(_ state: JournalState, after known: JournalState?) {
        journalState.take { current in
            guard current?.file.path != state.file.path || (current?.file === known?.file && current?.end == known?.end) else {
                return current
            }
            defer { current = state }
            return current
        }
        if let format = state.format { list.record(format) }
    }

    /// Keeps what was appended or made under the lock of the list.
    func remember(_ state: JournalState?) {
        journalState.take { current in
            defer { current = state }
            return current
        }
        if let format = state?.format { list.record(format) }
    }
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
