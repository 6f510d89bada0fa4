import FoundationSubset

/// The folder beside a property list with the edit logs of the stores that have it open, or had when their process ended.
struct EditLogFolder {
    let list: ResolvedPath
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
        var objection: String?
        do throws(SystemError) {
            let status = try calls.status(at: list.path)
            for _ in 0..<Self.mostAttempts {
                do throws(SystemError) {
                    let folder = try open(besides: status)
                    defer { calls.discard(folder) }
                    guard try calls.status(of: folder).isTrusted(besides: status) else { throw SystemError(EACCES) }
                    objection = try calls.mappingObjection(folder)
                    if objection != nil { throw SystemError(ENOTSUP) }
                    if let log = try makeFile(besides: status, halfSize: halfSize, over: identity ?? status?.identity) { return log }
                } catch let error where error.code == ENOENT || error.code == EEXIST {
                    continue
                }
            }
            throw SystemError(EBUSY)
        } catch {
            calls.removeIfEmpty(path)
            let reason = objection ?? "\(error.reason) (making a log of edits in \(path))"
            throw EditLogRefusal(error: .unwritable(file: list.path, reason: reason), isPermanent: objection != nil)
        }
    }

    /// Opens the folder, and makes it if it is missing. Nothing is synchronized: the logs need not outlive a power failure.
    private func open(besides status: FileStatus?) throws(SystemError) -> Int32 {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
        let folder: Int32
        do throws(SystemError) {
            folder = try calls.openFile(path, flags)
        } catch let error where error.code == ENOENT {
            try make()
            folder = try calls.openFile(path, flags)
        }
        do throws(SystemError) {
            let own = try calls.status(of: folder)
            // Those who may read or write the list may read or write the logs: whoever opens it next needs that.
            let permissions = status.map { $0.permissions | ($0.permissions & 0o444) >> 2 | 0o700 } ?? 0o700
            if own.owner == geteuid(), own.permissions != permissions || own.group != status?.group ?? own.group {
                try calls.setAccess(of: folder, to: permissions, successorOf: status)
            }
            return folder
        } catch {
            calls.discard(folder)
            throw error
        }
    }

    private func make() throws(SystemError) {
        for isLast in [false, true] {
            do throws(SystemError) {
                return try calls.uninterrupted { () throws(SystemError) in try calls.makeFolder(path, 0o700) }
            } catch let error where error.code == EEXIST {
                return
            } catch let error where error.code == ENOENT && !isLast {
                calls.discard(try calls.openFolder(list.folder))
            }
        }
    }

    /// Makes a file; returns nil if another process removed it before it was locked.
    private func makeFile(
        besides status: FileStatus?, halfSize: Int, over identity: FileIdentity?
    ) throws(SystemError) -> EditLogFile? {
        let store = calls.random()
        let file = ResolvedPath("\(getpid())-\(String(store, radix: 16))", in: path).path
        let descriptor = try calls.openFile(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
        // Closed in forked children, which would keep it locked.
        FileLock.register(descriptor)
        let size = EditLogFormat.Header.size + 2 * halfSize
        do throws(SystemError) {
            guard try calls.tryLock(descriptor), try calls.status(of: descriptor).links > 0 else {
                FileLock.release(descriptor, calls: calls)
                return nil
            }
            try calls.setAccess(of: descriptor, to: status?.permissions ?? 0o600, successorOf: status)
            calls.excludeFromBackups(descriptor)
            try calls.havingRoom { () throws(SystemError) in try calls.reserve(descriptor, size) }
            let inode = try calls.status(of: descriptor).identity.inode
            let start = try calls.map(descriptor, size)
            return EditLogFile(
                of: list, at: file, descriptor: descriptor, inode: inode, start: start, halfSize: halfSize, store: store,
                over: identity, calls: calls)
        } catch {
            calls.discardFile(file)
            FileLock.release(descriptor, calls: calls)
            throw error
        }
    }
}

// MARK: - Logs of the dead

/// An edit log whose owner does not live any more. It is locked until it is removed or released.
struct DeadEditLog {
    let path: String
    /// Nil if the file is not an edit log.
    fileprivate(set) var content: EditLogContent?
    /// Whether it was never published, and has no edits.
    let isUnfinished: Bool
    fileprivate let descriptor: Int32
}

extension EditLogFolder {
    /// The logs of owners that do not live any more, the oldest first. None if they cannot be read or removed by this user.
    func deadLogs() throws(SystemError) -> [DeadEditLog] {
        let names: [String]
        do throws(SystemError) {
            let all = try calls.uninterrupted { () throws(SystemError) in try calls.visibleNames(path) }
            // Locking those of this process would take a tenth of a commit in memory. A forked child has another number.
            let own = "\(getpid())-"
            let living = EditLogFile.living.withLock { $0 }
            names = all.filter { !$0.hasPrefix(own) || !living.contains(ResolvedPath($0, in: path).path) }
        } catch let error where error.isMissing || error.isDenied || error.code == ELOOP {
            return []
        }
        if names.isEmpty { return [] }
        let status = try calls.status(at: list.path)
        guard let folder = try calls.status(at: path), folder.kind == .folder, folder.isTrusted(besides: status) else { return [] }
        var found: [(log: DeadEditLog, time: Int64)] = []
        do throws(SystemError) {
            for name in names {
                if let log = try deadLog(ResolvedPath(name, in: path).path, besides: status) { found.append(log) }
            }
            if !found.isEmpty, !(try calls.ifAllowed { () throws(SystemError) in try calls.checkWriting(path) }) {
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

    private func deadLog(_ path: String, besides list: FileStatus?) throws(SystemError) -> (DeadEditLog, Int64)? {
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
        guard status.kind == .file, status.links == 1, status.isTrusted(besides: list) else { return nil }
        isKept = true
        let most = Int64(EditLogFormat.Header.size + 2 * EditLogFormat.largestSize)
        guard status.identity.size <= most else {
            return (DeadEditLog(path: path, content: nil, isUnfinished: false, descriptor: descriptor), 0)
        }
        do throws(SystemError) {
            let bytes = try calls.bytes(of: descriptor, expected: Int(status.identity.size))
            if bytes.withUnsafeBytes(EditLogFormat.isOtherVersion) {
                unlock(descriptor)
                return nil
            }
            let content = bytes.withUnsafeBytes { EditLogContent($0) }
            let log = DeadEditLog(
                path: path, content: content, isUnfinished: bytes.prefix(8).allSatisfy { $0 == 0 }, descriptor: descriptor)
            return (log, status.identity.modified)
        } catch {
            unlock(descriptor)
            throw error
        }
    }

    /// Removes logs whose edits were made, and the folder if it is empty then.
    func remove(_ logs: [DeadEditLog]) {
        for log in logs {
            calls.discardFile(log.path)
            calls.discard(log.descriptor)
        }
        if !logs.isEmpty { calls.removeIfEmpty(path) }
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
