import FoundationSubset
import PropertyListCoding

extension JournalFile {
    /// Opens the journal of a list; returns nil if there is none, or its owner is not a user who may write the list.
    ///
    /// - Throws: ``StorageError/malformed(file:offset:line:column:reason:)`` if it is damaged;
    ///   ``StorageError/unreadable(file:reason:edits:)`` if it cannot be read, or is one of a later version. The error names the journal, and
    ///   not the list, if this user may not read the journal.
    static func open(of list: ResolvedPath, calls: FileSystemCalls) throws(StorageError) -> JournalFile? {
        let path = list.journal
        do throws(SystemError) {
            let opened = try calls.ifPresent { () throws(SystemError) in try openForWriting(path, calls) }
            guard let (descriptor, isReadOnly) = opened else { return nil }
            do throws(SystemError) {
                let status = try calls.status(of: descriptor)
                guard status.kind == .file, try calls.isTrusted(status, besides: list, calls.status(at: list)) else {
                    calls.discard(descriptor)
                    return nil
                }
                let bytes = try calls.bytes(of: descriptor, at: 0, count: JournalHeader.size)
                if bytes.withUnsafeBytes({ $0.isOtherVersion(of: JournalHeader.magic) }) { throw SystemError(ENOTSUP) }
                guard let header = bytes.withUnsafeBytes({ JournalHeader($0) }) else { throw SystemError(EILSEQ) }
                let location = JournalFormat.location(of: list, in: try calls.folderStatus(of: list)?.identity)
                return JournalFile(
                    of: list, header, inode: status.identity.inode, location: location, descriptor, isReadOnly: isReadOnly, calls: calls)
            } catch {
                calls.discard(descriptor)
                throw error
            }
        } catch let error where error.code == EILSEQ {
            throw .malformed(file: path.path, offset: 0, reason: "it does not start with the header of a journal")
        } catch let error where error.code == EACCES || error.code == EPERM {
            let reason = """
                \(error.reason); until it has the permissions of the property list, which the next edit of its owner gives it, the list is read \
                without the edits that only the journal has, and is not written
                """
            throw .unreadable(file: path.path, reason: reason)
        } catch let error where error.code == ENOTSUP {
            let reason = """
                its journal \(path.path) was made by a later version of this library; use that one, or remove the journal with the edits that \
                only it has
                """
            throw .unreadable(file: list.path, reason: reason)
        } catch {
            throw .unreadable(file: list.path, reason: "\(error.reason) (opening its journal \(path.path))")
        }
    }

    private static func openForWriting(_ path: ResolvedPath, _ calls: FileSystemCalls) throws(SystemError) -> (Int32, isReadOnly: Bool) {
        let flags = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY
        do throws(SystemError) {
            return (try calls.openFile(path, O_RDWR | flags), false)
        } catch let error where error.isDenied || error.code == EROFS {
            return (try calls.openFile(path, O_RDONLY | flags), true)
        }
    }

    /// Makes a journal, in place of another one if there is any, durably, under the lock of the list.
    ///
    /// - Parameters:
    ///   - first: the revision before the first record.
    ///   - earlier: the journal that it continues; nil if there is none, or one that is not read.
    ///   - replaced: the inode number of the file that it replaces; nil if there was none.
    ///   - status: the status of the list, whose owner, permissions and access control list it gets.
    /// - Returns: nil if another writer has added to the earlier journal, or has made another one.
    static func make(
        of list: ResolvedPath, history: UInt64, first: UInt64, _ records: [JournalRecord], after earlier: JournalState?,
        insteadOf replaced: UInt64?, besides status: FileStatus?, protection: FileProtection?, calls: FileSystemCalls
    ) throws(StorageError) -> (file: JournalFile, records: JournalRecords)? {
        let path = list.journal
        return try calls.writing(list.path, "making its journal \(path.path)") { () throws(SystemError) in
            let folder = try calls.openFolder(of: list)
            defer { calls.discard(folder) }
            var step = ""
            let acl = try calls.accessControlList(at: list, status)
            let temporary = try TemporaryFile.make(beside: list, successorOf: status, acl: acl, calls: calls, step: &step)
            let descriptor = temporary.descriptor
            var result: (file: JournalFile, records: JournalRecords)?
            defer {
                if result == nil {
                    calls.discardFile(temporary.path)
                    calls.discard(descriptor)
                }
            }
            try calls.setProtection(of: descriptor, besides: list, orTo: protection)
            calls.excludeFromBackups(descriptor)
            let inode = try calls.status(of: descriptor).identity.inode
            let location = JournalFormat.location(of: list, in: try calls.status(of: folder).identity)
            // If this run of the system is not known, it may be that of the earlier journal.
            let boot = calls.boot == 0 ? earlier?.file.header.boot ?? 0 : calls.boot
            let header = JournalHeader(
                history: history, seed: calls.random(), first: first, inode: inode, location: location, boot: boot)
            var (bytes, written) = (header.bytes, JournalRecords(from: JournalHeader.size, after: header.chain))
            for record in records {
                do throws(PropertyListError) {
                    try written.append(record, to: &bytes)
                } catch {
                    // They were in a journal before.
                    throw SystemError(EILSEQ)
                }
            }
            do throws(SystemError) {
                try calls.writeAll(bytes + Data(count: JournalFormat.room), to: descriptor, at: 0)
            } catch {
                // The disk may have room for these records, and for no later ones.
                try calls.uninterrupted { () throws(SystemError) in try calls.truncate(descriptor, 0) }
                try calls.writeAll(bytes, to: descriptor, at: 0)
            }
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
            let rename = { () throws(SystemError) -> Bool in
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, path) }
                return true
            }
            if let earlier {
                guard try earlier.file.exclusively(after: earlier.end, rename) else { return nil }
            } else {
                // A writer with another lock file may be about to make one as well: each locks the folder.
                _ = calls.tryLock(folder, pauses: FileSystemCalls.pausesForWriters)
                defer { calls.releaseLock(folder) }
                guard try calls.untimedStatus(at: path)?.identity.inode == replaced else { return nil }
                _ = try rename()
            }
            calls.releaseLock(descriptor)
            try calls.synchronizeFolder(folder)
            let file = JournalFile(
                of: list, header, inode: inode, location: location, descriptor, madeBesides: status, synchronizedTo: written.end,
                calls: calls)
            result = (file, written)
            return result
        }
    }
}
