import PropertyListCoding

/// The log of a store's pending edits, as part of the state that the store's lock protects: the file, and the edits that have no room in it.
struct EditLog: Sendable {
    /// What a call that made edits has to do for the log.
    enum Demand: Sendable, Comparable {
        case none
        /// Make a larger file, which others may do later.
        case later
        /// Make a file before it returns.
        case now
    }

    private enum Growth: Sendable {
        case none, wanted, failed
    }

    /// Whether edits are logged at all.
    private(set) var isOn: Bool
    private(set) var file: EditLogFile?
    /// The reason why edits are not logged.
    private(set) var refusal: StorageError?
    // Edits for which a file, or a larger one, has to be made. Calls that made one of them have not returned.
    private var waiting: [LoggedEdit] = []
    // The last revision of each commit since the one that was stored last: any of them may be in the list.
    private var attempts: [UInt64] = []
    // Whether the file was not found beside the list at the last commit: another process may have removed it, or turned a link.
    private var isMisplaced = false
    // Whether a larger file is wanted, although the present one has room.
    private var growth = Growth.none
    // The edits of the file that a larger one has to have. Nothing is added to the file while others wait.
    private var compaction: [LoggedEdit]?
    private var demand = Demand.none
    // Whether it makes sense to try again after a failure.
    private var isPossible: Bool

    /// - Parameters:
    ///   - isOn: whether the store has a log.
    ///   - refusal: the reason why it cannot have one.
    init(isOn: Bool = false, refusal: StorageError? = nil) {
        self.isOn = isOn && refusal == nil
        self.refusal = refusal
        isPossible = self.isOn
    }

    // MARK: Edits

    /// Logs an edit of a whole entry.
    @inline(__always)
    mutating func append(_ key: String, over old: PropertyListValue?, _ value: PropertyListValue?, sequence: UInt64) {
        guard isOn else { return }
        let over = old.fingerprint
        if !isBehind, let file, file.append(key, over: over, value, sequence: sequence) { return }
        append([LoggedEdit(key: key, over: over, value: value, sequence: sequence)])
    }

    /// Logs edits that count together.
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

    /// What has to be done because of the edits since the last call.
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

    /// Records that edits up to a revision are in the list. They do not count any longer.
    ///
    /// - Parameter removed: the file, if another process has removed or moved it.
    mutating func markCommitted(upTo revision: UInt64, in list: ResolvedPath, _ identity: FileIdentity?, removed: EditLogFile?) {
        attempts.removeAll { $0 <= revision }
        compaction = nil
        waiting.removeAll { $0.sequence <= revision }
        file?.markCommitted(upTo: revision, in: identity)
        if let file { isMisplaced = file.list != list || file === removed }
        if growth == .failed { growth = .none }
    }

    /// Tries again to log edits, after a failure that may have passed. Called when nothing is pending.
    mutating func allowAgain() {
        if isPossible, !isOn { (refusal, isOn) = (nil, true) }
    }

    // MARK: Files

    /// Whether edits are not logged before another file is made.
    @inline(__always)
    var isBehind: Bool {
        !waiting.isEmpty || isMisplaced
    }

    /// The size of the halves of a file that has to be made; nil if none has to. Everything that is not stored yet has room in one half.
    mutating func neededHalfSize() -> Int? {
        guard isOn, isBehind || growth == .wanted else { return nil }
        let waitingSize = waiting.reduce(0) { $0 + $1.recordSize }
        // Small files grow quickly: making one takes as long as many edits, and while they are full, setters wait.
        let factor = waiting.isEmpty && growth != .wanted ? 1 : EditLogFormat.growth
        let grown = max(EditLogFormat.smallestHalf, min((file?.halfSize ?? 0) * factor, EditLogFormat.largestGrownHalf))
        if (file?.uncommittedSize ?? 0) + waitingSize <= grown { return grown }
        let needed = compacted().reduce(waitingSize) { $0 + $1.recordSize }
        let size = max(grown, min(needed * 2, max(needed, EditLogFormat.largestHalf)))
        // Whole pages.
        return (size + EditLogFormat.Header.size - 1) / EditLogFormat.Header.size * EditLogFormat.Header.size
    }

    /// Adds everything that is not stored yet to a new file, and continues with it.
    ///
    /// - Returns: the previous file, to be removed outside the lock; or the new one, if it is too small or not needed any longer.
    mutating func install(_ new: EditLogFile) -> EditLogFile? {
        guard isOn, isBehind || growth == .wanted else { return new }
        if let deep = waiting.first(where: { $0.size == nil }) {
            let reason = "the value of \"\(deep.key)\" is nested more than \(LogWriter.depth) deep, too deep for the log of edits"
            refuse(EditLogRefusal(error: .unwritable(file: new.list.path, reason: reason)))
            return new
        }
        if let file, file.uncommittedSize <= new.halfSize {
            guard file.copyRecords(to: new) else {
                let reason = "its log of edits was changed by another program"
                refuse(EditLogRefusal(error: .unwritable(file: new.list.path, reason: reason)))
                return new
            }
        } else {
            for edits in compacted().together where !new.append(edits, sequence: edits[0].sequence) { return new }
        }
        for edits in waiting.together where !new.append(edits, sequence: edits[0].sequence) { return new }
        new.publish(insteadOf: file)
        (waiting, isMisplaced, growth, compaction) = ([], false, .none, nil)
        defer { file = new }
        return file
    }

    /// The edits in the file that a file that is too small for all of them has to have.
    private mutating func compacted() -> [LoggedEdit] {
        if let compaction { return compaction }
        let edits = (file?.edits ?? []).compacted(keeping: attempts)
        if !waiting.isEmpty { compaction = edits }
        return edits
    }

    /// Records that a file cannot be made, without which edits are not logged, unless the present one has room.
    mutating func refuse(_ refusal: EditLogRefusal) {
        if growth == .wanted { growth = .failed }
        guard isBehind else { return }
        (self.refusal, isOn) = (refusal.error, false)
        if refusal.isPermanent { isPossible = false }
        (waiting, isMisplaced, compaction) = ([], false, nil)
    }

    /// Moves the file out, to be removed outside the lock, because it may not be used any longer. Edits are not logged from now on.
    mutating func abandon(because error: StorageError) -> EditLogFile? {
        (refusal, isOn, isPossible) = (error, false, false)
        return takeFile()
    }

    /// Moves the file out, to be removed outside the lock. A later edit makes another one.
    mutating func takeFile() -> EditLogFile? {
        // Edits for which a file is being made were stored or discarded as well.
        (attempts, waiting, isMisplaced, growth, compaction) = ([], [], false, .none, nil)
        return file.take()
    }

    /// Whether every edit since the last commit is in the file.
    var isComplete: Bool {
        isOn && file != nil && waiting.isEmpty
    }
}

extension PendingEdit {
    /// The edit as a log contains it: of the entry, or of each edited value inside it.
    ///
    /// - Parameter edited: the paths of the values that are edited now, in addition to earlier ones; nil for all of them.
    func logged(
        _ name: String, at edited: [[String]]? = nil, over old: PropertyListValue?, _ value: PropertyListValue?, sequence: UInt64
    ) -> [LoggedEdit] {
        guard !paths.isEmpty else { return [LoggedEdit(key: name, over: old.fingerprint, value: value, sequence: sequence)] }
        // A value inside another one that is edited is logged with that.
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

extension [LoggedEdit] {
    /// The edits that count together, each array as one record.
    fileprivate var together: [[LoggedEdit]] {
        reduce(into: []) { records, edit in
            if let last = records.last?.last, !edit.isAlone, !last.isAlone, last.sequence == edit.sequence {
                records[records.count - 1].append(edit)
            } else {
                records.append([edit])
            }
        }
    }

    /// The edits without those whose values can neither be stored nor be the result: for each value, the last one of each attempt to store
    /// it, and the last of all. Edits of an entry and of values inside it keep their order.
    func compacted(keeping attempts: [UInt64]) -> [LoggedEdit] {
        var kept: [LoggedEdit?] = []
        var last: [String: (isWhole: Bool, indices: [[String]: Int])] = [:]
        for var edit in self {
            if last[edit.key]?.isWhole != edit.path.isEmpty { last[edit.key] = (edit.path.isEmpty, [:]) }
            if let index = last[edit.key]?.indices[edit.path], let before = kept[index] {
                let isAttempted = attempts.contains { before.sequence <= $0 && $0 < edit.sequence }
                if !isAttempted, before.value.fingerprint == edit.over {
                    edit.over = before.over
                    kept[index] = nil
                }
            }
            last[edit.key]?.indices[edit.path] = kept.count
            kept.append(edit)
        }
        return kept.compactMap { $0 }
    }
}
