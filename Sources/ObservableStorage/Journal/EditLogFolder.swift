import FoundationSubset

/// The folder beside a property list with the edit logs of the stores that have it open, or had when their process ended.
///
/// It is used only if it belongs to the owner of the list, and nobody else may write it: otherwise other users could have their edits
/// replayed by the next process that opens the list, or change a log in use. Its logs are accessible to their owner only, because a user who
/// may read a file may also lock it, as if its owner were alive.
struct EditLogFolder {
    let list: ResolvedPath
    /// The data protection of a new list, which is that of its logs as well.
    var protection: FileProtection?
    /// The last listing, if it found no logs but those of open stores of this process; nil if the folder has to be listed.
    var listing: Listing?
    let calls: FileSystemCalls
    /// Whether the last listing found nothing at all.
    var isEmpty = false
    /// The paths of the logs that were last found whose owners have died, and that only another version of this library can read.
    var ofOtherVersions: [String] = []
    /// Whether the file system of the logs that were last found is read-only: they are read, and removed when it can be written.
    var isReadOnly = false

    /// The folder when it was listed, and how many logs of this process, and forks, there had been before.
    typealias Listing = (folder: FileIdentity, closed: Int, forks: Int)

    // Each attempt fails because another process removed the folder or the new file meanwhile.
    private static let maximumAttempts = 16

    private var path: String { list.editLogs.path }
}

/// The reason why a log cannot be made.
struct EditLogRefusal: Error {
    /// Whether another attempt fails as well, after the pending edits are written.
    enum Recurrence: Sendable {
        case never, possible, certain
    }

    let error: StorageError
    var recurrence = Recurrence.possible
}

// MARK: - Making a log

extension EditLogFolder {
    /// Makes a log, which is replayed only after it is published.
    ///
    /// - Parameters:
    ///   - halfSize: the size of each half, in bytes.
    ///   - identity: the identity of the state over which the edits are made; nil for that of the list.
    func makeLog(halfSize: Int, over identity: FileIdentity? = nil) throws(EditLogRefusal) -> EditLogFile {
        var (isNew, objection) = (false, String?.none)
        do throws(SystemError) {
            for attempt in 1...Self.maximumAttempts {
                do throws(SystemError) {
                    let status = try calls.status(at: list)
                    objection = ownerObjection(status)
                    if objection != nil { throw SystemError(EACCES) }
                    let folder = try open(isNew: &isNew)
                    objection = try self.objection(to: folder)
                    if objection != nil { throw SystemError(ENOTSUP) }
                    let log = try makeFile(in: folder, halfSize: halfSize, over: identity ?? status?.identity, &objection)
                    if let log { return log }
                } catch let error where attempt < Self.maximumAttempts && (error.code == ENOENT || error.code == EEXIST) {
                    continue
                }
            }
            throw SystemError(EBUSY)
        } catch {
            if isNew { calls.removeIfEmpty(list.editLogs) }
            let reason = objection ?? "\(error.reason) (making a log of edits in \(path))"
            let picked = objection == nil ? calls.rules.pickedFileError(list.path, error) : nil
            let refusal = picked ?? .unwritable(file: list.path, reason: reason)
            throw EditLogRefusal(error: refusal, recurrence: objection == nil ? .possible : .certain)
        }
    }

    /// Opens the folder, and makes it if it is missing. Nothing is synchronized: the logs need not outlive a power failure.
    private func open(isNew: inout Bool) throws(SystemError) -> OpenFolder {
        do throws(SystemError) {
            return try calls.enter(list.editLogs)
        } catch let error where error.code == ENOENT {
            if try calls.makeMissingFolder(list.editLogs) { isNew = true }
            return try calls.enter(list.editLogs)
        }
    }

    /// The reason why no log can be made, as far as that is known without making one; nil if none is known.
    func objection() throws(SystemError) -> String? {
        if let objection = ownerObjection(try calls.status(at: list)) { return objection }
        do throws(SystemError) {
            var writtenFolder = list.sibling(".")
            do throws(SystemError) {
                let folder = try calls.enter(list.editLogs)
                if let objection = try objection(to: folder) { return objection }
                writtenFolder = ResolvedPath(".", in: folder)
            } catch let error where error.code == ENOENT {
                // It can be made.
            }
            try calls.uninterrupted { () throws(SystemError) in try calls.checkWriting(writtenFolder) }
            return nil
        } catch let error where error.code == EMFILE || error.code == ENFILE {
            // It is not the location that prevents it, and a present log needs no other descriptor.
            throw error
        } catch {
            return "\(error.reason) (making a log of edits in \(path))"
        }
    }

    private func ownerObjection(_ list: FileStatus?) -> String? {
        guard let list, list.owner != geteuid() else { return nil }
        return "it belongs to user \(list.owner), and only that user's edits are logged in \(path)"
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
    /// - Parameter objection: receives the reason if its data protection, which is that of the list, forbids mapping it.
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
            let own = try calls.tryLock(descriptor) ? calls.status(of: descriptor) : nil
            guard let own, own.links > 0 else {
                FileLock.release(descriptor, calls: calls)
                return nil
            }
            try calls.setAccess(of: descriptor, own, to: 0o600, successorOf: nil)
            // A file that has no class is on a file system without data protection.
            if calls.protectionClass(descriptor) != nil { try calls.setProtection(of: descriptor, besides: list, orTo: protection) }
            // Read again: without a list, it may be the application's default.
            objection = FileProtection.mappingObjection(toClass: calls.protectionClass(descriptor))
            if objection != nil { throw SystemError(ENOTSUP) }
            calls.excludeFromBackups(descriptor)
            try calls.havingRoom { () throws(SystemError) in try calls.reserve(descriptor, size) }
            let start = try calls.map(descriptor, size)
            let locked = LockedFile(path: file.path, descriptor: descriptor, inode: own.identity.inode, calls: calls)
            return EditLogFile(of: list, in: locked, start: start, halfSize: halfSize, store: store, over: identity)
        } catch {
            calls.discardFile(file)
            FileLock.release(descriptor, calls: calls)
            throw error
        }
    }
}
