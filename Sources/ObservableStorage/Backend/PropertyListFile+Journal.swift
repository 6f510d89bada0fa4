import FoundationSubset
import PropertyListCoding
import Synchronization

/// What looking at a property list and its journal has found.
private enum JournalView {
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
        if wantsJournal(target) || knownJournal(of: target) != nil { return true }
        return try journalStatus(of: target) != nil
    }

    /// What is known of the journal of a list: a link may have led to another list before.
    func knownJournal(of target: ResolvedPath) -> JournalState? {
        journalState.withLock { $0?.file.path == target.journal ? $0 : nil }
    }

    /// The status of the file that stands where the journal is; nil if there is none that a user who may write the list can have made.
    private func journalStatus(of target: ResolvedPath) throws(StorageError) -> FileStatus? {
        do throws(SystemError) {
            guard let status = try calls.status(at: target.journal.path), status.kind == .file else { return nil }
            if status.isTrusted(besides: nil) { return status }
            return status.isTrusted(besides: try calls.status(at: target.path)) ? status : nil
        } catch {
            throw .unreadable(file: name, reason: "\(error.reason) (looking for its journal \(target.journal.path))")
        }
    }

    /// Whether this backend makes a journal: not on file systems on which it is not known to be safe, which is reported once.
    private func wantsJournal(_ target: ResolvedPath) -> Bool {
        guard journalOptions != nil else { return false }
        let known = journalObjection.withLock { $0?.path == target ? $0 : nil }
        if let known { return known.isPossible }
        let objection = mappingObjection
        // A folder that is missing is made by the first commit, and looked at by the next.
        if let objection { report([objection]) }
        journalObjection.withLock { $0 = (target, objection == nil) }
        return objection == nil
    }

    /// The entries of list and journal; nil without a journal.
    ///
    /// What another program has changed becomes a commit of the journal, unless that has to wait, or is not possible: then it does with the
    /// next edit.
    func loadJournaled() throws -> StorageEntries? {
        let target = try lock.resource ?? resolved()
        guard try isJournaled(target) else { return nil }
        let found = try view(at: target)
        // A process that the system may suspend locks nothing in order to read. A list that is missing may come back.
        if found.needsWriting, !found.isGone, !isReadOnly, !isInGroupContainer {
            do {
                let timeout: Duration = lock.resource == nil ? .zero : lockTimeout
                let state = try withJournal(of: target, timeout: timeout) { _, state in try shortened(state, at: target) }
                if let entries = state?.entries { return entries }
            } catch {
                // The entries can be read nevertheless, and the next edit has the same error if it remains.
            }
        }
        switch try view(at: target) {
        case .none: return nil
        case .current(let state): return state.entries
        case .foreign(let state, let content): return merged(state, over: content).entries.stored(at: nil)
        case .lost(let state, let content):
            if content.identity == nil, onDeletion == .removeAll { remember(nil) }
            return restored(state, over: content).stored(at: nil)
        case .replaced(let state, let lost):
            guard let entries = state.entries else { return nil }
            return StorageEntries(entries, with: lost.remaining { entries[$0] }.mapValues(\.newValue)).stored(at: nil)
        case .copied(let file, let content): return try copied(file, content).stored(at: nil)
        }
    }

    /// Runs a closure under the lock of the list, with the journal ready for commits; returns nil if it has to be tried again.
    func withJournal<Result>(
        of target: ResolvedPath, timeout: Duration? = nil, _ body: (FileLock?, inout JournalState) throws -> Result?
    ) throws -> Result? {
        let result = try withFileLock(of: target, timeout: timeout) { lock -> Result? in
            guard try lock?.isInPlace() ?? true, var state = try prepareJournal(at: target) else { return nil }
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
        case .current(let state) where try state.file.size() == state.end: return state
        case .current, .foreign, .lost, .replaced, .copied:
            for _ in 0..<Self.mostLooks {
                if let state = try withJournal(of: target, { _, state in state }) { return state }
            }
            throw StorageError.unwritable(file: name, reason: "its lock file or its journal is replaced again and again")
        }
    }

    // MARK: Looking

    private func view(at target: ResolvedPath) throws -> JournalView {
        var waited: Duration = .zero
        for _ in 0..<Self.mostLooks {
            let known = knownJournal(of: target)
            // Before the journal: a list is announced before it is put in place.
            let identity = try FileIdentity(path: target.path, calls: calls)
            guard var state = try currentJournal(of: target, known) else {
                guard let known else { return .none }
                let content = try listContent(at: target)
                if content.identity == identity { return .lost(known, content) }
                continue
            }
            if state.file.isCopy {
                let content = try listContent(at: target)
                if content.identity == identity { return .copied(state.file, content) }
                continue
            }
            if let known, known.file.header.history != state.file.header.history, known.needsCheckpoint {
                return .replaced(state, lost: known)
            }
            let list = state.list(identity)
            if list == nil, identity == nil, waited < Self.missingGrace {
                // An editor may just be about to write it.
                calls.pause(Self.pause)
                waited += Self.pause
                continue
            }
            if list == nil || state.entries == nil {
                let content = try listContent(at: target)
                guard content.identity == identity else { continue }
                guard let list else { return .foreign(state, content) }
                state.load(content.entries, of: list)
            }
            note(state, after: known)
            return .current(state)
        }
        throw StorageError.unreadable(file: name, reason: "it keeps changing while it is read")
    }

    /// The journal as far as it can be read now; nil if there is none, or the one that was known is damaged.
    private func currentJournal(of target: ResolvedPath, _ known: JournalState?) throws(StorageError) -> JournalState? {
        guard let status = try journalStatus(of: target) else { return nil }
        if var known, known.file.inode == status.identity.inode {
            guard try known.file.size() >= known.end else { return nil }
            known.take(try known.file.records(from: known.end, after: known.chain))
            return known
        }
        do throws(StorageError) {
            guard let file = try JournalFile.open(of: target, calls: calls) else { return nil }
            return JournalState(file, try file.records(), after: known)
        } catch {
            guard case .malformed = error else { throw error }
            if !wasDamageReported.exchange(true, ordering: .relaxed) { report([error]) }
            return nil
        }
    }

    private func listContent(at target: ResolvedPath) throws -> FileContent {
        while true {
            if let content = try contentUnlessCorrupt(at: target.path) { return content }
            if let content = try withFileLock(of: target, { _ in try contentOrQuarantine(at: target) }) { return content }
        }
    }

    /// Keeps what was read, unless another thread has read more meanwhile.
    private func note(_ state: JournalState, after known: JournalState?) {
        journalState.take { current in
            guard current?.file.path != state.file.path || (current?.file === known?.file && current?.end == known?.end) else {
                return current
            }
            defer { current = state }
            return current
        }
        if let format = state.format { isXML.store(format == .xml, ordering: .relaxed) }
    }

    /// Keeps what was appended or made under the lock of the list.
    private func remember(_ state: JournalState?) {
        journalState.take { current in
            defer { current = state }
            return current
        }
        if let format = state?.format { isXML.store(format == .xml, ordering: .relaxed) }
    }

    // MARK: Commits

    /// Runs an edit on the entries of list and journal, and appends what it has changed, under the lock of the list.
    ///
    /// - Parameter format: the format that the list is to have; nil to keep it.
    /// - Returns: nil if it has to be tried again.
    func commitToJournal(
        _ body: (inout StorageEntries) throws -> Void, as format: PropertyListFormat? = nil, at target: ResolvedPath
    ) throws -> StorageEntries? {
        let committed = try withJournal(of: target) { lock, state -> (entries: StorageEntries, state: JournalState)? in
            let logs = try deadLogs(of: target)
            if !logs.isEmpty { try store(logs, at: target, in: &state) }
            guard let current = state.entries else { return nil }
            var entries = current.unedited
            try body(&entries)
            // The closure may have made another edit, at the end of the process, or somebody has removed the lock file.
            guard try lock?.isInPlace() ?? true, try state.file.size() == state.end else { return nil }
            let whenStored = entries.whenStored
            guard !entries.editedKeys.isEmpty else {
                whenStored?(target, state.identity)
                return (current, state)
            }
            let stored = try storable(entries, as: format ?? state.format ?? newFileFormat)
            let edits = current.edits(to: stored)
            if !edits.isEmpty { try requireWritableList(target) }
            try append(state.commit(edits, at: calls.now()), to: &state)
            whenStored?(target, state.identity)
            return (state.entries ?? stored, state)
        }
        guard let committed else { return nil }
        // Also if there was nothing to append: what was found may be the commit of another process, or one whose synchronization failed.
        try committed.state.file.synchronize(to: committed.state.end)
        if committed.state.end / 4 > keptJournal, lock.resource == nil {
            do {
                try checkpoint()
            } catch {
                // The edit is durable.
                report([.writing(name, error)])
            }
        }
        return committed.entries
    }

    /// The number of bytes that are kept when a journal is shortened.
    var keptJournal: Int {
        min(max((journalOptions ?? JournalOptions()).keeping, 0), JournalFormat.mostKept)
    }

    /// Rejects an edit of a list that cannot be replaced afterwards.
    private func requireWritableList(_ target: ResolvedPath) throws(StorageError) {
        let status: FileStatus?
        do throws(SystemError) {
            status = try calls.status(at: target.path)
        } catch {
            throw .unwritable(file: name, reason: error.reason)
        }
        if let status { try calls.requireWritable(status, at: target) }
    }

    /// The entries as they will read back from the list.
    private func storable(_ entries: StorageEntries, as format: PropertyListFormat) throws(StorageError) -> StorageEntries {
        guard format == .xml else { return entries.unedited }
        for key in entries.editedKeys.sorted() {
            guard let value = entries[key], let rejection = rejection(of: value, for: key, format: format) else { continue }
            if formatPolicy == .binaryWhenNecessary { return entries.unedited }
            throw rejection
        }
        return entries.stored(as: format)
    }

    /// The journal, to which commits can be appended; nil if it has to be looked for again.
    private func prepareJournal(at target: ResolvedPath) throws -> JournalState? {
        switch try view(at: target) {
        case .current(let state):
            if try state.file.size() > state.end { return try replaceDamaged(state, over: try listContent(at: target), at: target) }
            return try state.file.isDoubtful || state.file.isTooOpen(besides: calls.statusOrNil(at: target.path))
                ? renew(state, of: target) : state
        case .none:
            let content = try listContent(at: target)
            return try makeJournal(over: content, content.entries, at: target)
        case .foreign(let state, let content):
            if try state.file.size() > state.end { return try replaceDamaged(state, over: content, at: target) }
            return try adopt(content, in: state, at: target)
        case .lost(let state, let content): return try makeJournal(over: content, restored(state, over: content), at: target)
        case .replaced(let state, let lost):
            // Then those commits that the new journal lacks are made again.
            remember(state)
            guard var state = try prepareJournal(at: target), let entries = state.entries else { return nil }
            try append(state.commit(lost.remaining { entries[$0] }, at: calls.now()), to: &state)
            return state
        case .copied(let file, let content): return try makeJournal(over: content, copied(file, content), at: target)
        }
    }

    /// Begins a new journal if there is something after the last record, by a writer that was interrupted, or because a record is damaged.
    ///
    /// It has a history of its own: somebody may know of commits that are lost.
    private func replaceDamaged(_ state: JournalState, over content: FileContent, at target: ResolvedPath) throws -> JournalState {
        let reason = "its last \(try state.file.size() - state.end) bytes are no whole record; a new journal was begun without them"
        report([.malformed(file: state.file.path.path, offset: state.end, reason: reason)])
        return try makeJournal(over: content, restored(state, over: content), at: target)
    }

    /// Writes the records of a journal to another file: after a synchronization has failed, the system may take for written what is not.
    private func renew(_ state: JournalState, of target: ResolvedPath) throws -> JournalState {
        let records = try state.file.records().records.map(\.record)
        return try makeJournal(
            history: state.file.header.history, first: state.file.header.first, records, nil, after: state, at: target)
    }

    /// Appends records under the lock of the list, all of them or none.
    func append(_ records: [JournalRecord], to state: inout JournalState) throws(StorageError) {
        var (bytes, chain, appended) = (Data(), state.chain, [(offset: Int, record: JournalRecord)]())
        for record in records {
            appended.append((state.end + bytes.count, record))
            bytes += try encoded(record, after: &chain)
        }
        guard !records.isEmpty else { return }
        try state.file.append(bytes, at: state.end)
        state.take(JournalRecords(appended, end: state.end + bytes.count, chain: chain))
        remember(state)
    }

    private func encoded(_ record: JournalRecord, after chain: inout UInt64) throws(StorageError) -> Data {
        do throws(PropertyListError) {
            return try record.encoded(after: &chain)
        } catch {
            guard case .commit(let commit) = record else { throw .unwritable(file: name, reason: error.description) }
            for (key, edit) in commit.edits.sorted(by: { $0.key < $1.key }) {
                if let value = edit.newValue, let rejection = rejection(of: value, for: key, format: .binary) { throw rejection }
            }
            // Deeper than in the list by one level.
            let key = commit.edits.keys.min() ?? ""
            throw .unencodable(key: key, reason: "the journal of \(name) cannot have it: \(error.reason)")
        }
    }

    /// Commits the edits of dead stores, by themselves, and removes their logs.
    private func store(_ logs: [DeadEditLog], at target: ResolvedPath, in state: inout JournalState) throws {
        let folder = EditLogFolder(list: target, calls: calls)
        var areStored = false
        defer { if areStored { folder.remove(logs) } else { folder.release(logs) } }
        guard let current = state.entries else { return }
        var entries = current.unedited
        let format = state.format ?? newFileFormat
        // Logs from before the journal was made are those of the list, if nothing has changed since.
        let list = state.needsCheckpoint ? state.identity : try FileIdentity(path: target.path, calls: calls)
        let reports = replay(logs, in: &entries, over: [state.identity, list], as: format)
        let edits = current.edits(to: entries.stored(as: format))
        try append(state.commit(edits, at: calls.now()), to: &state)
        if !edits.isEmpty { try state.file.synchronize(to: state.end) }
        areStored = true
        report(reports)
    }
}

// MARK: - What others have done

extension PropertyListFile {
    /// The entries after another program has put a list in place.
    private func merged(_ state: JournalState, over content: FileContent) -> (
        entries: StorageEntries, overrides: [String: StorageCommit.Edit]
    ) {
        var overrides: [String: StorageCommit.Edit] = [:]
        if content.identity != nil {
            overrides = state.remaining { content.entries[$0] }
        } else if onDeletion == .keepLastValues, let entries = state.entries {
            overrides = StorageEntries().edits(to: entries)
        }
        let base = content.identity == nil ? StorageEntries() : content.entries
        return (StorageEntries(base, with: overrides.mapValues(\.newValue)), overrides)
    }

    /// The entries after the journal was removed or damaged.
    private func restored(_ state: JournalState, over content: FileContent) -> StorageEntries {
        if state.list(content.identity) != nil, let entries = state.entries { return entries }
        return merged(state, over: content).entries
    }

    /// The entries of a copied journal and its list: of the list alone, if that is not one of the journal's.
    private func copied(_ file: JournalFile, _ content: FileContent) throws(StorageError) -> StorageEntries {
        let checksum = JournalFormat.checksum(content.bytes)
        let records = try file.records().records.map(\.record)
        let lists = records.enumerated().compactMap { index, record -> (Int, JournaledList)? in
            guard case .list(let list) = record, list.checksum == checksum, (list.identity?.size ?? 0) == content.bytes.count else {
                return nil
            }
            return (index, list)
        }
        guard let list = lists.last?.1, (list.identity == nil) == (content.identity == nil) else {
            report([.unreadable(file: file.path.path, reason: "it is the journal of another property list, and is not used")])
            return content.entries
        }
        var changes = list.overrides.mapValues(\.newValue)
        for case .commit(let commit) in records where commit.revision > list.revision { changes.merge(commit.values) { $1 } }
        return StorageEntries(content.entries, with: changes)
    }

    /// Makes what another program has changed a commit; if the entries before are not known, only that something has changed.
    private func adopt(_ content: FileContent, in state: JournalState, at target: ResolvedPath) throws -> JournalState {
        var state = state
        // Otherwise commits over it could be durable, but not the list itself.
        try synchronize(content, at: target)
        try synchronizeFolder(of: target)
        let (entries, overrides) = merged(state, over: content)
        let edits = state.entries?.edits(to: entries)
        let commit = state.commit(edits ?? [:], at: calls.now(), by: JournalCommit.otherProgram)
        let list = JournaledList(
            content, at: edits == nil || !commit.isEmpty ? state.revision + 1 : state.revision, overrides: overrides, isGap: edits == nil)
        try append(commit + [.list(list)], to: &state)
        if state.entries == nil {
            state.load(content.entries, of: list)
            remember(state)
        }
        return state
    }

    /// Waits until the list is on the medium, which another program need not have done.
    private func synchronize(_ content: FileContent, at target: ResolvedPath) throws(StorageError) {
        guard content.identity != nil else { return }
        do throws(SystemError) {
            let descriptor = try calls.openFile(target.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { calls.discard(descriptor) }
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
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
            let folder = try calls.openFolder(target.folder)
            defer { calls.discard(folder) }
            try calls.synchronizeFolder(folder)
        } catch {
            throw .unwritable(file: name, reason: "\(error.reason) (synchronizing the folder \(target.folder))")
        }
    }

    /// Makes a new journal with a history of its own.
    private func makeJournal(over content: FileContent, _ entries: StorageEntries, at target: ResolvedPath) throws -> JournalState {
        try synchronize(content, at: target)
        let base = content.identity == nil ? StorageEntries() : content.entries
        let list = JournaledList(content, at: 0, overrides: base.edits(to: entries))
        return try makeJournal(history: calls.random(), first: 0, [.list(list)], (content.entries, list), after: nil, at: target)
    }

    private func makeJournal(
        history: UInt64, first: UInt64, _ records: [JournalRecord], _ list: (entries: StorageEntries, list: JournaledList)?,
        after earlier: JournalState?, at target: ResolvedPath
    ) throws -> JournalState {
        let status: FileStatus?
        do throws(SystemError) {
            status = try calls.status(at: target.path)
        } catch {
            throw StorageError.unwritable(file: name, reason: error.reason)
        }
        let (file, _, _) = try JournalFile.make(
            of: target, history: history, first: first, records, besides: status, protection: protection, calls: calls)
        var state = JournalState(file, try file.records(), after: earlier)
        if state.entries == nil, let list { state.load(list.entries, of: list.list) }
        remember(state)
        return state
    }

    /// Records that a list is in place, durably, and replaces a journal that has become too long by one with its last commits.
    ///
    /// - Parameter list: the list that was put in place; nil if none was.
    func settleJournal(_ list: JournaledList?, at target: ResolvedPath) throws {
        _ = try withJournal(of: target) { _, state in
            // Otherwise another process has recorded it, or has put another list in place.
            if let list, state.lists.count > 1, list.isSame(as: state.lists.last),
                list.isFile(try FileIdentity(path: target.path, calls: calls))
            {
                try append([.placed], to: &state)
            }
            _ = try shortened(state, at: target)
        }
    }

    /// The journal, or one with its last commits if it has become too long.
    private func shortened(_ state: JournalState, at target: ResolvedPath) throws -> JournalState {
        guard state.end / 2 > keptJournal else { return state }
        let records = try state.file.records().records
        let placed = records.last { $0.record.isList(state.lists.first) }?.offset ?? state.end
        // Commits that were made while the list was written are before its record.
        let missing = records.first { $0.record.isCommit && $0.record.revision == state.commits.first?.revision }?.offset ?? state.end
        let start = min(placed, missing, records.first { $0.offset >= state.end - keptJournal }?.offset ?? state.end)
        let first = records.prefix { $0.offset < start }.compactMap(\.record.revision).max() ?? state.file.header.first
        return try makeJournal(
            history: state.file.header.history, first: first, records.filter { $0.offset >= start }.map(\.record), nil, after: state,
            at: target)
    }
}

extension JournalRecord {
    fileprivate func isList(_ list: JournaledList?) -> Bool {
        if case .list(let own) = self { own == list } else { false }
    }

    fileprivate var isCommit: Bool {
        if case .commit = self { true } else { false }
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

extension JournalState {
    /// The record of edits, as the next revision; none without edits.
    fileprivate func commit(
        _ edits: [String: StorageCommit.Edit], at time: Date, by writer: String = JournalCommit.thisProcess
    ) -> [JournalRecord] {
        edits.isEmpty ? [] : [.commit(JournalCommit(revision: revision + 1, edits: edits, time: time, writer: writer))]
    }
}

extension JournalCommit {
    /// The writer of commits of this process.
    static let thisProcess = "\(ProcessInfo.processInfo.processName) (\(getpid()))"
    /// The writer of a list that another program has put in place.
    static let otherProgram = "another program"
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
