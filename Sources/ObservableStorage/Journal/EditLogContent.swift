import FoundationSubset
import PropertyListCoding

/// The content of an edit log, read from arbitrary bytes: the edits up to the first incomplete record.
struct EditLogContent: Sendable {
    /// Identifies the store that made the log.
    let store: UInt64
    /// The run of the system in which the log was made.
    let boot: UInt64
    /// The inode number and the modification time of the list with the committed edits.
    let list: (inode: UInt64, time: Int64)
    /// The store number of the log that this one replaces, and whose edits it contains; 0 if there is none.
    let replaced: UInt64
    /// The edits that were not known to be in the list, in their order.
    private(set) var edits: [LoggedEdit]

    /// Drops the edits if one of the other logs replaces this one.
    mutating func drop(ifReplacedBy others: Set<UInt64>) {
        if others.contains(store) { edits = [] }
    }

    /// - Returns: nil if the bytes are not those of an edit log.
    init?(_ bytes: UnsafeRawBufferPointer) {
        typealias Header = EditLogFormat.Header
        guard let halfSize = EditLogFormat.halfSize(bytes, of: bytes.count) else { return nil }
        func half(_ number: Int) -> UnsafeRawBufferPointer {
            let start = Header.size + number * halfSize
            return UnsafeRawBufferPointer(rebasing: bytes[start..<start + halfSize])
        }
        self.init(header: bytes, (half(0), half(1)), halfSize: halfSize)
    }

    /// - Parameters:
    ///   - header: the bytes of the header, whose half size was checked.
    ///   - halves: the bytes of the halves, at least up to the end of their records.
    private init(header bytes: UnsafeRawBufferPointer, _ halves: (UnsafeRawBufferPointer, UnsafeRawBufferPointer), halfSize: Int) {
        typealias Header = EditLogFormat.Header
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        let store = word(Header.store)
        self.store = store
        boot = word(Header.boot)
        replaced = word(Header.replaced)
        list = (word(Header.listInode), Int64(bitPattern: word(Header.listTime)))
        let committed = word(Header.committed)
        // In one array: they may be a hundred thousand.
        var found: [LoggedEdit] = []
        Self.read(halves.0, store, turn: word(Header.turns.0), at: 0, after: committed, to: &found)
        let count = found.count
        Self.read(halves.1, store, turn: word(Header.turns.1), at: halfSize, after: committed, to: &found)
        // The half that was filled first has the smaller sequences.
        let isSwapped = count < found.count && found[count].sequence < found[0].sequence
        edits = isSwapped ? Array(found[count...] + found[..<count]) : found
    }

    /// Adds the edits of a half after a sequence to others.
    private static func read(
        _ half: UnsafeRawBufferPointer, _ store: UInt64, turn: UInt64, at base: Int, after committed: UInt64, to found: inout [LoggedEdit]
    ) {
        typealias Record = EditLogFormat.Record
        var offset = 0
        guard turn != 0, let start = half.baseAddress else { return }
        let seed = EditLogFormat.checksumSeed(store: store, turn: turn)
        while half.count - offset >= Record.edits {
            guard let length = Int(exactly: half.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), length >= Record.edits,
                length.isMultiple(of: 8), length <= half.count - offset
            else { break }
            let record = start + offset
            let checksum = EditLogFormat.checksum(record, length: length, offset: base + offset, seed: seed)
            guard record.loadUnaligned(fromByteOffset: Record.checksum, as: UInt64.self) == checksum else { break }
            var reader = LogReader(UnsafeRawBufferPointer(start: record + Record.edits, count: length - Record.edits))
            let sequence = record.loadUnaligned(fromByteOffset: Record.sequence, as: UInt64.self)
            let count = record.loadUnaligned(fromByteOffset: Record.count, as: UInt32.self)
            let before = found.count
            let isComplete = reader.read(count: count, sequence: sequence, to: &found)
            if !isComplete || sequence <= committed { found.removeSubrange(before...) }
            if !isComplete { break }
            offset += length
        }
    }
}

// MARK: - Reading a file

extension EditLogContent {
    // The number of bytes of a half that are read at once, unless a record is longer.
    private static let portion = 64 << 10

    /// Reads a log: of each half only the part with records, however large the file is.
    ///
    /// - Parameters:
    ///   - header: the bytes of the header.
    ///   - size: the size of the file.
    /// - Returns: nil if the file is not an edit log.
    init?(_ descriptor: Int32, header: Data, size: Int, calls: FileSystemCalls) throws(SystemError) {
        guard let halfSize = header.withUnsafeBytes({ EditLogFormat.halfSize($0, of: size) }) else { return nil }
        let start = EditLogFormat.Header.size
        let first = try Self.records(of: descriptor, at: start, limit: halfSize, calls)
        let second = try Self.records(of: descriptor, at: start + halfSize, limit: halfSize, calls)
        self = header.withUnsafeBytes { header in
            first.withUnsafeBytes { first in
                second.withUnsafeBytes { second in EditLogContent(header: header, (first, second), halfSize: halfSize) }
            }
        }
    }

    private static func records(of descriptor: Int32, at start: Int, limit: Int, _ calls: FileSystemCalls) throws(SystemError) -> Data {
        var bytes = Data()
        // Where the next record begins.
        var next: Int? = 0
        while let needed = next, bytes.count < limit {
            let count = min(max(needed - bytes.count, portion), limit - bytes.count)
            let more = try calls.bytes(of: descriptor, at: start + bytes.count, count: count)
            bytes += more
            if more.count < count { break }
            next = bytes.withUnsafeBytes { EditLogFormat.nextRecord($0, after: needed, limit: limit) }
        }
        return bytes
    }
}

extension EditLogFormat {
    /// The size of each half of a log; nil if the bytes are not the beginning of a log, or it is larger than the file.
    fileprivate static func halfSize(_ bytes: UnsafeRawBufferPointer, of fileSize: Int) -> Int? {
        guard bytes.count >= Header.size else { return nil }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard word(Header.magicOffset) == Header.magic, let halfSize = Int(exactly: word(Header.halfSize)), halfSize >= 0,
            halfSize <= largestHalf, halfSize.isMultiple(of: 8), Header.size + 2 * halfSize <= fileSize
        else { return nil }
        return halfSize
    }

    /// The offset of the first record that is incomplete in the first bytes of a half; nil if there is none.
    fileprivate static func nextRecord(_ bytes: UnsafeRawBufferPointer, after offset: Int, limit: Int) -> Int? {
        var offset = offset
        while bytes.count - offset >= Record.edits {
            let length = Int(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            guard length >= Record.edits, length.isMultiple(of: 8), length <= limit - offset else { return nil }
            offset += length
        }
        return offset
    }
}

extension LogReader {
    /// Adds edits to others; returns false if they are incomplete.
    fileprivate mutating func read(count: UInt32, sequence: UInt64, to edits: inout [LoggedEdit]) -> Bool {
        for _ in 0..<count {
            guard let over = number(UInt64.self), let key = text(), let path = path(), let value = value() else { return false }
            edits.append(LoggedEdit(key: key, path: path, over: over, value: value, sequence: sequence, isAlone: count == 1))
        }
        return true
    }
}
