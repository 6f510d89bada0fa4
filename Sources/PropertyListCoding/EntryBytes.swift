import Foundation

/// The entries of a dictionary as encoded leaves: made in the order that they have in memory, taken in that of their keys.
///
/// To look them up in the order of the keys, and to hash each when its hash is needed, would be to wait for memory every time.
struct EntryBytes: ~Copyable {
    /// A key and its value, one behind the other.
    struct Entry: BitwiseCopyable {
        var start = 0
        var middle = 0
        var end = 0
        var keyHash: UInt32 = 0
        /// Of a value that is kept as it is, which of them it is.
        var valueHash: UInt32 = 0

        /// Whether the value is not here, because it is a container, or so long that to copy it would cost more than to look it up.
        var isKept: Bool { middle == end }
    }

    private var keys: KeyOrder
    private var bytes = ByteSink()
    private var entries: PlainList<Entry>
    private var kept: [PropertyListValue] = []
    private let hash: ByteHash

    /// Room for so many entries in the scratch memory.
    init(capacity: Int, in scratch: Scratch, hash: ByteHash) {
        keys = KeyOrder(capacity: capacity, in: scratch)
        entries = PlainList(capacity: capacity, in: scratch)
        self.hash = hash
    }

    static func scratchSize(for count: Int) -> Int {
        KeyOrder.scratchSize(for: count) + Scratch.size(of: Entry.self, count: count)
    }

    /// Takes the entries of a dictionary, and forgets those of the one before.
    mutating func take(_ dictionary: EditedEntries) {
        keys.removeAll(roomFor: dictionary.count)
        bytes.removeAll(from: 0)
        bytes.reserve(dictionary.count * 32)
        entries.removeAll()
        entries.reserve(dictionary.count)
        kept.removeAll(keepingCapacity: true)
        dictionary.forEach { key, value in append(key, value) }
        keys.sort(in: bytes.bytes)
    }

    @inline(__always)
    private mutating func append(_ key: String, _ value: consuming PropertyListValue) {
        var entry = Entry()
        key.withBytes { put(key: $0, &entry) }
        if value.isContainer || value.isLong {
            entry.valueHash = UInt32(kept.count)
            kept.append(consume value)
        } else {
            entry.valueHash = bytes.put(leaf: value, hash)
        }
        entry.end = bytes.count
        entries.append(entry)
    }

    @inline(__always)
    private mutating func put(key text: UnsafeRawBufferPointer, _ entry: inout Entry) {
        // Keys are sorted by their UTF-8, which stands in ASCII as it is and in UTF-16 does not.
        let isASCII = text.isASCII
        if !isASCII { bytes.append(text) }
        entry.start = bytes.count
        entry.keyHash = bytes.put(utf8: text, isASCII: isASCII, hash)
        entry.middle = bytes.count
        keys.append(from: (isASCII ? entry.middle : entry.start) - text.count, count: text.count)
    }

    /// The entry that comes at a position.
    @inline(__always)
    subscript(position: Int) -> Entry {
        entries[keys[position]]
    }

    /// Part of what is encoded.
    @inline(__always)
    func bytes(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        bytes.bytes(from: start, to: end)
    }

    /// Reads where an entry begins.
    @inline(__always)
    func fetch(_ entry: Entry) -> UInt32 {
        UInt32(bytes.bytes(from: entry.start, to: entry.middle)[0])
    }

    /// The value of an entry, where it is kept as it is; it is not kept any longer.
    mutating func takeValue(of entry: Entry) -> PropertyListValue {
        var value = PropertyListValue.boolean(false)
        swap(&kept[Int(entry.valueHash)], &value)
        return value
    }
}

extension PropertyListValue {
    fileprivate var isLong: Bool {
        switch self {
        case .string(let string): string.utf8.count > 4096
        case .data(let data): data.count > 4096
        default: false
        }
    }
}
