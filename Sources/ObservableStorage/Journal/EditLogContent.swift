import FoundationSubset
import PropertyListCoding

/// The content of an edit log, read from arbitrary bytes.
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
    /// The records that were damaged after they were added, whose edits are not known to be in the list: their offsets in the file, and how
    /// many of the other edits are before them.
    private(set) var damages: [(offset: Int, index: Int)] = []

    /// Drops the edits if one of the other logs replaces this one.
    mutating func drop(ifReplacedBy others: Set<UInt64>) {
        if others.contains(store) { (edits, damages) = ([], []) }
    }

    /// The edits between damaged records.
    var parts: [ArraySlice<LoggedEdit>] {
        let indices = damages.map(\.index).sorted()
        return zip([0] + indices, indices + [edits.count]).map { edits[$0..<$1] }
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
        damages += Self.read(halves.0, store, turn: word(Header.turns.0), at: 0, after: committed, to: &found)
        let count = found.count
        damages += Self.read(halves.1, store, turn: word(Header.turns.1), at: halfSize, after: committed, to: &found)
        // The half that was filled first has the smaller sequences.
        let isSwapped = count < found.count && found[count].sequence < found[0].sequence
        edits = isSwapped ? Array(found[count...] + found[..<count]) : found
        if isSwapped { damages = damages.map { ($0.offset, ($0.index + found.count - count) % found.count) } }
    }

    /// Adds the edits of a half after a sequence to others; returns the damaged records with such edits, or with ones that may be such.
    private static func read(
        _ half: UnsafeRawBufferPointer, _ store: UInt64, turn: UInt64, at base: Int, after committed: UInt64, to found: inout [LoggedEdit]
    ) -> [(offset: Int, index: Int)] {
        guard turn != 0 else { return [] }
        let records = EditLogRecords(half, base: base, seed: EditLogFormat.checksumSeed(store: store, turn: turn))
        var (offset, last, damages) = (0, UInt64(0), [(offset: Int, index: Int)]())
        while true {
            let (start, before) = (offset, found.count)
            let isDamaged: Bool
            if let record = records.record(at: offset) {
                var reader = LogReader(record.edits)
                let isComplete = reader.read(count: record.count, sequence: record.sequence, to: &found)
                if !isComplete || record.sequence <= committed { found.removeSubrange(before...) }
                isDamaged = !isComplete && record.sequence > committed
                (offset, last) = (offset + record.length, record.sequence)
            } else if let next = records.firstRecord(from: offset + 8, after: last) {
                isDamaged = records.mayHaveEdits(at: offset, from: last, to: next.sequence, after: committed)
                offset = next.offset
            } else {
                return damages
            }
            if isDamaged { damages.append((EditLogFormat.Header.size + base + start, before)) }
        }
    }
}

/// The records in the bytes of a half. Their checksums distinguish them from those of earlier turns.
private struct EditLogRecords {
    private typealias Record = EditLogFormat.Record

    private let half: UnsafeRawBufferPointer
    private let base: Int
    private let seed: FoldedHash

    /// - Parameter base: the offset of the half from the start of the first one.
    init(_ half: UnsafeRawBufferPointer, base: Int, seed: FoldedHash) {
        (self.half, self.base, self.seed) = (half, base, seed)
    }

    private func word(_ offset: Int) -> UInt64 { half.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }

    /// The length of a record at an offset, according to its first word; nil if none can be there.
    private func length(at offset: Int) -> Int? {
        guard half.count - offset >= Record.edits, let length = Int(exactly: word(offset)), length >= Record.edits,
            length.isMultiple(of: 8), length <= half.count - offset
        else { return nil }
        return length
    }

    /// The record at an offset; nil if there is none, or it is not whole.
    func record(at offset: Int) -> (length: Int, sequence: UInt64, count: UInt32, edits: UnsafeRawBufferPointer)? {
        guard let length = length(at: offset), let start = half.baseAddress else { return nil }
        let checksum = EditLogFormat.checksum(start + offset, length: length, offset: base + offset, seed: seed)
        guard word(offset + Record.checksum) == checksum else { return nil }
        let edits = UnsafeRawBufferPointer(rebasing: half[(offset + Record.edits)..<(offset + length)])
        let count = half.loadUnaligned(fromByteOffset: offset + Record.count, as: UInt32.self)
        return (length, word(offset + Record.sequence), count, edits)
    }

    /// Whether edits after `committed` may be in what is damaged at an offset, after a record with the sequence `last` and before `next`.
    func mayHaveEdits(at offset: Int, from last: UInt64, to next: UInt64, after committed: UInt64) -> Bool {
        guard next > committed else { return false }
        // Several records may have the same sequence: that of the damaged one decides, unless it is damaged itself.
        let own = word(offset + Record.sequence)
        return next > committed + 1 || own > committed || own < max(last, 1)
    }

    /// The first whole record from an offset, after another one: it was added after what is between them, which is not whole any more.
    func firstRecord(from offset: Int, after last: UInt64) -> (offset: Int, sequence: UInt64)? {
        // Any bytes may look like the beginning of a long record.
        var rest = 4 * half.count
        for offset in stride(from: offset, to: half.count, by: 8) {
            guard let length = length(at: offset), word(offset + Record.sequence) >= last else { continue }
            rest -= length
            if rest < 0 { return nil }
            if let record = record(at: offset) { return (offset, record.sequence) }
        }
        return nil
    }
}

// MARK: - Reading a file

extension EditLogContent {
    // The number of bytes of a half that are read at once.
    private static let portion = 64 << 10

    /// Reads a log: of each half only the part that was used, however large the file is.
    ///
    /// - Parameters:
    ///   - header: the bytes of the header.
    ///   - size: the size of the file.
    /// - Returns: nil if the file is not an edit log.
    init?(_ descriptor: Int32, header: Data, size: Int, calls: FileSystemCalls) throws(SystemError) {
        typealias Header = EditLogFormat.Header
        guard let halfSize = header.withUnsafeBytes({ EditLogFormat.halfSize($0, of: size) }) else { return nil }
        let halves = (
            try Self.half(of: descriptor, at: Header.size, halfSize, calls),
            try Self.half(of: descriptor, at: Header.size + halfSize, halfSize, calls)
        )
        self = header.withUnsafeBytes { header in
            halves.0.withUnsafeBytes { first in
                halves.1.withUnsafeBytes { second in EditLogContent(header: header, (first, second), halfSize: halfSize) }
            }
        }
    }

    /// The bytes of a half up to the first portion that was not used.
    private static func half(of descriptor: Int32, at start: Int, _ size: Int, _ calls: FileSystemCalls) throws(SystemError) -> Data {
        var bytes = Data()
        // Where the next record begins, as far as the lengths tell: what follows a damaged one may be anywhere.
        var next = 0
        while bytes.count < size {
            let count = min(portion, size - bytes.count)
            let more = try calls.bytes(of: descriptor, at: start + bytes.count, count: count)
            if more.count < count || next <= bytes.count && !more.contains(where: { $0 != 0 }) { return bytes + more }
            bytes += more
            while next + 8 <= bytes.count {
                let length = bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: next, as: UInt64.self) }
                guard length >= EditLogFormat.Record.edits, length <= UInt64(size - next) else { break }
                next += Int(length)
            }
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
