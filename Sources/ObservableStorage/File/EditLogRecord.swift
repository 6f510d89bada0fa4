import FoundationSubset
import PropertyListCoding
import Synchronization

/// An edit of an entry, or of a value inside its dictionary, as an edit log contains it.
struct LoggedEdit: Sendable, Equatable {
    let key: String
    /// The path of the value inside the entry's dictionary; empty for an edit of the whole entry.
    var path: [String] = []
    /// The fingerprint of the value that was replaced.
    var over: UInt64
    /// The value that was set; nil for a removal.
    let value: PropertyListValue?
    /// The revision of the store in which the edit was made.
    var sequence: UInt64
}

/// The layout of an edit log; the article Durability describes it byte by byte.
enum EditLogFormat {
    /// The header page.
    enum Header {
        static let size = 4_096
        /// `plEDIT01`, in which the digits are the version.
        static let magic: UInt64 = 0x3130_5449_4445_6c70
        static let magicOffset = 0
        static let store = 8
        static let turns = (16, 32)
        static let halfSize = 24
        /// Edits up to this sequence are in the property list.
        static let committed = 40
        /// Identifies the run of the system in which the log was made.
        static let boot = 48
        /// The inode number and the modification time of the property list in which the committed edits are.
        static let listInode = 56
        static let listTime = 64
    }

    /// The fixed part of a record.
    enum Record {
        static let length = 0
        static let checksum = 8
        static let sequence = 16
        static let count = 24
        static let edits = 28
    }

    /// The types of values.
    enum Tag: UInt8 {
        case removal, string, signed, unsigned, real, no, yes, date, data, array, dictionary, uid
    }

    /// Whether a file is a log of another version, which only a library that knows it may replay or remove.
    static func isOtherVersion(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= Header.size else { return false }
        let magic = bytes.loadUnaligned(as: UInt64.self)
        return magic != Header.magic && withUnsafeBytes(of: magic) { $0.starts(with: "plEDIT".utf8) }
    }

    /// How deep a value may be nested, and its path; a deeper one is not logged, because reading it could exhaust a small stack.
    static let depth = 128
    /// The size of a half and that of a file, at most.
    static let smallestHalf = 64 << 10
    static let largestSize = 64 << 20
    /// Up to this size, a half is made larger than is needed for the edits that are not stored.
    static let largestGrownHalf = 4 << 20

    /// The checksum of a record, apart from the field with its length.
    ///
    /// It is different at any other offset, and before the half was last emptied.
    static func checksum(_ record: UnsafeRawPointer, length: Int, store: UInt64, turn: UInt64, offset: Int) -> UInt64 {
        var hash = FoldedHash(seed: store)
        hash.combine(turn)
        hash.combine(UInt64(truncatingIfNeeded: offset))
        hash.combine(UInt64(truncatingIfNeeded: length))
        var position = Record.sequence
        while position < length {
            hash.combine(record.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        return hash.value
    }
}

/// A hash that is the same in every process: each word is mixed in by a multiplication whose halves are folded.
struct FoldedHash {
    private(set) var value: UInt64

    init(seed: UInt64) {
        value = seed ^ 0x9e37_79b9_7f4a_7c15
    }

    @inline(__always)
    mutating func combine(_ word: UInt64) {
        let product = (value ^ word ^ 0x2d35_8dcc_aa6c_78a5).multipliedFullWidth(by: 0x8bb8_4b93_962e_acc9)
        value = product.high ^ product.low
    }

    mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        combine(UInt64(bytes.count))
        var position = 0
        while position + 8 <= bytes.count {
            combine(bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
        }
        guard position < bytes.count else { return }
        var rest: UInt64 = 0
        while position < bytes.count {
            rest = rest << 8 | UInt64(bytes[position])
            position += 1
        }
        combine(rest)
    }
}

extension String {
    /// The bytes of the text.
    @inline(__always)
    fileprivate func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        if let result = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return result }
        return Array(utf8).withUnsafeBytes(body)
    }
}

extension PropertyListValue? {
    /// A number that equal values have in every process, and different ones hardly ever; 0 for none.
    var fingerprint: UInt64 {
        guard let self else { return 0 }
        return self.fingerprint(depth: 0)
    }
}

extension PropertyListValue {
    fileprivate func fingerprint(depth: Int) -> UInt64 {
        var hash = FoldedHash(seed: 0)
        switch self {
        case .string(let text):
            hash.combine(1)
            text.withBytes { hash.combine($0) }
        case .integer(let number):
            hash.combine(number.value(as: Int64.self) == nil ? 3 : 2)
            hash.combine(number.value(as: UInt64.self) ?? UInt64(bitPattern: number.value(as: Int64.self) ?? 0))
        case .real(let number):
            hash.combine(4)
            hash.combine(number.bitPattern)
        case .boolean(let isTrue): hash.combine(isTrue ? 6 : 5)
        case .date(let date):
            hash.combine(7)
            hash.combine(date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data):
            hash.combine(8)
            data.withUnsafeBytes { hash.combine($0) }
        case .array(let elements):
            hash.combine(9)
            hash.combine(UInt64(elements.count))
            guard depth < EditLogFormat.depth else { break }
            for element in elements { hash.combine(element.fingerprint(depth: depth + 1)) }
        case .dictionary(let entries):
            hash.combine(10)
            hash.combine(UInt64(entries.count))
            guard depth < EditLogFormat.depth else { break }
            // Equal dictionaries may differ in order.
            var sum: UInt64 = 0
            for (key, value) in entries {
                var entry = FoldedHash(seed: 1)
                key.withBytes { entry.combine($0) }
                entry.combine(value.fingerprint(depth: depth + 1))
                sum &+= entry.value
            }
            hash.combine(sum)
        case .uid(let number):
            hash.combine(11)
            hash.combine(number)
        }
        return max(hash.value, 1)
    }
}

// MARK: - Writing

/// Writes the edits of a record straight into memory, as far as there is room.
struct EditLogWriter {
    private(set) var position: UnsafeMutableRawPointer
    private let end: UnsafeMutableRawPointer
    private(set) var isFull = false
    /// Whether a value was nested too deep.
    private(set) var isTooDeep = false

    init(at start: UnsafeMutableRawPointer, end: UnsafeMutableRawPointer) {
        position = start
        self.end = end
        isFull = start > end
    }

    /// Writes an edit.
    @inline(__always)
    mutating func write(key: String, path: [String], over: UInt64, value: PropertyListValue?) {
        put(over)
        put(key)
        guard path.count <= EditLogFormat.depth else { return isTooDeep = true }
        put(UInt32(truncatingIfNeeded: path.count))
        for step in path { put(step) }
        guard let value else { return put(EditLogFormat.Tag.removal.rawValue) }
        put(value, depth: 0)
    }

    @inline(__always)
    private mutating func put<Number: FixedWidthInteger>(_ number: Number) {
        guard !isFull, end - position >= MemoryLayout<Number>.size else { return isFull = true }
        position.storeBytes(of: number, as: Number.self)
        position += MemoryLayout<Number>.size
    }

    private mutating func put(_ tag: EditLogFormat.Tag) {
        put(tag.rawValue)
    }

    private mutating func put(_ text: String) {
        text.withBytes { put($0) }
    }

    private mutating func put(_ bytes: UnsafeRawBufferPointer) {
        guard !isFull, end - position >= bytes.count + 4, bytes.count <= EditLogFormat.largestSize else { return isFull = true }
        put(UInt32(bytes.count))
        if let start = bytes.baseAddress { position.copyMemory(from: start, byteCount: bytes.count) }
        position += bytes.count
    }

    private mutating func put(_ value: PropertyListValue, depth: Int) {
        guard depth <= EditLogFormat.depth else { return isTooDeep = true }
        switch value {
        case .integer(let number):
            if let signed = number.value(as: Int64.self) {
                put(.signed)
                put(signed)
            } else {
                put(.unsigned)
                put(number.value(as: UInt64.self) ?? 0)
            }
        case .string(let text):
            put(.string)
            put(text)
        case .real(let number):
            put(.real)
            put(number.bitPattern)
        case .boolean(let isTrue): put(isTrue ? .yes : .no)
        case .date(let date):
            put(.date)
            put(date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data):
            put(.data)
            data.withUnsafeBytes { put($0) }
        case .array(let elements):
            put(.array)
            put(UInt32(truncatingIfNeeded: elements.count))
            for element in elements where !isFull && !isTooDeep { put(element, depth: depth + 1) }
        case .dictionary(let entries):
            put(.dictionary)
            put(UInt32(truncatingIfNeeded: entries.count))
            for (key, value) in entries where !isFull && !isTooDeep {
                put(key)
                put(value, depth: depth + 1)
            }
        case .uid(let number):
            put(.uid)
            put(number)
        }
    }
}
