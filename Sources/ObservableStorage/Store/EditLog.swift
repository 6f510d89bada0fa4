import PropertyListCoding

/// The log of a store's pending edits, protected by the store's lock: a file, and the edits that wait for one with room.
struct EditLog: Sendable {
    /// What the call that made edits has to do outside the lock.
    enum Demand: Sendable, Comparable {
        case none
        /// Make a larger file, on another thread.
        case later
        /// Make a file before the call returns.
        case now
    }

    private enum Growth: Sendable {
        case none, wanted, failed
    }

    /// Whether edits are logged at all.
    private(set) var isOn: Bool
    private(set) var file: EditLogFile?
    /// The reason why edits are not logged, or the last file could not be made.
    private(set) var refusal: StorageError?
    // Edits that wait for a new file; the calls that made them have not returned.
    private var waiting: [LoggedEdit] = []
    // The last revision of each commit that was attempted since one succeeded: the list may have the edits of any of them.
    private var attempts: [UInt64] = []
    // Whether the file was missing beside the list at the last commit: another process has removed it, or changed a link on the path.
    private var isMisplaced = false
    // Whether a larger file is to be made before the present one is full.
    private var growth = Growth.none
    // The edits to copy into a larger file. The present one does not change while edits wait.
    private var compaction: [LoggedEdit]?
    private var demand = Demand.none
    // Whether an attempt after the refusal would fail as well.
    private var recurrence: EditLogRefusal.Recurrence

    init(isOn: Bool = false, refusal: StorageError? = nil) {
        self.isOn = isOn && refusal == nil
        self.refusal = refusal
        recurrence = self.isOn ? .possible : .certain
    }

    // MARK: Edits

    /// Logs an edit of a whole entry.
    @inline(__always)
    mutating func append(_ key: String, over old: PropertyListValue?, _ value: PropertyListValue?, sequence: UInt64) {
        guard isOn else { return }
        let over = old.fingerprint
        // Not retained, as the log retains it: `write.logged` is 1.4 otherwise, and 1.25 so.
        if !isBehind, let file = file.map(Unmanaged.passUnretained),
            file._withUnsafeGuaranteedRef({ $0.append(key, over: over, value, sequence: sequence) })
        {
            return
        }
        append([LoggedEdit(key: key, over: over, value: value, sequence: sequence)])
    }

    /// Logs edits that are replayed together or not at all.
    ///
    /// - Parameter isAwaited: whether the call that made them waits until they are in a file.
    @inline(never)
    mutating func append(_ edits: [LoggedEdit], isAwaited: Bool = true) {
        guard isOn, let sequence = edits.last?.sequence else { return }
        if waiting.isEmpty, let file, file.append(edits, sequence: sequence) {
            if growth == .none, file.isOutgrown { (growth, demand) = (.wanted, max(demand, .later)) }
        } else {
            waiting += edits
        }
        if isBehind { demand = max(demand, isAwaited ? .now : .later) }
    }

    /// What the edits since the last call require.
    @inline(__always)
    mutating func takeDemand() -> Demand {
        if demand == .none { return .none }
        defer { demand = .none }
        return demand
    }

    // MARK: Commits

    /// Records that a commit begins to store the edits up to a revision.
    mutating func beginCommit(of revision: UInt64) {
        if isOn, attempts.last != revision { attempts.append(revision) }
    }

    /// Records that the list has the edits up to a revision, so that they are not replayed.
    ///
    /// - Parameter removed: the file of the log, if another process has removed or moved it.
    mutating func markCommitted(upTo revision: UInt64, in list: ResolvedPath, _ identity: FileIdentity?, removed: EditLogFile?) {
        attempts.removeAll { $0 <= revision }
        compaction = nil
        waiting.removeAll { $0.sequence <= revision }
        file?.markCommitted(upTo: revision, in: identity)
        if let file { isMisplaced = file.list != list || file === removed }
        if growth == .failed { growth = .none }
    }

    /// Logs edits again after a temporary failure. Called when no edits are pending.
    mutating func allowAgain() {
        guard recurrence != .certain, !isOn else { return }
        isOn = true
        if recurrence == .never || file != nil && !isMisplaced { refusal = nil }
    }

    // MARK: Files

    /// Why edits are not logged, or the next one may not be: it needs a file, and the last attempt to make one has failed. Nil if they are.
    var objection: StorageError? {
        isOn && file != nil && !isMisplaced ? nil : refusal
    }

    /// Whether the file has grown for a burst of edits.
    var hasGrown: Bool {
        file.map { $0.halfSize > EditLogFormat.smallestHalf } ?? false
    }

    /// Whether a new file is needed before more edits are logged.
    @inline(__always)
    var isBehind: Bool {
        !waiting.isEmpty || isMisplaced
    }

    /// The size of the halves of the file to make, of which one holds all edits that are not stored yet; nil if no file is needed.
    mutating func neededHalfSize() -> Int? {
        guard isOn, isBehind || growth == .wanted else { return nil }
        let waitingSize = waiting.reduce(0) { $0 + $1.recordSize }
        // Small files grow quickly: setters wait while a full file is replaced, which takes as long as many edits.
        let factor = waiting.isEmpty && growth != .wanted ? 1 : EditLogFormat.growth
        let grown = max(EditLogFormat.smallestHalf, min((file?.halfSize ?? 0) * factor, EditLogFormat.largestGrownHalf))
        if (file?.uncommittedSize ?? 0) + waitingSize <= grown { return grown }
        let needed = (compacted() ?? []).reduce(waitingSize) { $0 + $1.recordSize }
        let size = max(grown, min(needed * 2, max(needed, EditLogFormat.largestHalf)))
        // Whole pages.
        return (size + EditLogFormat.Header.size - 1) / EditLogFormat.Header.size * EditLogFormat.Header.size
    }

    /// Copies all edits that are not stored yet into a new file, which replaces the present one.
    ///
    /// - Returns: the file to remove outside the lock: the previous one, or the new one if it is too small or no longer needed.
    mutating func install(_ new: EditLogFile) -> EditLogFile? {
        guard isOn, isBehind || growth == .wanted else { return new }
        if let deep = waiting.first(where: { $0.size == nil }) {
            let reason = "the value of \"\(deep.key)\" is nested more than \(LogWriter.depth) deep, too deep for the log of edits"
            refuse(EditLogRefusal(error: .unwritable(file: new.list.path, reason: reason), recurrence: .never))
            return new
        }
        let copied = file.flatMap { $0.uncommittedSize <= new.halfSize ? $0 : nil }
        guard let kept = copied == nil ? compacted() : [], copied?.copyRecords(to: new) ?? true else {
            let reason = "its log of edits was changed by another program"
            refuse(EditLogRefusal(error: .unwritable(file: new.list.path, reason: reason)))
            return new
        }
        for edits in kept.together + waiting.together where !new.append(edits, sequence: edits[0].sequence) { return new }
        new.publish(insteadOf: file)
        (waiting, isMisplaced, growth, compaction, refusal) = ([], false, .none, nil, nil)
        defer { file = new }
        return file
    }

    /// The edits of the present file without superseded ones, for a new file that is too small for all; nil if the file was changed.
    private mutating func compacted() -> [LoggedEdit]? {
        if let compaction { return compaction }
        guard let file else { return [] }
        let edits = file.uncommittedEdits?.compacted(keeping: attempts)
        if !waiting.isEmpty { compaction = edits }
        return edits
    }

    /// Records that a file cannot be made. Edits are not logged any more, unless the present file has room.
    mutating func refuse(_ refusal: EditLogRefusal) {
        if growth == .wanted { growth = .failed }
        guard isBehind else { return }
        (self.refusal, recurrence, isOn) = (refusal.error, refusal.recurrence, false)
        (waiting, isMisplaced, compaction) = ([], false, nil)
    }

    /// Stops logging because the file may not be used any longer; returns it, to be removed outside the lock.
    mutating func abandon(because error: StorageError) -> EditLogFile? {
        (refusal, recurrence, isOn) = (error, .certain, false)
        return takeFile()
    }

    /// Returns the file, to be removed outside the lock; the next edit makes another one.
    mutating func takeFile() -> EditLogFile? {
        // The edits that waited were stored or discarded as well.
        (attempts, waiting, isMisplaced, growth, compaction) = ([], [], false, .none, nil)
        return file.take()
    }

    /// Whether every edit since the last commit is in the file.
    var isComplete: Bool {
        isOn && file != nil && waiting.isEmpty
    }
}

extension PendingEdit {
    /// The records of the edit: one of the entry, or one of each edited value inside it.
    ///
    /// - Parameter edited: the paths of the values that are edited now, in addition to earlier ones; nil for all of them.
    func logged(
        _ name: String, at edited: [[String]]? = nil, over old: PropertyListValue?, _ value: PropertyListValue?, sequence: UInt64
    ) -> [LoggedEdit] {
        guard !paths.isEmpty else { return [LoggedEdit(key: name, over: old.fingerprint, value: value, sequence: sequence)] }
        // The record of an edited value includes the values inside it.
        return Set(outermostPaths(Set(edited ?? paths)).values).compactMap { path in
            let leaf = EntryName(own: name, path: path)
            let (before, now) = (leaf.leaf(old), leaf.leaf(value))
            guard before != now else { return nil }
            return LoggedEdit(key: name, path: path, over: before.fingerprint, value: now, sequence: sequence)
        }
    }
}

extension LoggedEdit {
    /// The size of a record with this edit; 0 if it cannot be logged.
    fileprivate var recordSize: Int {
        size.map { (EditLogFormat.Record.edits + $0 + 7) & ~7 } ?? 0
    }
}
