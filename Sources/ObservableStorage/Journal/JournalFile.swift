import FoundationSubset
import Synchronization

/// A journal beside a property list, open for reading and, if that is allowed, for writing.
///
/// It only grows, under the lock of the property list; one that has become too long is replaced by another file.
final class JournalFile: Sendable {
    /// The property list, with its folder open.
    let list: ResolvedPath
    let path: ResolvedPath
    let header: JournalHeader
    let inode: UInt64
    private let descriptor: Int32
    private let calls: FileSystemCalls
    /// The status of the list when this process made the file, or last found that it grants the same access.
    private let model: Lock<FileStatus?>
    /// The offset up to which it is known to be on the medium, whether its name is, and whether a synchronization has failed.
    private let synchronized: Lock<(end: Int, name: Bool, isDoubtful: Bool)>
    /// The size when it was last read: an append follows a look under the same lock, and a shorter file only takes a longer write.
    private let size: Atomic<Int>
    /// Whether another program keeps the file locked. Held while writing, unlike other locks: the threads of this process share the lock of
    /// the open file. None waits for it unless the lock file of the list was removed.
    private let isKeptByOthers = Lock(false)

    /// - Parameter end: the offset up to which it is on the medium, together with its name.
    init(
        of list: ResolvedPath, _ header: JournalHeader, inode: UInt64, location: UInt64, _ descriptor: Int32, isReadOnly: Bool = false,
        madeBesides model: FileStatus? = nil, synchronizedTo end: Int? = nil, calls: FileSystemCalls
    ) {
        self.model = Lock(model)
        isCopy = header.inode != inode || header.location != location
        self.isReadOnly = isReadOnly
        (self.list, path, self.header, self.inode) = (list, list.journal, header, inode)
        synchronized = Lock((end ?? 0, end != nil, false))
        size = Atomic(end.map { $0 + JournalFormat.room } ?? 0)
        (self.descriptor, self.calls) = (descriptor, calls)
    }

    deinit {
        calls.discard(descriptor)
    }

    /// Whether the file is a copy or a second name of the journal of another list.
    let isCopy: Bool
    /// Whether this user may not write it.
    private let isReadOnly: Bool

    /// Whether it does not grant the same access as the list, or this user may not write it, so that it has to be made again.
    ///
    /// - Parameter status: the status of the file at its path, if that was just looked at.
    func hasWrongAccess(besides list: FileStatus?, as status: FileStatus?) throws(StorageError) -> Bool {
        guard let list, !isReadOnly else { return isReadOnly }
        // A file system may determine owners and permissions itself.
        let known = model.withLock { $0 }
        let isKnown = known?.hasSameAccess(as: list) == true
        // Without permissions for others, no access control list grants any.
        if isKnown, known?.identity == list.identity || list.permissions & 0o077 == 0 { return false }
        do throws(SystemError) {
            let own = if let status, status.identity.inode == inode { status } else { try calls.untimedStatus(of: descriptor) }
            if !isKnown, own.permissions & ~list.permissions != 0 || !own.hasAccess(list.permissions, besides: list) { return true }
            let acl = try calls.accessControlList(at: self.list, list)?.adapted(to: own, besides: list)
            guard calls.accessControlList(of: descriptor, own) == acl else { return true }
            model.exchange(list)
            return false
        } catch let error where error.isShortage && isKnown {
            // The next commit looks at it again.
            return false
        } catch {
            throw .unreadable(file: self.list.path, reason: error.reason("reading its journal \(path.path)"))
        }
    }

    /// Whether a synchronization has failed, so that it is not known what is on the medium, or has to fail.
    var isDoubtful: Bool { isReadOnly || synchronized.withLock { $0.isDoubtful } }

    // MARK: Reading

    /// All records, or all but commits that a list in place has.
    func records(skippingStored skipsStored: Bool = false) throws(StorageError) -> JournalRecords {
        let records = try records(
            from: JournalHeader.size, after: header.chain, atOnce: FileSystemCalls.largestFileSize, skippingStored: skipsStored)
        guard let records else { throw .malformed(file: path.path, offset: 0, reason: "it does not start with the header of a journal") }
        return records
    }

    /// The records from an offset on; nil if the file ends before.
    ///
    /// - Parameters:
    ///   - chain: the checksum of the record before.
    ///   - count: how many bytes are read first, so that most zeros after the last record are not.
    ///   - status: the status of the file, if it was just looked at.
    func records(
        from offset: Int, after chain: UInt64, atOnce count: Int = JournalFormat.tail, skippingStored skipsStored: Bool = false,
        as status: FileStatus? = nil
    ) throws(StorageError) -> JournalRecords? {
        try reading(from: offset) { () throws(SystemError) in
            let size = Int(try look(status).identity.size)
            guard size >= offset else { return nil }
            let first = try calls.bytes(of: descriptor, at: offset, count: min(count, size - offset))
            let records = JournalRecords(first, from: offset, after: chain, skippingStored: skipsStored)
            if first.count == size - offset || records.end < offset + first.count && !records.hasRemainder { return records }
            return JournalRecords(try calls.bytes(of: descriptor, at: offset, count: size - offset), from: offset, after: chain)
        }
    }

    /// Whether the file reaches to an offset, no record begins there, and no other file has replaced it.
    func isEnd(_ offset: Int) throws(StorageError) -> Bool {
        try reading(from: offset) { () throws(SystemError) in try endsInPlace(at: offset) }
    }

    private func endsInPlace(at offset: Int) throws(SystemError) -> Bool {
        // Another file that replaces it takes its name.
        let status = try look()
        let count = min(JournalFormat.Record.body, Int(status.identity.size) - offset)
        guard status.links > 0, count >= 0 else { return false }
        return try calls.bytes(of: descriptor, at: offset, count: count).withUnsafeBytes(\.isZero)
    }

    /// The status of the file, unless that is too large to be read.
    private func look(_ found: FileStatus? = nil) throws(SystemError) -> FileStatus {
        let status = if let found { found } else { try calls.untimedStatus(of: descriptor) }
        guard status.identity.size <= FileSystemCalls.largestFileSize else { throw SystemError(EFBIG) }
        size.store(Int(status.identity.size), ordering: .relaxed)
        return status
    }

    private func reading<Result>(from offset: Int, _ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch let error where error.code == EFBIG {
            throw .malformed(file: path.path, offset: offset, reason: "it is too large to be read")
        } catch {
            throw .unreadable(file: list.path, reason: "\(error.reason) (reading its journal \(path.path))")
        }
    }

    // MARK: Writing

    /// Runs a closure unless another writer has appended anything after an offset, or has replaced the file, which none can do meanwhile.
    ///
    /// Called under the lock of the list. If another writer holds a different lock file, because one was removed, only one of them writes:
    /// each locks the journal itself as well.
    ///
    /// - Parameter requiresLock: whether nothing is done while another program has the journal locked, which is waited for once. The next
    ///   commit makes another journal then, as that may be a writer in the middle of a record.
    /// - Returns: what the closure returns; false if another writer was faster, so that the journal has to be looked at again.
    func exclusively(
        after end: Int, requiresLock: Bool = false, _ body: () throws(SystemError) -> Bool
    ) throws(SystemError) -> Bool {
        try isKeptByOthers.withLock { isKeptByOthers throws(SystemError) in
            let isLocked = calls.tryLock(descriptor, pauses: isKeptByOthers ? 0 : FileSystemCalls.pausesForWriters)
            isKeptByOthers = !isLocked
            defer { if isLocked { calls.releaseLock(descriptor) } }
            if !isLocked, requiresLock {
                synchronized.withLock { $0.isDoubtful = true }
                return false
            }
            guard try endsInPlace(at: end) else { return false }
            return try body()
        }
    }

    /// Writes records at the end; if that fails, the file has none of them.
    ///
    /// - Returns: false if another writer was faster; see ``exclusively(after:requiresLock:_:)``.
    func append(_ bytes: Data, at end: Int) throws(StorageError) -> Bool {
        try calls.writing(list.path, "writing its journal \(path.path)") { () throws(SystemError) in
            try exclusively(after: end, requiresLock: true) { () throws(SystemError) in
                if size.load(ordering: .relaxed) >= end + bytes.count {
                    try write(bytes, at: end)
                } else {
                    try grow(with: bytes, at: end)
                }
                // A writer with another lock file has made another journal if this took longer than it waits.
                return try look().links > 0
            }
        }
    }

    /// Makes room for later records as well, if the disk has it.
    private func grow(with bytes: Data, at end: Int) throws(SystemError) {
        do throws(SystemError) {
            try write(bytes + Data(count: JournalFormat.room), at: end)
        } catch {
            try write(bytes, at: end)
        }
    }

    private func write(_ bytes: Data, at end: Int) throws(SystemError) {
        do throws(SystemError) {
            try calls.writeAll(bytes, to: descriptor, at: end)
        } catch {
            // What remains is not a valid record. The room that there was before is kept, because a full disk would not give it again.
            let kept = max(end, size.load(ordering: .relaxed))
            let zeros = Data(count: min(kept - end, bytes.count))
            let isCleared = calls.ifPossible { () throws(SystemError) in try calls.writeAll(zeros, to: descriptor, at: end) } != nil
            calls.ifPossible { () throws(SystemError) in try calls.truncate(descriptor, isCleared ? kept : end) }
            throw error
        }
    }

    /// Whether the records up to an offset are known to be on the medium.
    func isSynchronized(to end: Int) -> Bool {
        synchronized.withLock { $0.end >= end && $0.name && !$0.isDoubtful }
    }

    /// Waits until the records up to an offset are on the medium.
    ///
    /// Each process does this for itself: the system joins the synchronizations that wait at the same time (one process takes 92 us for
    /// each, four together 46), and telling each other what is durable takes longer than that saves.
    ///
    /// - Parameter durable: an offset up to which they were, according to a process that had synchronized them.
    func synchronize(to end: Int, durableTo durable: Int) throws(StorageError) {
        if isSynchronized(to: end) { return }
        do throws(SystemError) {
            let isMadeByOthers = !synchronized.withLock { $0.name }
            if isMadeByOthers {
                // The system reports a failure to those who have the file open, and then considers lost bytes written. Who opens it later
                // writes them again, or else records could be durable that follow a lost one.
                try calls.writeAll(try calls.bytes(of: descriptor, at: durable, count: end - durable), to: descriptor, at: durable)
            }
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronizeData(descriptor) }
            if isMadeByOthers {
                // The process that renamed it may have been killed before it did this.
                try calls.synchronizeFolder(of: path)
            }
            synchronized.withLock { $0 = (max($0.end, end), true, $0.isDoubtful) }
        } catch {
            synchronized.withLock { $0.isDoubtful = true }
            throw .unwritable(file: list.path, reason: "\(error.reason) (synchronizing its journal \(path.path))", edits: .notDurable)
        }
    }
}
