import FoundationSubset
import PropertyListCoding
import Synchronization

// MARK: - The store's own log

extension PropertyListFile {
    /// The reason why stores of this file cannot have a log, whatever its file system is; nil if they can.
    var logObjection: StorageError? {
        let reason: String? =
            if isOutsideContainer {
                Self.lockObjection
            } else if case .whenNecessary(_?) = list.configuration.inPlaceWriting {
                "its copies are in another folder"
            } else {
                nil
            }
        return reason.map { .unwritable(file: name, reason: $0) }
    }

    /// The reason why the location, the access, the file system or the data protection of the list allows no log; nil if none is found.
    var locationObjection: StorageError? {
        list.objection { target, folder throws(SystemError) in
            if let objection = lockObjection(to: target) { return objection }
            if let objection = try list.calls.mappingObjection(folder) { return objection }
            if let objection = try EditLogFolder(list: target, calls: list.calls).objection() { return objection }
            return try protectionObjection(to: target, in: folder)
        }
    }

    /// The reason why no log may be locked beside a list, to which links may have led; nil if one may.
    private func lockObjection(to target: ResolvedPath) -> String? {
        list.calls.rules.forbidsLockWhileSuspended(of: target.path) ? Self.lockObjection : nil
    }

    private static let lockObjection =
        "it is not in the application's own container, and elsewhere a suspended process may not hold the lock of a log of edits"

    /// The reason why the data protection of a log, which is that of the list, would not allow it.
    private func protectionObjection(to target: ResolvedPath, in folder: Int32) throws(SystemError) -> String? {
        // New files get the class of their folder.
        guard let usual = list.calls.protectionClass(folder) else { return nil }
        let own = try list.calls.protectionClass(at: target)
        return FileProtection.mappingObjection(toClass: own ?? list.configuration.protection?.number ?? usual)
    }

    func makeLog(halfSize: Int) throws(EditLogRefusal) -> EditLogFile {
        guard halfSize <= EditLogFormat.largestHalf else {
            let reason = "the edits that are not written yet need more than \(EditLogFormat.largestHalf >> 20) MB in its log of edits"
            throw EditLogRefusal(error: .unwritable(file: name, reason: reason), recurrence: .never)
        }
        var target: ResolvedPath
        do throws(StorageError) {
            target = try list.resolved()
            // A missing folder is made first.
            if try list.calls.makeFolderIfMissing(of: target) { target = try list.resolved() }
            try list.calls.requireOwnLinks(of: target)
        } catch {
            throw EditLogRefusal(error: error)
        }
        if let reason = lockObjection(to: target) {
            throw EditLogRefusal(error: .unwritable(file: target.path, reason: reason), recurrence: .certain)
        }
        return try EditLogFolder(list: target, protection: list.configuration.protection, calls: list.calls)
            .makeLog(halfSize: halfSize, over: journal.known(of: target)?.identity)
    }
}

// MARK: - Replaying the logs of dead stores

extension PropertyListFile {
    /// Replays the edits of dead stores when the file is read for the first time. If that fails, the next reading or edit tries again.
    ///
    /// It does not wait for the lock, whose holder may be stopped.
    func replayWhenReading() {
        guard list.lock.resource == nil, isReplayDue.exchange(false, ordering: .relaxed) else { return }
        do {
            // Usually there are none; opening the folders on the path takes as long as reading a small list.
            guard list.calls.statusOrNil(at: try list.destination().editLogs) != nil else { return }
            var folder = EditLogFolder(list: try list.resolved(), calls: list.calls)
            let logs = try list.deadLogs(in: &folder)
            folder.release(logs)
            if logs.isEmpty { return }
            if folder.isReadOnly { isReplayDue.store(true, ordering: .relaxed) } else { _ = try editReplaying(timeout: .zero) }
        } catch StorageError.locked, StorageError.suspended {
            isReplayDue.store(true, ordering: .relaxed)
        } catch {
            // The content can be read nevertheless, and with these edits: the disk may be full, and the store have been restarted for that.
            isReplayDue.store(true, ordering: .relaxed)
            list.reports.reportOnce(.writing(name, error))
        }
    }

    /// The entries with the edits of dead stores that still have to be replayed: these are not the entries of a revision.
    func withDeadEdits(_ entries: StorageEntries) -> StorageEntries {
        guard list.lock.resource == nil else { return entries }
        do {
            let target = try list.resolved()
            var folder = EditLogFolder(list: target, calls: list.calls)
            let logs = try list.deadLogs(in: &folder)
            defer { folder.release(logs) }
            let identity = try FileIdentity(at: target, calls: list.calls)
            let format = list.format
            var edited = entries
            let identities = (journal.known(of: target)?.identities ?? []) + [identity]
            _ = list.replay(logs, of: target, in: &edited, over: identities, as: format)
            return edited.editedKeys.isEmpty ? entries : edited.stored(as: format).stored(at: nil)
        } catch {
            // Replaying them reports the same error.
            return entries
        }
    }
}
