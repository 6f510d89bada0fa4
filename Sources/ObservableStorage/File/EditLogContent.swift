import FoundationSubset
import PropertyListCoding

/// The content of an edit log, from whatever bytes its file has: edits up to the first record that is not whole.
struct EditLogContent: Sendable {
    /// Identifies the store that made the log.
    let store: UInt64
    /// The run of the system in which the log was made.
    let boot: UInt64
    /// The inode number and the modification time of the list in which the committed edits are.
    let list: (inode: UInt64, time: Int64)
    /// The log that this one replaces, if it has replaced one: its edits are in this one.
    let replaced: UInt64
    /// The edits that were not known to be in the list, in the order in which they were made.
    private(set) var edits: [LoggedEdit]

    /// Whether another log has the edits of this one.
    mutating func drop(ifReplacedBy others: Set<UInt64>) {
        if others.contains(store) { edits = [] }
    }

    /// - Returns: nil if the bytes are not those of an edit log.
    init?(_ bytes: UnsafeRawBufferPointer) {
        typealias Header = EditLogFormat.Header
        guard bytes.count >= Header.size else { return nil }
        func word(_ offset: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        guard word(Header.magicOffset) == Header.magic, let halfSize = Int(exactly: word(Header.halfSize)), halfSize >= 0,
            halfSize <= EditLogFormat.largestSize, halfSize.isMultiple(of: 8), Header.size + 2 * halfSize <= bytes.count
        else { return nil }
        let store = word(Header.store)
        self.store = store
        boot = word(Header.boot)
        replaced = word(Header.replaced)
        list = (word(Header.listInode), Int64(bitPattern: word(Header.listTime)))
        let committed = word(Header.committed)
        let halves = [Header.turns.0, Header.turns.1].enumerated().map { half, turn in
            let start = Header.size + half * halfSize
            return Self.edits(UnsafeRawBufferPointer(rebasing: bytes[start..<start + halfSize]), store, turn: word(turn), half: half)
        }
        let (first, second) = (halves[0], halves[1])
        // The half that was filled first is the one with the smaller numbers.
        let isSwapped = (second.first?.sequence ?? .max) < (first.first?.sequence ?? .max)
        edits = (isSwapped ? second + first : first + second).filter { $0.sequence > committed }
    }

    private static func edits(_ half: UnsafeRawBufferPointer, _ store: UInt64, turn: UInt64, half number: Int) -> [LoggedEdit] {
        typealias Record = EditLogFormat.Record
        var found: [LoggedEdit] = []
        var offset = 0
        guard turn != 0, let start = half.baseAddress else { return [] }
        let seed = EditLogFormat.checksumSeed(store: store, turn: turn)
        while half.count - offset >= Record.edits {
            guard let length = Int(exactly: half.loadUnaligned(fromByteOffset: offset, as: UInt64.self)), length >= Record.edits,
                length.isMultiple(of: 8), length <= half.count - offset
            else { break }
            let record = start + offset
            let place = number * half.count + offset
            let checksum = EditLogFormat.checksum(record, length: length, offset: place, seed: seed)
            guard record.loadUnaligned(fromByteOffset: Record.checksum, as: UInt64.self) == checksum else { break }
            var reader = LogReader(UnsafeRawBufferPointer(start: record + Record.edits, count: length - Record.edits))
            let sequence = record.loadUnaligned(fromByteOffset: Record.sequence, as: UInt64.self)
            let count = record.loadUnaligned(fromByteOffset: Record.count, as: UInt32.self)
            guard let edits = reader.edits(count: Int(count), sequence: sequence) else { break }
            found += edits
            offset += length
        }
        return found
    }
}

extension LogReader {
    /// The edits; nil if they are not whole.
    fileprivate mutating func edits(count: Int, sequence: UInt64) -> [LoggedEdit]? {
        var edits: [LoggedEdit] = []
        for _ in 0..<count {
            guard let over = number(UInt64.self), let key = text(), let steps = number(UInt32.self), steps <= LogWriter.depth else {
                return nil
            }
            var path: [String] = []
            for _ in 0..<steps {
                guard let step = text() else { return nil }
                path.append(step)
            }
            guard let value = value() else { return nil }
            edits.append(LoggedEdit(key: key, path: path, over: over, value: value, sequence: sequence, isAlone: count == 1))
        }
        return edits
    }
}
