import FoundationSubset
import PropertyListCoding

/// An edit of a property list itself, without a journal: prepared beside the file, without the lock if possible, and renamed under it.
struct ListEdit {
    private let list: ListFile
    /// The format to write; nil for that of the file.
    private let newFormat: PropertyListFormat?
    private let options: CommitOptions
    /// The edited content, written beside the file, or renamed to its path.
    private var draft: ListDraft?
    /// Whether it can only be prepared under the lock.
    private var needsLock = false

    init(of list: ListFile, as newFormat: PropertyListFormat? = nil, _ options: CommitOptions = CommitOptions()) {
        (self.list, self.newFormat, self.options) = (list, newFormat, options)
    }

    /// Removes what was written and not renamed.
    mutating func drop() {
        if let draft { list.discard(draft) }
        draft = nil
    }

    /// Runs the edit on the entries of the file, and renames what it has changed to the path, under the lock.
    ///
    /// - Parameters:
    ///   - preparations: how many more times the edit may run before the lock is taken.
    ///   - isJournaled: whether the list has a journal now, which another process may just have made.
    /// - Returns: nil if it has to be tried again.
    mutating func commit(
        _ body: (inout StorageEntries) throws -> Void, preparing preparations: inout Int, at target: ResolvedPath, timeout: Duration?,
        unless isJournaled: () throws -> Bool
    ) throws -> StorageEntries? {
        if draft?.target != target { drop() }
        if draft == nil, preparations > 0, !needsLock {
            preparations -= 1
            if let unchanged = try prepare(body, at: target) { return unchanged }
            if draft == nil, !needsLock { return nil }
        }
        let unchanged = try list.withFileLock(of: target, timeout: timeout) { lock in
            try isJournaled() ? nil : try replaceFile(body, at: target, lock)
        }
        if let unchanged = unchanged ?? nil { return unchanged }
        guard let draft, draft.replacement.isInPlace else { return nil }
        return try list.finish(draft)
    }

    /// Reads, edits, and writes the result beside the file, unless it was changed meanwhile.
    ///
    /// - Returns: the entries, if there is nothing to write.
    private mutating func prepare(
        _ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath, isLocked: Bool = false, replaying logs: [DeadEditLog] = []
    ) throws -> StorageEntries? {
        try list.removeLeftovers(of: target)
        try list.restoreIfNeeded()
        guard let found = isLocked ? try list.contentOrQuarantine(at: target) : try list.contentUnlessCorrupt(at: target) else {
            needsLock = true
            return nil
        }
        var entries = found.entries
        let wanted = newFormat ?? found.format
        let reports = list.replay(logs, of: target, in: &entries, over: [found.identity], as: wanted)
        try body(&entries)
        // Content that a failed write left in the file has to be written again in order to be durable.
        guard !entries.editedKeys.isEmpty || wanted != found.format || list.leftovers.withLock({ $0.content }) else {
            if let whenStored = options.whenStored {
                // Otherwise another writer could replace the file before the closure is called.
                guard isLocked else {
                    needsLock = true
                    return nil
                }
                whenStored(target, found.identity)
            }
            list.reports.report(reports)
            return found.entries
        }
        let (bytes, format) = try list.encode(entries, over: found, as: wanted)
        draft = try list.draft(of: entries, bytes, as: format, over: found, at: target)
        draft?.reports = reports
        return nil
    }

    /// Renames the draft to the path, or, under a lock for which others wait, prepares another one from the current content of the file.
    ///
    /// Afterwards the draft was renamed, or has to be tried again because the lock file was removed meanwhile, or is nil.
    ///
    /// - Returns: the entries, if there is nothing to write.
    private mutating func replaceFile(
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
        if let unchanged = try prepare(body, at: target, isLocked: true) { return unchanged }
        try put(lock)
        return nil
    }

    /// Stores the edits of dead stores under the lock, without any other edit: if this process is killed before their logs are removed, they
    /// are replayed again, and have to find their own values, not later ones, which may equal earlier values of a log.
    ///
    /// - Returns: false if the file has changed, or the lock file was removed.
    private static func store(_ logs: [DeadEditLog], in list: ListFile, at target: ResolvedPath, _ lock: FileLock?) throws -> Bool {
        var edit = ListEdit(of: list)
        defer { edit.drop() }
        if try edit.prepare({ _ in }, at: target, isLocked: true, replaying: logs) != nil { return try lock?.isInPlace() ?? true }
        guard try edit.put(lock), let draft = edit.draft else { return false }
        do {
            _ = try list.finish(draft)
        } catch {
            // The caller's own edit is not in the file yet, and is made nevertheless.
            list.reports.report([.writing(list.name, error)])
        }
        return true
    }

    /// Renames the draft under the lock, if its lock file is still the one in use. Drops the draft if the file has changed.
    ///
    /// - Returns: whether the draft is in place.
    @discardableResult
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
