import PropertyListCoding

/// The log of a store's pending edits, as part of the state that the store's lock protects: the file, and the edits that have no room in it.
struct EditLog: Sendable {
    /// Whether edits are logged at all.
    private(set) var isOn: Bool
    private(set) var file: EditLogFile?
    // Edits for which a file, or a larger one, has to be made. None of their calls has returned.
    private var waiting: [LoggedEdit] = []
    // The last revision of each commit since the one that was stored last: any of them may be in the list.
    private var attempts: [UInt64] = []
    // Whether the file was not found beside the list at the last commit: another process may have removed it, or turned a link.
    private var isMisplaced = false
    /// The reason why edits are not logged.
    private(set) var refusal: StorageError?

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
        if waiting.isEmpty, let file, file.append(sequence: sequence, count: 1, { $0.write(key: key, path: [], over: over, value: value) })
        {
            return
        }
        waiting.append(LoggedEdit(key: key, over: over, value: value, sequence: sequence))
    }

    /// Logs edits that count together.
    mutating func append(_ edits: [LoggedEdit]) {
        guard isOn, let sequence = edits.last?.sequence else { return }
        if !waiting.isEmpty || file?.append(edits, sequence: sequence) != true { waiting += edits }
    }

    // MARK: Commits

    /// Records that a commit begins to store the edits up to a revision.
    mutating func beginCommit(of revision: UInt64) {
        if isOn, attempts.last != revision { attempts.append(revision) }
    }

    /// Records that edits up to a revision are in the list. They do not count any longer.
    ///
    /// - Parameter removed: the file, if another process has removed or moved it.
    mutating func noteCommitted(upTo revision: UInt64, in list: ResolvedPath, _ identity: FileIdentity?, removed: EditLogFile?) {
        attempts.removeAll { $0 <= revision }
        waiting.removeAll { $0.sequence <= revision }
        file?.noteCommitted(upTo: revision, in: identity)
        if let file { isMisplaced = file.list != list || file === removed }
    }

    /// Tries again to log edits, after a failure that may have passed. Called when nothing is pending.
    mutating func allowAgain() {
        if isPossible, !isOn { (refusal, isOn) = (nil, true) }
    }

    // MARK: Files

    /// Whether a file has to be made.
    @inline(__always)
    var isBehind: Bool {
        !waiting.isEmpty || isMisplaced
    }

    /// The size of the halves of a file that has to be made; nil if none has to. Everything that is not stored yet has room in it.
    var neededHalfSize: Int? {
        guard isOn, isBehind else { return nil }
        // One half has room for everything. Small files grow before that is necessary, because making one takes as long as many edits.
        let needed = uncommitted.reduce(0) { $0 + $1.estimatedSize }
        let grown = min((file?.halfSize ?? 0) * (waiting.isEmpty ? 1 : 2), EditLogFormat.largestGrownHalf)
        let size = max(EditLogFormat.smallestHalf, grown, min(needed * 2, max(needed, EditLogFormat.largestSize / 2)))
        // Whole pages.
        return (size + EditLogFormat.Header.size - 1) / EditLogFormat.Header.size * EditLogFormat.Header.size
    }

    /// Adds everything that is not stored yet to a new file, and continues with it.
    ///
    /// - Returns: the previous file, to be removed outside the lock; or the new one, if it is too small or not needed any longer.
    mutating func install(_ new: EditLogFile) -> EditLogFile? {
        guard isOn, isBehind else { return new }
        for edit in uncommitted where !new.append([edit], sequence: edit.sequence) {
            if new.isTooDeep {
                let reason = "the value of \"\(edit.key)\" is nested more than \(EditLogFormat.depth) deep, too deep for the log of edits"
                refuse(EditLogRefusal(error: .unwritable(file: new.list.path, reason: reason)))
            }
            return new
        }
        new.publish()
        waiting = []
        isMisplaced = false
        defer { file = new }
        return file
    }

    /// The edits of a new file.
    private var uncommitted: [LoggedEdit] {
        (file?.edits ?? []).compacted(keeping: attempts) + waiting
    }

    /// Continues without a log, because no file can be made.
    mutating func refuse(_ refusal: EditLogRefusal) {
        (self.refusal, isOn) = (refusal.error, false)
        if refusal.isPermanent { isPossible = false }
        (waiting, isMisplaced) = ([], false)
    }

    /// Moves the file out, to be removed outside the lock. A later edit makes another one.
    mutating func takeFile() -> EditLogFile? {
        // Edits for which a file is being made were stored or discarded as well.
        (attempts, waiting, isMisplaced) = ([], [], false)
        return file.take()
    }

    /// Whether every edit since the last commit is in the file.
    var isComplete: Bool {
        isOn && file != nil && waiting.isEmpty
    }
}

extension EditLogFile {
    fileprivate func append(_ edits: [LoggedEdit], sequence: UInt64) -> Bool {
        append(sequence: sequence, count: edits.count) { writer in
            for edit in edits { writer.write(key: edit.key, path: edit.path, over: edit.over, value: edit.value) }
        }
    }
}

extension PendingEdit {
    /// The edit as a log contains it: of the entry, or of each edited value inside it.
    func logged(_ name: String, over old: PropertyListValue?, _ value: PropertyListValue?, sequence: UInt64) -> [LoggedEdit] {
        guard !paths.isEmpty else { return [LoggedEdit(key: name, over: old.fingerprint, value: value, sequence: sequence)] }
        // A value inside another one that is edited is logged with that.
        return Set(outermostPaths(Set(paths)).values).compactMap { path in
            let leaf = EntryName(own: name, path: path)
            let (before, now) = (leaf.leaf(old), leaf.leaf(value))
            guard before != now else { return nil }
            return LoggedEdit(key: name, path: path, over: before.fingerprint, value: now, sequence: sequence)
        }
    }
}

extension LoggedEdit {
    /// The size of the record with this edit, not less than it is.
    fileprivate var estimatedSize: Int {
        52 + key.utf8.count + path.reduce(0) { $0 + $1.utf8.count + 4 } + (value?.estimatedSize ?? 1)
    }
}

extension PropertyListValue {
    fileprivate var estimatedSize: Int {
        var size = 0
        var pending = [self]
        while let value = pending.popLast() {
            size += 9
            switch value {
            case .string(let text): size += text.utf8.count
            case .data(let data): size += data.count
            case .array(let elements): pending += elements
            case .dictionary(let entries):
                size += entries.keys.reduce(0) { $0 + $1.utf8.count + 4 }
                pending += entries.values
            case .integer, .real, .boolean, .date, .uid: break
            }
        }
        return size
    }
}

extension [LoggedEdit] {
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
