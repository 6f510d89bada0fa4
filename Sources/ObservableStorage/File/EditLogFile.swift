import FoundationSubset
import Synchronization

/// The edit log of one open store: a mapped file to which every edit is added before `set` returns, so that it outlives the process.
///
/// While the file is locked, its owner lives. One half of it is filled; when that is full and all edits of the other half are in the list,
/// the other one is emptied and filled.
final class EditLogFile: @unchecked Sendable {
    // Sendable because everything that changes is used only under the lock of the store that made it, and otherwise before the store has it.

    /// The paths of the logs of this process, which need not be locked in order to know that their owners live.
    static let living = Lock<Set<String>>([])

    private typealias Header = EditLogFormat.Header
    private typealias Record = EditLogFormat.Record

    /// The property list to which the edits belong.
    let list: ResolvedPath
    let halfSize: Int
    private let path: String
    private let calls: FileSystemCalls
    private let descriptor: Int32
    private let inode: UInt64
    private let start: UnsafeMutableRawPointer
    private let store: UInt64
    private let forks = FileLock.forks

    private var half = 0
    private var offset = 0
    private var lastTurn: UInt64 = 0
    private var turn: UInt64 = 0
    // The last sequence in each half.
    private var last: [UInt64] = [0, 0]
    private var committed: UInt64 = 0
    private var isClosed = false
    /// Whether a value that was not added since the last commit is nested too deep.
    private(set) var isTooDeep = false

    /// Prepares a file that was just reserved, locked and mapped; ``publish()`` makes it count.
    init(
        of list: ResolvedPath, at path: String, descriptor: Int32, inode: UInt64, start: UnsafeMutableRawPointer, halfSize: Int,
        store: UInt64, over identity: FileIdentity?, calls: FileSystemCalls
    ) {
        (self.list, self.path, self.descriptor, self.start) = (list, path, descriptor, start)
        (self.halfSize, self.store, self.calls, self.inode) = (halfSize, store, calls, inode)
        put(store, at: Header.store)
        put(UInt64(halfSize), at: Header.halfSize)
        put(bootIdentifier, at: Header.boot)
        note(identity)
        begin(0)
        Self.living.withLock { _ = $0.insert(path) }
    }

    deinit {
        close()
    }

    /// Makes the file count as an edit log, with what was added before.
    func publish() {
        atomicMemoryFence(ordering: .releasing)
        put(Header.magic, at: Header.magicOffset)
    }

    /// Adds one record; returns false if there is no room for it, or a value is nested too deep.
    ///
    /// - Parameters:
    ///   - sequence: the revision of the store with the edits; not less than that of the record before.
    ///   - write: writes the edits; it may run twice.
    @inline(__always)
    func append(sequence: UInt64, count: Int, _ write: (inout EditLogWriter) -> Void) -> Bool {
        // A forked child has no mapping, and writes nothing.
        guard FileLock.forks == forks else { return true }
        if appendToHalf(sequence, count, write) { return true }
        guard !isTooDeep, last[1 - half] <= committed else { return false }
        begin(1 - half)
        return appendToHalf(sequence, count, write)
    }

    @inline(__always)
    private func appendToHalf(_ sequence: UInt64, _ count: Int, _ write: (inout EditLogWriter) -> Void) -> Bool {
        let place = half * halfSize + offset
        let record = start + Header.size + place
        let end = start + Header.size + (half + 1) * halfSize
        guard end - record > Record.edits else { return false }
        var writer = EditLogWriter(at: record + Record.edits, end: end)
        write(&writer)
        if writer.isTooDeep { isTooDeep = true }
        guard !writer.isFull, !writer.isTooDeep else { return false }
        let used = writer.position - record
        // Halves are multiples of 8, so that the padding has room.
        let length = (used + 7) & ~7
        for position in used..<length { record.storeBytes(of: 0, toByteOffset: position, as: UInt8.self) }
        record.storeBytes(of: 0, toByteOffset: Record.length + 4, as: UInt32.self)
        record.storeBytes(of: sequence, toByteOffset: Record.sequence, as: UInt64.self)
        record.storeBytes(of: UInt32(count), toByteOffset: Record.count, as: UInt32.self)
        let checksum = EditLogFormat.checksum(record, length: length, store: store, turn: turn, offset: place)
        record.storeBytes(of: checksum, toByteOffset: Record.checksum, as: UInt64.self)
        atomicMemoryFence(ordering: .releasing)
        record.storeBytes(of: UInt32(length), toByteOffset: Record.length, as: UInt32.self)
        offset += length
        last[half] = sequence
        return true
    }

    /// Records that the edits up to a sequence are in the list, and empties the file if it has no others.
    func noteCommitted(upTo sequence: UInt64, in identity: FileIdentity?) {
        guard FileLock.forks == forks, sequence > committed || identity != nil else { return }
        note(identity)
        isTooDeep = false
        committed = max(committed, sequence)
        put(committed, at: Header.committed)
        if offset > 0, max(last[0], last[1]) <= committed { begin(half) }
    }

    /// Whether the file is at its path. If another process has removed or moved it, nobody replays it.
    var isInPlace: Bool {
        do throws(SystemError) {
            return try calls.status(at: path)?.identity.inode == inode
        } catch {
            return false
        }
    }

    /// The edits that are not known to be in the list.
    var edits: [LoggedEdit] {
        guard FileLock.forks == forks else { return [] }
        return EditLogContent(UnsafeRawBufferPointer(start: start, count: Header.size + 2 * halfSize))?.edits ?? []
    }

    /// Removes the file, and its folder if that is empty then. The edits in it do not count any longer.
    func remove() {
        guard !isClosed, FileLock.forks == forks else { return }
        calls.discardFile(path)
        close()
        calls.removeIfEmpty(list.editLogs.path)
    }

    /// Unlocks the file: its edits are made by whoever opens the list next.
    private func close() {
        guard !isClosed else { return }
        isClosed = true
        Self.living.withLock { _ = $0.remove(path) }
        // A forked child has closed its descriptor, and has no mapping.
        guard FileLock.forks == forks else { return }
        calls.unmap(start, Header.size + 2 * halfSize)
        FileLock.release(descriptor, calls: calls)
    }

    /// Empties a half and fills it from now on.
    private func begin(_ half: Int) {
        lastTurn += 1
        (self.half, offset, turn) = (half, 0, lastTurn)
        last[half] = 0
        put(turn, at: half == 0 ? Header.turns.0 : Header.turns.1)
    }

    private func note(_ identity: FileIdentity?) {
        guard let identity else { return }
        put(identity.inode, at: Header.listInode)
        put(UInt64(bitPattern: identity.modified), at: Header.listTime)
    }

    private func put(_ word: UInt64, at offset: Int) {
        start.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
    }
}
