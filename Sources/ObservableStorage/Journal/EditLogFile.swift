import FoundationSubset
import PropertyListCoding
import Synchronization

/// The edit log of one open store: a mapped file to which every edit is added before `set` returns, so that the edit survives the process.
///
/// While the file is locked, its owner is alive. One half is filled at a time; when it is full and all edits of the other half are in the
/// list, the other half is emptied and filled.
final class EditLogFile: @unchecked Sendable {
    // Sendable because what changes is used only by its maker before the store has it, and then under the lock of the store.

    /// The paths of the logs of this process, whose owners are known to be alive without trying the lock, and how many were closed.
    static let living = Lock<(paths: Set<String>, closed: Int)>(([], 0))

    private typealias Header = EditLogFormat.Header

    /// The property list to which the edits belong.
    let list: ResolvedPath
    let halfSize: Int
    private let file: LockedFile
    private let start: UnsafeMutableRawPointer
    private let store: UInt64

    // The half that is being filled, and the one that was filled before. Used only under the store's lock, which ensures exclusivity: checks
    // at run time take 5 of the 30 ns that a log adds to an edit (`write.logged`).
    @exclusivity(unchecked) private var current: EditLogHalf
    @exclusivity(unchecked) private var other: EditLogHalf
    private var turn: UInt64 = 0
    private var committed: UInt64 = 0
    private var isClosed = false

    /// Prepares a file that was just reserved, locked and mapped; it is replayed only after ``publish(insteadOf:)``.
    init(
        of list: ResolvedPath, in file: LockedFile, start: UnsafeMutableRawPointer, halfSize: Int, store: UInt64,
        over identity: FileIdentity?
    ) {
        // Without its open folder: a process may have few descriptors.
        self.list = list.unopened
        (self.file, self.start, self.halfSize, self.store) = (file, start, halfSize, store)
        current = EditLogHalf(in: start + Header.size, number: 0, size: halfSize)
        other = EditLogHalf(in: start + Header.size, number: 1, size: halfSize)
        put(store, at: Header.store)
        put(UInt64(halfSize), at: Header.halfSize)
        put(file.calls.boot, at: Header.boot)
        recordList(identity)
        begin()
        Self.living.withLock { _ = $0.paths.insert(file.path) }
    }

    deinit {
        close()
    }

    /// Makes the file valid as an edit log, with everything that was added before, in place of another one, whose edits it contains.
    func publish(insteadOf old: EditLogFile? = nil) {
        markReplacing(old)
        atomicMemoryFence(ordering: .releasing)
        put(Header.magic, at: Header.magicOffset)
        // If the process is killed before this, both files remain, and this one says that it replaces the other one.
        if let old, old.isUsable { old.put(.max, at: Header.committed) }
    }

    /// Records that the file replaces another one, whose edits it contains.
    func markReplacing(_ old: EditLogFile?) {
        if let old { put(old.store, at: Header.replaced) }
    }

    /// Adds an edit of a whole entry; returns false if the current half has no room, or the value is nested too deep.
    ///
    /// - Parameter sequence: the revision of the store with the edit; not less than that of the record before.
    @inline(__always)
    func append(_ key: String, over: UInt64, _ value: PropertyListValue?, sequence: UInt64) -> Bool {
        // A forked child has no mapping, and writes nothing.
        guard !file.isForked else { return true }
        guard let size = LoggedEdit.size(key, value) else { return false }
        return current.append(sequence: sequence, count: 1, size: size) { $0.write(key: key, over: over, value: value) }
    }

    /// Adds edits that are replayed all or none; returns false if there is no room for them, or a value is nested too deep.
    func append(_ edits: [LoggedEdit], sequence: UInt64) -> Bool {
        guard !file.isForked else { return true }
        var size = 0
        for edit in edits {
            guard let added = edit.size else { return false }
            size += added
        }
        func add() -> Bool {
            current.append(sequence: sequence, count: edits.count, size: size) { writer in
                for edit in edits { writer.write(key: edit.key, path: edit.path, over: edit.over, value: edit.value) }
            }
        }
        if add() { return true }
        guard other.last <= committed else { return false }
        swap(&current, &other)
        begin()
        return add()
    }

    /// Copies the records that are not known to be in the list to an empty file; returns false if they do not fit into a half.
    func copyRecords(to empty: EditLogFile) -> Bool {
        guard !file.isForked else { return true }
        return other.copyRecords(after: committed, to: &empty.current) && current.copyRecords(after: committed, to: &empty.current)
    }

    /// An upper bound of the size of the records that are not known to be in the list.
    var uncommittedSize: Int {
        [other, current].reduce(0) { $0 + ($1.last > committed ? $1.used : 0) }
    }

    /// Whether edits fill a half before a commit ends: no edit of the other half is in the list.
    var isOutgrown: Bool {
        other.first > committed && halfSize < EditLogFormat.largestGrownHalf
    }

    /// Records that the edits up to a sequence are in the list, and empties the file if it has no others.
    func markCommitted(upTo sequence: UInt64, in identity: FileIdentity?) {
        guard !file.isForked, sequence > committed || identity != nil else { return }
        recordList(identity)
        committed = max(committed, sequence)
        put(committed, at: Header.committed)
        if current.used > 0, max(current.last, other.last) <= committed { begin() }
    }

    /// Whether the file is at its path. If another process has removed or moved it, nobody replays it.
    var isInPlace: Bool { file.isInPlace(ResolvedPath(splitting: file.path)) }

    /// The number of its data protection class; nil if the file system has no protection. Accesses no page of the file.
    var protectionClass: Int32? {
        isUsable ? file.calls.protectionClass(file.descriptor) : nil
    }

    /// The reason why the file may no longer be used, because its data protection or that of the list was changed; nil if it may.
    ///
    /// - Parameter own: the number of its own class.
    func protectionObjection(_ own: Int32, with list: ResolvedPath) -> StorageError? {
        // If that fails, it is checked again after the next commit.
        let other = file.calls.ifPossible { () throws(SystemError) in try file.calls.protectionClass(at: list) } ?? nil
        let objection = FileProtection.mappingObjection(toClass: own) ?? FileProtection.mappingObjection(toClass: other)
        return objection.map { .unwritable(file: list.path, reason: $0) }
    }

    /// The edits that are not known to be in the list; nil if their records have been changed since they were added.
    var uncommittedEdits: [LoggedEdit]? {
        guard !file.isForked else { return [] }
        let content = EditLogContent(UnsafeRawBufferPointer(start: start, count: Header.size + 2 * halfSize))
        guard let content, content.damages.isEmpty else { return nil }
        return content.edits.lazy.map(\.sequence).max() ?? committed == max(committed, current.last, other.last) ? content.edits : nil
    }

    /// Removes the file, and its folder if that is then empty. Its edits are not replayed any more.
    func remove() {
        guard isUsable else { return }
        let calls = file.calls
        do throws(SystemError) {
            let path = try calls.reopened(ResolvedPath(splitting: file.path))
            let isRemoved = file.isInPlace(path) && calls.discardFile(path)
            close(isRemoved: isRemoved)
            if isRemoved { calls.removeIfEmpty(try calls.reopened(list).editLogs) }
        } catch {
            // The file remains, and the next process that opens the list removes it.
            close()
        }
    }

    /// Unlocks the file: its edits are replayed by the next process that opens the list.
    private func close(isRemoved: Bool = false) {
        guard !isClosed else { return }
        isClosed = true
        Self.living.withLock { living in
            living.paths.remove(file.path)
            living.closed += 1
        }
        // A forked child has closed its descriptor, and has no mapping.
        guard !file.isForked else { return }
        file.calls.unmap(start, Header.size + 2 * halfSize)
        FileLock.release(file.descriptor, isRemoved: isRemoved, calls: file.calls)
    }

    private var isUsable: Bool { !isClosed && !file.isForked }

    /// Empties the current half.
    private func begin() {
        turn += 1
        current.begin(store: store, turn: turn)
        put(turn, at: current.number == 0 ? Header.turns.0 : Header.turns.1)
    }

    private func recordList(_ identity: FileIdentity?) {
        guard let identity else { return }
        put(identity.inode, at: Header.listInode)
        put(UInt64(bitPattern: identity.modified), at: Header.listTime)
    }

    private func put(_ word: UInt64, at offset: Int) {
        start.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
    }
}

/// An open file that this process has locked, until it is closed, or forked children have closed it.
struct LockedFile: Sendable {
    let path: String
    let descriptor: Int32
    let inode: UInt64
    let calls: FileSystemCalls
    private let forks = FileLock.forks

    init(path: String, descriptor: Int32, inode: UInt64, calls: FileSystemCalls) {
        (self.path, self.descriptor, self.inode, self.calls) = (path, descriptor, inode, calls)
    }

    /// Whether this is a child that was forked after the file was locked, which has closed its descriptor.
    @inline(__always)
    var isForked: Bool { FileLock.forks != forks }

    /// Whether the file is at its path, which is passed as resolved now.
    func isInPlace(_ path: ResolvedPath) -> Bool {
        calls.statusOrNil(at: path)?.identity.inode == inode
    }
}
