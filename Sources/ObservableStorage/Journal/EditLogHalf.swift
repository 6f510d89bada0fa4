import PropertyListCoding
import Synchronization

/// One half of an edit log in memory: plain pointers, because every edit goes through here.
struct EditLogHalf {
    private typealias Record = EditLogFormat.Record

    private let start: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer
    // The offset of the half from the start of the first one.
    private let base: Int
    // Where the next record is added.
    private var position: UnsafeMutableRawPointer
    private var seed = FoldedHash(seed: 0)
    /// The sequences of the first and of the last record; 0 if there is none.
    private(set) var first: UInt64 = 0
    private(set) var last: UInt64 = 0

    /// - Parameters:
    ///   - start: the beginning of the first half.
    ///   - number: 0 or 1.
    ///   - size: a multiple of 8.
    init(in start: UnsafeMutableRawPointer, number: Int, size: Int) {
        base = number * size
        (self.start, position, end) = (start + base, start + base, start + base + size)
    }

    var number: Int { base == 0 ? 0 : 1 }

    /// The size of the records.
    var used: Int { position - start }

    /// Empties the half; the records in it have wrong checksums from then on.
    mutating func begin(store: UInt64, turn: UInt64) {
        (position, first, last) = (start, 0, 0)
        seed = EditLogFormat.checksumSeed(store: store, turn: turn)
    }

    /// Adds a record; returns false if there is no room.
    ///
    /// - Parameter size: the size of the edits, exactly as the closure writes them.
    @inline(__always)
    mutating func append(sequence: UInt64, count: Int, size: Int, _ write: (inout LogWriter) -> Void) -> Bool {
        let length = (Record.edits + size + 7) & ~7
        guard length <= end - position else { return false }
        // Clears the padding; the other bytes are overwritten.
        position.storeBytes(of: 0, toByteOffset: length - 8, as: UInt64.self)
        position.storeBytes(of: sequence, toByteOffset: Record.sequence, as: UInt64.self)
        position.storeBytes(of: UInt32(truncatingIfNeeded: count), toByteOffset: Record.count, as: UInt32.self)
        var writer = LogWriter(at: position + Record.edits)
        write(&writer)
        precondition(writer.position == position + Record.edits + size, "an edit has another size than was announced")
        finish(length, sequence)
        return true
    }

    @inline(__always)
    private mutating func finish(_ length: Int, _ sequence: UInt64) {
        let checksum = EditLogFormat.checksum(position, length: length, offset: base + used, seed: seed)
        position.storeBytes(of: checksum, toByteOffset: Record.checksum, as: UInt64.self)
        atomicMemoryFence(ordering: .releasing)
        position.storeBytes(of: UInt64(truncatingIfNeeded: length), toByteOffset: Record.length, as: UInt64.self)
        position += length
        if first == 0 { first = sequence }
        last = sequence
    }

    /// Copies the records after a sequence to another half; returns false if it has no room for all of them, or if they have been changed
    /// since they were added.
    func copyRecords(after sequence: UInt64, to other: inout EditLogHalf) -> Bool {
        var record = start
        while record < position {
            // Other processes can write this memory: each number is read once, and only the copy of a record is used.
            let length = Int(truncatingIfNeeded: record.load(fromByteOffset: Record.length, as: UInt64.self))
            guard length >= Record.edits, length.isMultiple(of: 8), length <= position - record, length <= other.end - other.position else {
                return false
            }
            let expected = record.load(fromByteOffset: Record.checksum, as: UInt64.self)
            let copy = other.position
            (copy + Record.sequence).copyMemory(from: record + Record.sequence, byteCount: length - Record.sequence)
            guard EditLogFormat.checksum(copy, length: length, offset: base + (record - start), seed: seed) == expected else {
                return false
            }
            let found = copy.load(fromByteOffset: Record.sequence, as: UInt64.self)
            if found > sequence { other.finish(length, found) }
            record += length
        }
        return true
    }
}
