import FoundationSubset
import PropertyListCoding

// Commits to the journal, or to the list if there is none.
extension Journal {
    // How many times an edit runs without the lock.
    private static let maximumPreparations = 3

    /// Runs an edit on the latest entries, and stores what it has changed.
    ///
    /// - Parameters:
    ///   - newFormat: the format to write; nil for that of the list.
    ///   - isLocked: whether it is prepared under the lock only.
    ///   - timeout: how long others may hold the lock; nil for as long as an edit waits.
    func edit(
        as newFormat: PropertyListFormat? = nil, _ options: CommitOptions = CommitOptions(), isLocked: Bool = false,
        timeout: Duration? = nil, _ body: (inout StorageEntries) throws -> Void
    ) throws -> StorageEntries {
        var listEdit = ListEdit(of: list, as: newFormat, options)
        defer { listEdit.drop() }
        var preparations = list.lock.resource == nil && !isLocked ? Self.maximumPreparations : 0
        for _ in 0..<Self.maximumAttempts {
            let target = try list.target()
            // Before leftovers are removed.
            try list.calls.requireOwnLinks(of: target)
            let entries: StorageEntries?
            if try isUsed(at: target) {
                listEdit.drop()
                entries = try commit(options, body, preparing: &preparations, as: newFormat, at: target, timeout: timeout)
            } else {
                entries = try listEdit.commit(body, preparing: &preparations, at: target, timeout: timeout) { try isUsed(at: target) }
            }
            if let entries { return entries }
        }
        throw list.busyError
    }

    /// Runs an edit on the entries of list and journal, and appends what it has changed, under the lock of the list.
    ///
    /// Before that it runs on the known entries, if nothing was appended to the journal since. If they are outdated under the lock, it runs
    /// again: there, if others wait for the lock, and otherwise before it.
    ///
    /// - Returns: nil if it has to be tried again.
    private func commit(
        _ options: CommitOptions, _ body: (inout StorageEntries) throws -> Void, preparing preparations: inout Int,
        as format: PropertyListFormat?, at target: ResolvedPath, timeout: Duration?
    ) throws -> StorageEntries? {
        var draft: StorageEntries?
        if preparations > 0, let known = known(of: target), try known.file.isEnd(known.end) {
            preparations -= 1
            draft = known.entries.flatMap { edited($0, by: body) }
        }
        typealias Committed = (entries: StorageEntries, state: JournalState)
        let committed = try withJournal(of: target, timeout: timeout) { lock, state -> Committed? in
            let areStored = try list.storeDeadLogs(of: target) { logs in try store(logs, at: target, in: &state) }
            guard areStored, let current = state.entries else { return nil }
            var entries = draft ?? current.unedited
            if draft == nil || entries.revision != current.revision {
                guard draft == nil || lock?.wasContended ?? true else { return nil }
                (draft, entries) = (nil, current.unedited)
                try body(&entries)
                // The closure may have made another edit, at the end of the process, or somebody has removed the lock file.
                guard try lock?.isInPlace() ?? true, try state.file.isEnd(state.end) else { return nil }
            }
            guard !entries.editedKeys.isEmpty else {
                options.whenStored?(target, state.identity)
                return (current, state)
            }
            let stored = try storable(entries, as: format ?? state.format ?? list.newFormat)
            let edits = current.edits(to: stored, at: entries.editedPaths)
            // The closure may have taken long under the lock.
            if !edits.isEmpty { try requireWritableList(target, draft == nil ? nil : lock?.list) }
            guard try append(state.commit(edits, at: list.calls.now()), to: &state) else { return nil }
            options.whenStored?(target, state.identity)
            return (state.entries ?? stored, state)
        }
        guard let committed else { return nil }
        // Also if there was nothing to append: what was found may be the commit of another process, or one whose synchronization failed.
        if !options.isBehind { try committed.state.synchronize() }
        return committed.entries
    }

    /// Runs a commit or a checkpoint of the store that watches the list, without events of the journal: each of them wakes three threads,
    /// for what the commit reads anyway. What is appended after that is looked at once.
    func withoutEvents<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let watcher = list.currentWatch?.journalWatcher?.session, let resume = watcher.pauseWrites() else { return try body() }
        var isDone = false
        defer {
            resume()
            if !isDone || !isRead { watcher.receive(.closed) }
        }
        let result = try body()
        isDone = true
        return result
    }

    /// The entries after an edit; nil if it throws, which it may not do on the latest entries.
    private func edited(_ entries: StorageEntries, by body: (inout StorageEntries) throws -> Void) -> StorageEntries? {
        do {
            var edited = entries.unedited
            try body(&edited)
            return edited
        } catch {
            return nil
        }
    }

    /// Rejects an edit of a list that cannot be replaced afterwards.
    private func requireWritableList(_ target: ResolvedPath, _ found: FileStatus?) throws(StorageError) {
        let status = try list.calls.writing(list.name) { () throws(SystemError) in try list.calls.status(at: target, or: found) }
        if let status { try list.calls.requireWritable(status, at: target) }
    }

    /// The entries as they will read back from the list.
    private func storable(_ entries: StorageEntries, as format: PropertyListFormat) throws(StorageError) -> StorageEntries {
        guard format != .binary else { return entries.unedited }
        for key in entries.editedKeys.sorted() {
            guard let value = entries[key], let rejection = list.rejection(of: value, for: key, format: format) else { continue }
            if list.configuration.formatPolicy == .binaryWhenNecessary { return entries.unedited }
            throw rejection
        }
        return entries.stored(as: format)
    }

    /// Appends records under the lock of the list, all of them or none.
    ///
    /// - Returns: false if a writer with another lock file was faster, so that the journal has to be looked at again.
    func append(_ records: [JournalRecord], to state: inout JournalState) throws -> Bool {
        if records.isEmpty { return true }
        var (bytes, appended) = (Data(), JournalRecords(from: state.end, after: state.chain))
        for record in records { try encode(record, in: &appended, &bytes) }
        guard try state.file.append(bytes, at: state.end) else { return false }
        state.take(appended)
        remember(state)
        return true
    }

    private func encode(_ record: JournalRecord, in records: inout JournalRecords, _ bytes: inout Data) throws(StorageError) {
        do throws(PropertyListError) {
            try records.append(record, to: &bytes)
        } catch {
            guard case .commit(let commit) = record else { throw .unwritable(file: list.name, reason: error.description) }
            for (key, edit) in commit.edits.sorted(by: { $0.key < $1.key }) {
                if let value = edit.newValue, let rejection = list.rejection(of: value, for: key, format: .binary) { throw rejection }
            }
            let key = commit.edits.keys.min() ?? ""
            throw .unencodable(key: key, reason: "the journal of \(list.name) cannot store it: \(error.reason)")
        }
    }

    /// Commits the edits of dead stores, by themselves; returns false if that has to be tried again.
    private func store(_ logs: [DeadEditLog], at target: ResolvedPath, in state: inout JournalState) throws -> Bool {
        guard let current = state.entries else { return false }
        var entries = current.unedited
        let format = state.format ?? list.newFormat
        // Logs that are older than the journal have the identity of the list, and apply if nothing has changed since.
        let base = state.needsCheckpoint ? state.identity : try FileIdentity(at: target, calls: list.calls)
        let reports = list.replay(logs, of: target, in: &entries, over: state.identities + [base], as: format)
        let edits = current.edits(to: entries.stored(as: format), at: entries.editedPaths)
        guard try append(state.commit(edits, at: list.calls.now()), to: &state) else { return false }
        if !edits.isEmpty { try state.synchronize() }
        list.reports.report(reports)
        return true
    }

    /// The commits after a revision, as far as the journal reaches back; see ``PropertyListFile/commits(since:)``.
    func commits(since revision: StorageRevision?) throws -> [StorageCommit]? {
        let target = try list.target()
        guard try load() != nil else { return nil }
        return try known(of: target)?.commits(since: revision)
    }
}
