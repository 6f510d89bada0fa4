import FoundationSubset
import PropertyListCoding
import Synchronization

/// The journal beside a property list: what is known of it, and whether there is one.
///
/// An existing journal is used, whoever has made it; this type makes one if its mode says so.
final class Journal: Sendable {
    let list: ListFile
    /// The mode of the list, unless that may be written in place, so that no journal is made.
    let mode: JournalMode
    /// The state after the journal was last read or written. Its lock is not held while files are accessed.
    private let latest = Lock<JournalState?>(nil)
    /// Whether the file system of a list supports a journal, as last found.
    private let support = Lock<(path: ResolvedPath, isGiven: Bool)?>(nil)
    /// The last recorded list, if it was missing: no look waits for it again until a list is found in place, or another one was recorded.
    let absent = Lock<JournaledList?>(nil)
    let wasDamageReported = Atomic(false)

    init(of list: ListFile) {
        self.list = list
        mode = list.configuration.inPlaceWriting == .never ? list.configuration.journal : .edits
    }

    /// Whether the list has a journal, as far as this backend has read it.
    var isKnown: Bool { latest.withLock { $0 != nil } }

    /// Whether the property list lacks edits that are in its journal, as far as this backend has read it.
    var needsCheckpoint: Bool {
        !list.isReadOnly && latest.withLock { $0?.needsCheckpoint ?? false }
    }

    /// Whether the journal has commits that are not known to be durable.
    var needsSynchronization: Bool {
        !list.isReadOnly && latest.withLock { $0.map { $0.needsCheckpoint && !$0.file.isSynchronized(to: $0.end) } ?? false }
    }

    /// Whether the journal is so long that the list is written before the usual time.
    var isTooLong: Bool {
        latest.withLock { $0.map { $0.end / 4 > keptSize } ?? false }
    }

    /// Waits until the commits that are known are durable; returns false if a synchronization has failed before, so that an edit has to make
    /// another journal.
    func synchronize() throws -> Bool {
        guard let state = latest.withLock({ $0 }), !state.file.isDoubtful else { return false }
        try state.synchronize()
        return true
    }

    /// Whether nothing was appended to the journal after what is known of it.
    var isRead: Bool {
        guard let state = latest.withLock({ $0 }) else { return false }
        do throws(StorageError) {
            return try state.file.isEnd(state.end)
        } catch {
            // Looking has the same error.
            return false
        }
    }

    /// The number of bytes that are kept when a journal is shortened.
    var keptSize: Int {
        min(max(mode.options.keeping, 0), JournalFormat.maximumKept)
    }

    // Each attempt fails because the list or the journal is replaced meanwhile.
    static let maximumAttempts = 100

    /// Whether a journal stands beside the list, or this backend is to make one.
    func isUsed(at target: ResolvedPath) throws(StorageError) -> Bool {
        if known(of: target) != nil { return true }
        return try entry(of: target)?.isJournal ?? wantsJournal(target)
    }

    /// What is known of the journal of a list; nil also if a link led to another list before.
    func known(of target: ResolvedPath) -> JournalState? {
        latest.withLock { $0?.file.list == target ? $0 : nil }
    }

    /// Whether this backend makes a journal: not on file systems on which it is not known to be safe, and not beside a list that cannot be
    /// replaced, so that its edits would stay in the journal; which is reported once.
    private func wantsJournal(_ target: ResolvedPath) -> Bool {
        guard mode.hasJournal else { return false }
        let known = support.withLock { $0?.path == target ? $0 : nil }
        if let known { return known.isGiven }
        let objection = list.objection { target, folder throws(SystemError) in
            if isMountPoint(target.path) { return "it is mounted itself, and cannot be replaced, so that no journal is made for it" }
            return try list.calls.mappingObjection(folder)
        }
        // A missing folder is made by the first commit, and checked by the next.
        if let objection { list.reports.report([objection]) }
        support.withLock { $0 = (target.unopened, objection == nil) }
        return objection == nil
    }

    /// The entries of list and journal; nil without a journal.
    ///
    /// The changes of another program become a commit of the journal: now, or with the next edit if the lock is held or writing fails.
    func load() throws -> StorageEntries? {
        let unchanged = list.knownTarget()
        guard try isUsed(at: unchanged ?? list.destination()) else { return nil }
        let target = try unchanged ?? list.target()
        do {
            return try load(target)
        } catch let error as StorageError {
            // This user may read the list, but not its journal.
            guard case .unreadable(target.journal.path, _, _) = error else { throw error }
            list.reports.reportOnce(error)
            guard let known = known(of: target), known.list(try FileIdentity(at: target, calls: list.calls)) != nil else { return nil }
            return known.entries
        }
    }

    private func load(_ target: ResolvedPath) throws -> StorageEntries? {
        var found = try view(at: target).view
        // A process that the system may suspend locks nothing in order to read.
        if !list.isReadOnly, !list.isOutsideContainer, needsWriting(found, at: target) {
            do {
                let timeout: Duration = list.lock.resource == nil ? .zero : list.configuration.lockTimeout
                let state = try withJournal(of: target, timeout: timeout) { _, state in try shortened(state, at: target) }
                if let entries = state?.entries { return entries }
            } catch {
                // The entries can be read nevertheless, and the next edit has the same error if it remains.
            }
            found = try view(at: target).view
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

    /// Whether reading writes the journal. An existing list gets its journal when it is opened, so that there are revisions for stores that
    /// only watch.
    private func needsWriting(_ found: JournalView, at target: ResolvedPath) -> Bool {
        switch found {
        case .none: wantsJournal(target) && list.calls.statusOrNil(at: target) != nil
        case .current: false
        // A list that is missing may come back.
        case .foreign(_, let content), .lost(_, let content): content.identity != nil
        case .replaced, .copied: true
        }
    }

    /// The event for a store after the journal of a list was written; nil if nothing has changed.
    ///
    /// - Parameter reported: the revision that was last reported to the store, or nil; afterwards the current one.
    func event(of target: ResolvedPath, since reported: inout StorageRevision?) -> StorageEvent? {
        do {
            // The watcher of the list reports that its path leads elsewhere.
            let (found, status) = try list.keptTarget() ?? (list.target(), nil)
            guard found == target, case .current(let state) = try view(at: found, status).view else { return .changed }
            defer { reported = state.storageRevision }
            guard let known = reported, let changes = state.changes(since: known) else { return .changed }
            return changes.values.isEmpty ? nil : .differences(changes)
        } catch {
            // The store has the same error when it reads.
            return .changed
        }
    }

    /// Runs a closure under the lock of the list, with the journal ready for commits; returns nil if that has to be tried again.
    func withJournal<Result>(
        of target: ResolvedPath, timeout: Duration? = nil, _ body: (FileLock?, inout JournalState) throws -> Result?
    ) throws -> Result? {
        let result = try list.withFileLock(of: target, timeout: timeout) { lock -> Result? in
            guard var state = try prepare(at: target, lock?.list) else { return nil }
            return try body(lock, &state)
        }
        return result ?? nil
    }

    /// The state of the journal, with everything that others have done; nil without a journal.
    ///
    /// - Throws: the reason why it cannot be brought up to date.
    func upToDate(at target: ResolvedPath) throws -> JournalState? {
        guard try isUsed(at: target) else { return nil }
        switch try view(at: target).view {
        case .none: return nil
        case .current(let state) where !state.hasRemainder: return state
        case .current, .foreign, .lost, .replaced, .copied:
            for _ in 0..<Self.maximumAttempts {
                guard try isUsed(at: target) else { return nil }
                if let state = try withJournal(of: target, { _, state in state }) { return state }
            }
            throw StorageError.unwritable(file: list.name, reason: "its lock file or its journal keeps being replaced")
        }
    }

    // MARK: What is known

    /// Keeps what was read, unless another thread has read more meanwhile.
    func keep(_ state: JournalState, after known: JournalState?) {
        latest.take { current in
            guard current?.file.list != state.file.list || (current?.file === known?.file && current?.end == known?.end) else {
                return current
            }
            defer { current = state }
            return current
        }
        list.keep(state.file.list, isJournaled: true)
        if let format = state.format { list.record(format) }
    }

    /// The edits that a list in place lacks of known entries; nil if that is not known.
    func edits(of known: StorageEntries, since content: FileContent) -> EntryEdits? {
        guard let state = latest.withLock({ $0 }), state.entries?.isCopy(of: known) == true else { return nil }
        return state.list(content).map(state.edits)
    }

    /// Replaces known entries by equal ones.
    func replaceEntries(by equal: StorageEntries) {
        latest.take { state in
            let before = state
            if state?.entries?.isCopy(of: equal) == true { state?.replaceEntries(by: equal) }
            return before
        }
    }

    /// Keeps what was appended or made under the lock of the list.
    func remember(_ state: JournalState?) {
        latest.exchange(state)
        list.keep(state?.file.list, isJournaled: true)
        if let format = state?.format { list.record(format) }
    }
}
