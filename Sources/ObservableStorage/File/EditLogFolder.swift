import FoundationSubset

/// The folder beside a property list with the edit logs of the stores that have it open, or had when their process ended.
///
/// It counts only if it belongs to the owner of the list, and nobody else may write it: otherwise others could have edits made by whoever
/// opens the list next, or change a log while it is in use. Its logs are accessible to their owner only, because whoever may read a file may
/// lock it, as if its owner lived.
struct EditLogFolder {
    let list: ResolvedPath
    /// The data protection of a new list, which is that of its logs as well.
    var protection: FileProtection?
    let calls: FileSystemCalls

    // Each attempt fails because another process removed the folder, or took the new file, at that moment.
    private static let mostAttempts = 16

    private var path: String { list.editLogs.path }
}

/// The reason why a log cannot be made.
struct EditLogRefusal: Error {
    let error: StorageError
    /// Whether another attempt would fail as well.
    var isPermanent = false
}

// MARK: - Making a log

extension EditLogFolder {
    /// Makes a log, which counts after it is published.
    ///
    /// - Parameters:
    ///   - halfSize: the size of each half, in bytes.
    ///   - identity: the identity of the state over which the edits are made; nil for that of the list.
    func makeLog(halfSize: Int, over identity: FileIdentity? = nil) throws(EditLogRefusal) -> EditLogFile {
        var (isNew, objection) = (false, String?.none)
        do throws(SystemError) {
            for attempt in 1...Self.mostAttempts {
                do throws(SystemError) {
                    let status = try calls.status(at: list)
                    if let status, status.owner != geteuid() {
                        objection = "it belongs to user \(status.owner), and only that user's edits are logged in \(path)"
                        throw SystemError(EACCES)
                    }
                    let folder = try open(isNew: &isNew)
                    objection = try self.objection(to: folder)
                    if objection != nil { throw SystemError(ENOTSUP) }
                    let log = try makeFile(in: folder, halfSize: halfSize, over: identity ?? status?.identity, &objection)
                    if let log { return log }
                } catch let error where attempt < Self.mostAttempts && (error.code == ENOENT || error.code == EEXIST) {
                    continue
                }
            }
            throw SystemError(EBUSY)
        } catch {
            if isNew { calls.removeIfEmpty(list.editLogs) }
            let reason = objection ?? "\(error.reason) (making a log of edits in \(path))"
            let picked = objection == nil ? calls.rules.pickedFileError(list.path, error) : nil
            throw EditLogRefusal(error: picked ?? .unwritable(file: list.path, reason: reason), isPermanent: objection != nil)
        }
    }

    /// Opens the folder, and makes it if it is missing. Nothing is synchronized: the logs need not outlive a power failure.
    private func open(isNew: inout Bool) throws(SystemError) -> OpenFolder {
        do throws(SystemError) {
            return try calls.enter(list.editLogs)
        } catch let error where error.code == ENOENT {
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.makeFolder(list.editLogs, 0o700) }
                isNew = true
            } catch let error where error.code == EEXIST {
                // Another process made it meanwhile.
            }
            return try calls.enter(list.editLogs)
        }
    }

    /// The reason why a log in the folder would not be safe; nil if it is.
    private func objection(to folder: OpenFolder) throws(SystemError) -> String? {
        let own = try calls.status(of: folder.descriptor)
        if own.owner != geteuid() { return "the folder of its logs of edits, \(path), belongs to user \(own.owner)" }
        if own.permissions & 0o022 != 0 {
            let mode = String(own.permissions, radix: 8)
            return "others may write the folder of its logs of edits, \(path) (mode 0\(mode)); remove that folder"
        }
        let descriptor = try calls.openFolder(of: ResolvedPath(".", in: folder))
        defer { calls.discard(descriptor) }
        return try calls.mappingObjection(descriptor)
    }

    /// Makes a file; returns nil if another process removed it before it was locked.
    ///
    /// - Parameter objection: is set to the reason if its data protection, which is that of the list, forbids to map it.
    private func makeFile(
        in folder: OpenFolder, halfSize: Int, over identity: FileIdentity?, _ objection: inout String?
    ) throws(SystemError) -> EditLogFile? {
        let store = calls.random()
        let file = ResolvedPath("\(getpid())-\(String(store, radix: 16))", in: folder)
        let descriptor = try calls.openFile(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        // Closed in forked children, which would keep it locked.
        FileLock.register(descriptor)
        let size = EditLogFormat.Header.size + 2 * halfSize
        do throws(SystemError) {
            guard try calls.tryLock(descriptor), try calls.status(of: descriptor).links > 0 else {
                FileLock.release(descriptor, calls: calls)
                return nil
            }
            try calls.setAccess(of: descriptor, to: 0o600, successorOf: nil)
            try protect(descriptor)
            // Read again: without a list, it may be the application's default.
            objection = FileProtection.mappingObjection(toClass: calls.protectionClass(descriptor))
            if objection != nil { throw SystemError(ENOTSUP) }
            calls.excludeFromBackups(descriptor)
            try calls.havingRoom { () throws(SystemError) in try calls.reserve(descriptor, size) }
            let inode = try calls.status(of: descriptor).identity.inode
            let start = try calls.map(descriptor, size)
            return EditLogFile(
                of: list, at: file.path, descriptor: descriptor, inode: inode, start: start, halfSize: halfSize, store: store,
                over: identity, calls: calls)
        } catch {
            calls.discardFile(file)
            FileLock.release(descriptor, calls: calls)
            throw error
        }
    }
}

extension EditLogFolder {
    /// Sets the data protection of a new log to that of the list, whose values it will have.
    private func protect(_ log: Int32) throws(SystemError) {
        // Otherwise the file system has no protection.
        guard calls.protectionClass(log) != nil else { return }
        let old = try calls.openForProtection(list)
        defer { if let old { calls.discard(old) } }
        try calls.setProtection(of: log, successorOf: old, orTo: protection)
    }
}

// MARK: - Logs of the dead

/// An edit log whose owner does not live any more. It is locked until it is removed or released.
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
    static let mostLogs = 64

    /// The oldest logs of owners that do not live any more, the oldest first: when these are removed, there may be others. None if they cannot
    /// be read or removed by this user.
    func deadLogs() throws(SystemError) -> [DeadEditLog] {
        guard let folder = try openIfTrusted() else { return [] }
        // Locking those of this process would take a tenth of a commit in memory. A forked child has another number.
        let own = "\(getpid())-"
        let living = EditLogFile.living.withLock { $0 }
        var logs = try calls.uninterrupted { () throws(SystemError) in try calls.list(folder) }
            .filter { !$0.hasPrefix(".") }.map { ResolvedPath($0, in: folder) }
            .filter { !$0.name.hasPrefix(own) || !living.contains($0.path) }
        if logs.isEmpty { return [] }
        if logs.count > Self.mostLogs { logs = try byAge(logs) }
        let owner = try calls.status(of: folder.descriptor).owner
        var found: [(log: DeadEditLog, time: Int64)] = []
        do throws(SystemError) {
            for path in logs {
                if let log = try deadLog(path, of: owner) { found.append(log) }
                if found.count == Self.mostLogs { break }
            }
            if !found.isEmpty, !(try calls.ifAllowed { () throws(SystemError) in try calls.checkWriting(ResolvedPath(".", in: folder)) }) {
                release(found.map(\.log))
                return []
            }
        } catch {
            release(found.map(\.log))
            throw error
        }
        // A process that was killed while it continued with a larger log leaves both.
        let replaced = Set(found.compactMap(\.log.content?.replaced))
        for index in found.indices { found[index].log.content?.drop(ifReplacedBy: replaced) }
        return found.sorted { $0.time < $1.time }.map(\.log)
    }

    private func byAge(_ logs: [ResolvedPath]) throws(SystemError) -> [ResolvedPath] {
        var found: [(path: ResolvedPath, time: Int64)] = []
        for path in logs {
            if let time = try calls.status(at: path)?.identity.modified { found.append((path, time)) }
        }
        return found.sorted { $0.time < $1.time }.map(\.path)
    }

    /// Opens the folder; nil if it is missing, does not count, or is not this user's to read.
    private func openIfTrusted() throws(SystemError) -> OpenFolder? {
        do throws(SystemError) {
            let folder = try calls.enter(list.editLogs)
            let own = try calls.status(of: folder.descriptor)
            let owner = try calls.status(at: list)?.owner ?? geteuid()
            guard own.owner == owner, own.permissions & 0o022 == 0 else { return nil }
            return own.owner == geteuid() || geteuid() == 0 ? folder : nil
        } catch let error where error.isMissing || error.isDenied || error.code == ELOOP {
            return nil
        }
    }

    private func deadLog(_ path: ResolvedPath, of owner: uid_t) throws(SystemError) -> (DeadEditLog, Int64)? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY)
        } catch let error where error.isMissing || error.isDenied || error.code == ELOOP || error.code == ENXIO {
            return nil
        }
        var isKept = false
        defer { if !isKept { unlock(descriptor) } }
        guard try calls.tryLock(descriptor) else { return nil }
        let status = try calls.status(of: descriptor)
        // Its owner may just have removed it.
        guard status.kind == .file, status.links == 1, status.owner == owner, status.permissions & 0o022 == 0 else { return nil }
        isKept = true
        guard status.identity.size <= EditLogFormat.largestFile else {
            return (DeadEditLog(file: path, content: nil, isUnfinished: false, descriptor: descriptor), 0)
        }
        do throws(SystemError) {
            let header = try calls.bytes(of: descriptor, at: 0, count: EditLogFormat.Header.size)
            if header.withUnsafeBytes(EditLogFormat.isOtherVersion) {
                unlock(descriptor)
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

    /// Removes logs whose edits were made, and the folder if it is empty then.
    func remove(_ logs: [DeadEditLog]) {
        for log in logs {
            if isInPlace(log) { calls.discardFile(log.file) }
            calls.discard(log.descriptor)
        }
        if !logs.isEmpty { calls.removeIfEmpty(list.editLogs) }
    }

    /// Whether the file with a log's name is the log: another user may have exchanged it.
    private func isInPlace(_ log: DeadEditLog) -> Bool {
        do throws(SystemError) {
            let there = try calls.status(at: log.file)
            return try there?.identity.isSameFile(as: calls.status(of: log.descriptor).identity) ?? false
        } catch {
            return false
        }
    }

    /// Unlocks logs whose edits could not be made.
    func release(_ logs: [DeadEditLog]) {
        for log in logs { unlock(log.descriptor) }
    }

    /// Closing alone would leave a log locked while a child process that is being started has it open.
    private func unlock(_ descriptor: Int32) {
        calls.releaseLock(descriptor)
        calls.discard(descriptor)
    }
}
