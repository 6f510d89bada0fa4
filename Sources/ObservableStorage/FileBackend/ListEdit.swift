import FoundationSubset
import PropertyListCoding

/// An edit of a property list itself, without a journal: prepared beside the file, without the lock if possible, and renamed under it.
struct ListEdit {
    // Each attempt fails because another writer replaced the file meanwhile.
    static let maximumAttempts = 100

    private let list: ListFile
    /// The format to write; nil for that of the file.
    private let newFormat: PropertyListFormat?
    private let options: CommitOptions
    /// The edited content, written beside the file, or renamed to its path.
    private(set) var draft: ListDraft?

    /// The result of preparing an edit.
    enum Preparation {
        /// There is nothing to write.
        case unchanged(StorageEntries)
        case drafted
        /// The file was changed meanwhile, or has to be renamed first, which requires the lock.
        case failed(needsLock: Bool)
    }

    init(of list: ListFile, as newFormat: PropertyListFormat? = nil, _ options: CommitOptions = CommitOptions()) {
        (self.list, self.newFormat, self.options) = (list, newFormat, options)
    }

    /// Removes what was written and not renamed.
    mutating func drop() {
        if let draft { list.discard(draft) }
        draft = nil
    }

    /// Reads, edits, and writes the result beside the file.
    mutating func prepare(
        _ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath, isLocked: Bool = false, replaying logs: [DeadEditLog] = []
    ) throws -> Preparation {
        try list.removeLeftovers(of: target)
        try list.restoreIfNeeded()
        let found = isLocked ? try list.contentOrQuarantine(at: target) : try list.contentUnlessCorrupt(at: target)
        guard let found else { return .failed(needsLock: true) }
        var entries = found.entries
        let wanted = newFormat ?? found.format
        let reports = list.replay(logs, in: &entries, over: [found.identity], as: wanted)
        try body(&entries)
        // Content that a failed write left in the file has to be written again in order to be durable.
        guard !entries.editedKeys.isEmpty || wanted != found.format || list.leftovers.withLock({ $0.content }) else {
            if let whenStored = options.whenStored {
                // Otherwise another writer could replace the file before the closure is called.
                guard isLocked else { return .failed(needsLock: true) }
                whenStored(target, found.identity)
            }
            list.reports.report(reports)
            return .unchanged(found.entries)
        }
        let (bytes, format) = try list.encode(entries, over: found, as: wanted)
        guard var draft = try list.draft(of: entries, bytes, as: format, over: found, at: target) else {
            return .failed(needsLock: false)
        }
        draft.reports = reports
        self.draft = draft
        return .drafted
    }

    /// Renames the draft to the path, or, under a lock for which others wait, prepares another one from the current content of the file.
    ///
    /// Afterwards the draft was renamed, or has to be tried again because the lock file was removed meanwhile, or is nil.
    ///
    /// - Returns: the entries, if there is nothing to write.
    mutating func replaceFile(
        _ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath, _ lock: FileLock?
    ) throws -> StorageEntries? {
        // The edits of dead stores come before this one.
        let areStored = try list.storeDeadLogs(of: target) { logs in
            drop()
            return try ListEdit.store(logs, in: list, at: target, lock)
        }
        guard areStored else { return nil }
        if draft != nil {
            guard try !put(lock), draft == nil, lock?.wasContended ?? true else { return nil }
        }
        switch try prepare(body, at: target, isLocked: true) {
        case .unchanged(let entries): return entries
        case .drafted: _ = try put(lock)
        case .failed: break
        }
        return nil
    }

    /// Edits the file under its lock, which this thread holds.
    mutating func run(_ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath) throws {
        for _ in 0..<Self.maximumAttempts {
            if try replaceFile(body, at: target, nil) != nil { return }
            if let draft, draft.replacement.isInPlace {
                _ = try list.finish(draft)
                return
            }
        }
        throw list.busyError
    }

    /// Stores the edits of dead stores under the lock, without any other edit: if this process is killed before their logs are removed, they
    /// are replayed again, and have to find their own values, not later ones, which may equal earlier values of a log.
    ///
    /// - Returns: false if the file has changed, or the lock file was removed.
    private static func store(_ logs: [DeadEditLog], in list: ListFile, at target: ResolvedPath, _ lock: FileLock?) throws -> Bool {
        var edit = ListEdit(of: list)
        defer { edit.drop() }
        switch try edit.prepare({ _ in }, at: target, isLocked: true, replaying: logs) {
        case .unchanged: return try lock?.isInPlace() ?? true
        case .failed: return false
        case .drafted:
            guard try edit.put(lock), let draft = edit.draft else { return false }
            do {
                _ = try list.finish(draft)
            } catch {
                // The caller's own edit is not in the file yet, and is made nevertheless.
                list.reports.report([.writing(list.name, error)])
            }
            return true
        }
    }

    /// Renames the draft under the lock, if its lock file is still the one in use. Drops the draft if the file has changed.
    ///
    /// - Returns: whether the draft is in place.
    private mutating func put(_ lock: FileLock?) throws -> Bool {
        guard let draft, try lock?.isInPlace() ?? true else { return false }
        guard try list.recording(failureOf: draft.replacement, { try rename(draft) }) else {
            drop()
            return false
        }
        options.whenStored?(draft.target, draft.replacement.written)
        list.reports.report(draft.reports)
        return draft.replacement.isInPlace
    }

    private func rename(_ draft: ListDraft) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try list.rename(draft, isReported: options.isReported)
        } catch {
            guard draft.replacement.isMounted,
                let copy = try list.configuration.inPlaceWriting.copy(of: draft.target, calls: list.calls)
            else { throw error }
            return try draft.replacement.overwrite(draft.bytes, copy: copy)
        }
    }
}
