import FoundationSubset
import PropertyListCoding
import Synchronization

// MARK: - The store's own log

extension PropertyListFile {
    /// The reason why stores of this file cannot have a log, whatever its file system is; nil if they can.
    var editLogObjection: StorageError? {
        let reason: String? =
            if isOutsideContainer {
                Self.lockObjection
            } else if configuration.inPlaceWriting.hasFolder {
                "its copies are in another folder"
            } else {
                nil
            }
        return reason.map { .unwritable(file: name, reason: $0) }
    }

    /// The reason why the file system of the list cannot have a log; nil if it can, or cannot be asked.
    var mappingObjection: StorageError? {
        objection { _, folder throws(SystemError) in try calls.mappingObjection(folder) }
    }

    /// The reason why the place of the list, its file system or its data protection allow no log; nil if they do, or cannot be asked.
    var placeObjection: StorageError? {
        objection { target, folder throws(SystemError) in
            if let objection = lockObjection(to: target) { return objection }
            if let objection = try calls.mappingObjection(folder) { return objection }
            return try protectionObjection(to: target, in: folder)
        }
    }

    private func objection(
        _ reason: (_ target: ResolvedPath, _ folder: Int32) throws(SystemError) -> String?
    ) -> StorageError? {
        do {
            let target = try resolved()
            let folder = try calls.openFolder(of: target)
            defer { calls.discard(folder) }
            return try reason(target, folder).map { .unwritable(file: target.path, reason: $0) }
        } catch {
            // Making a log will fail for the same reason, unless the folder is missing and can be made.
            return nil
        }
    }

    /// The reason why a place to which links may have led allows no log; nil if it does.
    private func lockObjection(to target: ResolvedPath) -> String? {
        calls.rules.forbidsLockWhileSuspended(of: target.path) ? Self.lockObjection : nil
    }

    private static let lockObjection =
        "it is not in the application's own container, and elsewhere a suspended process may not hold the lock of a log of edits"

    /// The reason why the data protection of a log, which is that of the list, would not allow it.
    private func protectionObjection(to target: ResolvedPath, in folder: Int32) throws(SystemError) -> String? {
        // New files get that of their folder.
        guard let usual = calls.protectionClass(folder) else { return nil }
        let own = try calls.protectionClass(at: target)
        return FileProtection.mappingObjection(toClass: own ?? configuration.protection?.number ?? usual)
    }

    /// Makes a log for a store of this file.
    func makeEditLog(halfSize: Int) throws(EditLogRefusal) -> EditLogFile {
        var target: ResolvedPath
        do throws(StorageError) {
            target = try resolved()
            guard halfSize <= EditLogFormat.largestHalf else {
                let size = "\(EditLogFormat.largestHalf >> 20) MB"
                throw .unwritable(file: name, reason: "the edits that are not written yet need more than \(size) in its log of edits")
            }
            // What is missing is made first.
            if try calls.makeFolderIfMissing(of: target) { target = try resolved() }
            try calls.requireOwnLinks(of: target)
        } catch {
            throw EditLogRefusal(error: error)
        }
        if let reason = lockObjection(to: target) {
            throw EditLogRefusal(error: .unwritable(file: target.path, reason: reason), isPermanent: true)
        }
        return try EditLogFolder(list: target, protection: configuration.protection, calls: calls)
            .makeLog(halfSize: halfSize, over: knownJournal(of: target)?.identity)
    }
}

// MARK: - Replaying the logs of dead stores

extension PropertyListFile {
    // More than any file system has names; a log that cannot be removed is found again each time.
    private static let mostPortions = 1_000

    /// Calls a closure with the logs of dead stores, some at a time, until it returns false; returns whether it did not. Called under the
    /// file's lock, so that nobody else replays them.
    @discardableResult
    func forDeadLogs(of target: ResolvedPath, _ body: ([DeadEditLog]) throws -> Bool) throws -> Bool {
        for _ in 0..<Self.mostPortions {
            let logs = try deadLogs(of: target)
            if logs.isEmpty { return true }
            guard try body(logs) else { return false }
            if logs.count < EditLogFolder.mostLogs { return true }
        }
        return true
    }

    private func deadLogs(of target: ResolvedPath) throws(StorageError) -> [DeadEditLog] {
        do throws(SystemError) {
            return try EditLogFolder(list: target, calls: calls).deadLogs()
        } catch {
            throw .unreadable(file: name, reason: "\(error.reason) (looking for logs of edits in \(target.editLogs.path))")
        }
    }

    /// Whether the edits of dead stores are still to be made.
    var needsReplay: Bool { isReplayDue.load(ordering: .relaxed) }

    /// Makes the edits of dead stores when the file is read for the first time. If that fails, the next edit tries again.
    ///
    /// It does not wait for the lock, whose holder may be stopped: if it is held, the next reading tries again.
    func replayWhenReading() {
        guard lock.resource == nil, isReplayDue.exchange(false, ordering: .relaxed) else { return }
        do {
            let folder = EditLogFolder(list: try resolved(), calls: calls)
            let logs = try folder.deadLogs()
            folder.release(logs)
            if !logs.isEmpty { _ = try editReplaying(timeout: .zero) }
        } catch StorageError.locked, StorageError.suspended {
            isReplayDue.store(true, ordering: .relaxed)
        } catch {
            // The content can be read nevertheless.
            report([.writing(name, error)])
        }
    }

    /// The entries with the edits of dead stores, which are still to be made: these are not the entries of a revision.
    func withDeadEdits(_ entries: StorageEntries) -> StorageEntries {
        guard lock.resource == nil else { return entries }
        do {
            let target = try resolved()
            let folder = EditLogFolder(list: target, calls: calls)
            let logs = try folder.deadLogs()
            defer { folder.release(logs) }
            let list = try FileIdentity(at: target, calls: calls)
            let format: PropertyListFormat = isXML.load(ordering: .relaxed) ? .xml : .binary
            var edited = entries
            _ = replay(logs, in: &edited, over: (knownJournal(of: target)?.identities ?? []) + [list], as: format)
            return edited.editedKeys.isEmpty ? entries : edited.stored(as: format).stored(at: nil)
        } catch {
            // Making them has the same error.
            return entries
        }
    }

    /// Makes the edits of dead stores.
    ///
    /// - Parameter identities: the identity of the list in which the entries are, or that of the state of its journal, or both.
    /// - Returns: what has to be reported after they are stored.
    func replay(_ logs: [DeadEditLog], in entries: inout StorageEntries, over identities: [FileIdentity?], as format: PropertyListFormat)
        -> [StorageError]
    {
        var reports: [StorageError] = []
        for log in logs {
            guard let content = log.content else {
                if !log.isUnfinished { reports.append(.unreadable(file: log.path, reason: "it is not a log of edits, and was removed")) }
                continue
            }
            // After a power failure, the file may be newer than the log: it only counts for the list that it was made for.
            let isCurrent = identities.contains { content.list == ($0?.inode ?? 0, $0?.modified ?? 0) }
            guard content.boot == calls.boot || isCurrent else {
                let keys = Set(content.edits.map { EntryName(own: $0.key, path: $0.path).text })
                if !keys.isEmpty { reports.append(.conflict(file: name, keys: keys.sorted())) }
                continue
            }
            let replay = EditReplay(content.edits) {
                entries[$0]
            } rejecting: { key, value in
                configuration.formatPolicy == .keep ? rejection(of: value, for: key, format: format) : nil
            }
            let paths = Dictionary(grouping: content.edits, by: \.key).mapValues { $0.map(\.path) }
            for (key, value) in replay.changes { entries.set(value, for: key, at: paths[key] ?? []) }
            reports += replay.rejections.sorted { $0.key < $1.key }.map(\.value)
            if !replay.conflicts.isEmpty { reports.append(.conflict(file: name, keys: replay.conflicts)) }
        }
        return reports
    }

    /// Reports errors to the watching stores, or to the first that watches.
    func report(_ errors: [StorageError]) {
        guard !errors.isEmpty else { return }
        unreported.withLock { $0 += errors }
        reportUnreported()
    }

    /// Reports an error, unless it was reported before.
    func reportOnce(_ error: StorageError) {
        if reportedOnce.withLock({ $0.insert(error).inserted }) { report([error]) }
    }

    /// Reports to watching stores what was found before they watched.
    func reportUnreported() {
        guard !reports.isIdle else { return }
        for error in takeReports() { reports.publish(error) }
    }

    /// What was found and no store was told of, for a program without one; each error once.
    package func takeReports() -> [StorageError] {
        unreported.withLock { unreported in
            defer { unreported = [] }
            return unreported
        }
    }
}
