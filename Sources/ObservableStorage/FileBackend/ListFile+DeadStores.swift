import FoundationSubset
import PropertyListCoding
import Synchronization

// The edits of stores that have died, in the logs that they left beside the property list.
extension ListFile {
    // Limits the search if a log cannot be removed, and is found again each time.
    private static let maximumBatches = 1_000

    /// Stores the edits of dead stores, some logs at a time, and removes the logs. Called under the file's lock, so that no other process
    /// replays them.
    ///
    /// - Parameter store: stores the edits of some logs; returns false if that has to be tried again.
    /// - Returns: false if the closure did.
    func storeDeadLogs(of target: ResolvedPath, _ store: ([DeadEditLog]) throws -> Bool) throws -> Bool {
        var folder = EditLogFolder(list: target, listing: logListing.withLock { $0 }, calls: calls)
        defer { logListing.withLock { [listing = folder.listing] in $0 = listing } }
        for _ in 0..<Self.maximumBatches {
            let logs = try deadLogs(in: &folder)
            if logs.isEmpty {
                folder.removeIfEmpty()
                return true
            }
            var areStored = false
            defer { if areStored { folder.remove(logs) } else { folder.release(logs) } }
            // They stay until they can be removed.
            guard !folder.isReadOnly else { return true }
            areStored = try store(logs)
            guard areStored else { return false }
            if logs.count < EditLogFolder.maximumLogs { return true }
        }
        return true
    }

    /// The logs of stores that have died; see ``EditLogFolder/deadLogs()``.
    func deadLogs(in folder: inout EditLogFolder) throws(StorageError) -> [DeadEditLog] {
        let logs = try calls.reading(name, "looking for logs of edits in \(folder.list.editLogs.path)") {
            () throws(SystemError) in try folder.deadLogs()
        }
        for path in folder.ofOtherVersions {
            let reason = "it is a log of edits of another version of this library, which makes them when it opens \(folder.list.name) next"
            reports.reportOnce(.unreadable(file: path, reason: reason))
        }
        return logs
    }

    /// Replays the edits of dead stores.
    ///
    /// - Parameter identities: the identity of the list in which the entries are, or that of the state of its journal, or both.
    /// - Returns: the errors to report after the edits are stored.
    func replay(
        _ logs: [DeadEditLog], of target: ResolvedPath, in entries: inout StorageEntries, over identities: [FileIdentity?],
        as format: PropertyListFormat
    ) -> [StorageError] {
        var reports: [StorageError] = []
        // Other users cannot replay the logs before they write, and may have set a value that the list had earlier.
        let isShared = !logs.isEmpty && (calls.statusOrNil(at: target)?.permissions ?? 0) & 0o022 != 0
        for log in logs {
            guard let content = log.content else {
                if !log.isUnfinished { reports.append(.unreadable(file: log.path, reason: "it is not a log of edits, and was removed")) }
                continue
            }
            // After a power failure, the file may be newer than the log: it only applies to the list for which it was made.
            let isCurrent = identities.contains { content.list == ($0?.inode ?? 0, $0?.modified ?? 0) }
            // Where `/proc` is restricted, the run is not known, and is 0.
            let isOfOtherRun = content.boot != calls.boot && content.boot != 0 && calls.boot != 0
            guard !isOfOtherRun || isCurrent else {
                let keys = Set(content.edits.map { EntryName(own: $0.key, path: $0.path).text })
                if !keys.isEmpty { reports.append(.conflict(file: name, keys: keys.sorted())) }
                continue
            }
            for (offset, _) in content.damages {
                let reason = "its record at byte \(offset) is damaged: edits of \(name) may be lost; check the values, and set them again"
                reports.append(.unreadable(file: log.path, reason: reason))
            }
            for edits in content.parts {
                let replay = EditReplay(Array(edits), isMissingUnknown: isQuarantined.load(ordering: .relaxed)) {
                    entries[$0]
                } rejecting: { key, value in
                    configuration.formatPolicy == .keep ? rejection(of: value, for: key, format: format) : nil
                }
                guard !isShared || isCurrent else {
                    let keys = replay.changes.keys.map { EntryName(own: $0, path: []).text } + replay.conflicts
                    if !keys.isEmpty { reports.append(.conflict(file: name, keys: Set(keys).sorted())) }
                    continue
                }
                let paths = Dictionary(grouping: edits, by: \.key).mapValues { $0.map(\.path) }
                for (key, value) in replay.changes { entries.set(value, for: key, at: paths[key] ?? []) }
                reports += replay.rejections.sorted { $0.key < $1.key }.map(\.value)
                if !replay.conflicts.isEmpty { reports.append(.conflict(file: name, keys: replay.conflicts)) }
            }
        }
        return reports
    }
}
