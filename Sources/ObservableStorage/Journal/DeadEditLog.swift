import FoundationSubset

/// An edit log whose owner has died, with a shared lock until it is removed or released.
struct DeadEditLog {
    fileprivate let file: ResolvedPath
    /// Nil if the file is not an edit log.
    fileprivate(set) var content: EditLogContent?
    /// Whether it was never published, and has no edits.
    let isUnfinished: Bool
    fileprivate let descriptor: Int32

    var path: String { file.path }
}

extension EditLogFolder {
    // More than are left by accident, and few enough to be open at once.
    static let maximumLogs = 64

    /// The oldest logs whose owners have died, oldest first; there may be others after these are removed. Empty if this user cannot read or
    /// remove them, unless ``isReadOnly``.
    mutating func deadLogs() throws(SystemError) -> [DeadEditLog] {
        let (living, closed) = EditLogFile.living.withLock { $0 }
        let forks = FileLock.forks
        // A log of another process is in no such listing, and a new one changes the folder.
        if let listing, (listing.closed, listing.forks) == (closed, forks),
            calls.statusOrNil(at: list.editLogs)?.identity == listing.folder
        {
            return []
        }
        (listing, isEmpty) = (nil, false)
        let time = calls.now()
        guard let (folder, status) = try openIfTrusted() else { return [] }
        // Locking the logs of this process would take a tenth of a commit in memory. A forked child has another process number.
        let own = "\(getpid())-"
        let names = try calls.uninterrupted { () throws(SystemError) in try calls.list(folder) }
        isEmpty = names.isEmpty
        var logs = names.filter { !$0.hasPrefix(".") }.map { ResolvedPath($0, in: folder) }
            .filter { !$0.name.hasPrefix(own) || !living.contains($0.path) }
        if logs.isEmpty {
            if !status.identity.mayHideWrites(after: time) { listing = (status.identity, closed, forks) }
            return []
        }
        if logs.count > Self.maximumLogs { logs = try byAge(logs) }
        ofOtherVersions = []
        var found: [(log: DeadEditLog, time: Int64)] = []
        do throws(SystemError) {
            for path in logs {
                if let log = try deadLog(path, of: status.owner) { found.append(log) }
                if found.count == Self.maximumLogs { break }
            }
            if !found.isEmpty, !(try mayRemove(from: folder)) {
                release(found.map(\.log))
                return []
            }
        } catch {
            release(found.map(\.log))
            throw error
        }
        // A process that was killed while it moved to a larger log leaves both.
        let replaced = Set(found.compactMap(\.log.content?.replaced))
        for index in found.indices { found[index].log.content?.drop(ifReplacedBy: replaced) }
        return found.sorted { $0.time < $1.time }.map(\.log)
    }

    private mutating func mayRemove(from folder: OpenFolder) throws(SystemError) -> Bool {
        isReadOnly = false
        do throws(SystemError) {
            return try calls.ifAllowed { () throws(SystemError) in try calls.checkWriting(ResolvedPath(".", in: folder)) }
        } catch let error where error.code == EROFS {
            isReadOnly = true
            return true
        }
    }

    private func byAge(_ logs: [ResolvedPath]) throws(SystemError) -> [ResolvedPath] {
        var found: [(path: ResolvedPath, time: Int64)] = []
        for path in logs {
            if let time = try calls.status(at: path)?.identity.modified { found.append((path, time)) }
        }
        return found.sorted { $0.time < $1.time }.map(\.path)
    }

    /// Opens the folder; nil if it is missing, or this user must not trust it or may not read it.
    private func openIfTrusted() throws(SystemError) -> (OpenFolder, FileStatus)? {
        do throws(SystemError) {
            let folder = try calls.enter(list.editLogs)
            let own = try calls.status(of: folder.descriptor)
            let owner = try calls.status(at: list)?.owner ?? geteuid()
            guard own.owner == owner, own.permissions & 0o022 == 0 else { return nil }
            return own.owner == geteuid() || geteuid() == 0 ? (folder, own) : nil
        } catch let error where error.isMissing || error.isDenied || error.code == ELOOP {
            return nil
        }
    }

    private mutating func deadLog(_ path: ResolvedPath, of owner: uid_t) throws(SystemError) -> (DeadEditLog, Int64)? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY)
        } catch let error where error.isMissing || error.isDenied || error.code == ELOOP || error.code == ENXIO {
            return nil
        }
        var isKept = false
        defer { if !isKept { unlock(descriptor) } }
        // Shared, because only the owner's lock says that it lives: a process that is only reading must not hide the log from one that
        // is storing its edits, whose commit would then be made without them.
        guard try calls.tryLock(descriptor, isShared: true) else { return nil }
        let status = try calls.status(of: descriptor)
        // Its owner may just have removed it.
        guard status.kind == .file, status.links == 1, status.owner == owner, status.permissions & 0o022 == 0 else { return nil }
        isKept = true
        guard status.identity.size <= EditLogFormat.largestFile else {
            return (DeadEditLog(file: path, content: nil, isUnfinished: false, descriptor: descriptor), 0)
        }
        do throws(SystemError) {
            let header = try calls.bytes(of: descriptor, at: 0, count: EditLogFormat.Header.size)
            if header.withUnsafeBytes({ $0.isOtherVersion(of: EditLogFormat.Header.magic) }) {
                unlock(descriptor)
                ofOtherVersions.append(path.path)
                return nil
            }
            let content = try EditLogContent(descriptor, header: header, size: Int(clamping: status.identity.size), calls: calls)
            let log = DeadEditLog(
                file: path, content: content, isUnfinished: header.prefix(8).allSatisfy { $0 == 0 }, descriptor: descriptor)
            return (log, status.identity.modified)
        } catch {
            unlock(descriptor)
            throw error
        }
    }

    /// Removes logs whose edits were stored, and the folder if it is then empty.
    func remove(_ logs: [DeadEditLog]) {
        for log in logs {
            // Another user may have replaced it.
            let isInPlace = calls.ifPossible { () throws(SystemError) in try calls.isFile(log.descriptor, at: log.file) }
            if isInPlace == true { calls.discardFile(log.file) }
            calls.discard(log.descriptor)
        }
        if !logs.isEmpty { calls.removeIfEmpty(list.editLogs) }
    }

    /// Removes the folder if it was found empty, as a process leaves it that is killed while it makes or removes its log.
    func removeIfEmpty() {
        if isEmpty { calls.removeIfEmpty(list.editLogs) }
    }

    /// Unlocks logs whose edits were not stored.
    func release(_ logs: [DeadEditLog]) {
        for log in logs { unlock(log.descriptor) }
    }

    /// Closing alone would leave a log locked while a child process that is being started has it open.
    private func unlock(_ descriptor: Int32) {
        calls.releaseLock(descriptor)
        calls.discard(descriptor)
    }
}
