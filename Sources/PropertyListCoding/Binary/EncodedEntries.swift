import FoundationSubset

/// The entries of a dictionary as encoded leaves: encoded in memory order, read in key order.
///
/// Looking entries up in the dictionary in key order would cause a cache miss for each.
struct EncodedEntries: ~Copyable {
    /// A key and its value, one after the other.
    struct Entry: BitwiseCopyable {
        var start = 0
        var middle = 0
        var end = 0
        var keyHash: UInt32 = 0
        /// The hash of the value, or the index of a deferred one.
        var valueHash: UInt32 = 0

        /// Whether the value is not encoded yet, because it is a container, or long enough that copying it costs more than looking it up.
        var isDeferred: Bool { middle == end }
    }

    private var sorter: KeySorter
    private var bytes = OutputBuffer()
    private var entries: ScratchArray<Entry>
    private var deferred: [PropertyListValue] = []
    private let hash: LeafHash

    /// Reserves space in an arena for a number of entries; a dictionary may have more.
    init(capacity: Int, in arena: ScratchArena, hash: LeafHash) {
        sorter = KeySorter(capacity: capacity, in: arena)
        entries = ScratchArray(capacity: capacity, in: arena)
        self.hash = hash
    }

    static func scratchSize(for count: Int) -> Int {
        KeySorter.scratchSize(for: count) + ScratchArena.size(of: Entry.self, count: count)
    }

    var count: Int { entries.count }

    subscript(position: Int) -> Entry {
        entries[sorter[position]]
    }

    func bytes(from start: Int, to end: Int) -> UnsafeRawBufferPointer {
        bytes.bytes(from: start, to: end)
    }

    /// Moves out the value of a deferred entry.
    mutating func takeValue(of entry: Entry) -> PropertyListValue {
        var value = PropertyListValue.boolean(false)
        swap(&deferred[Int(entry.valueHash)], &value)
        return value
    }

    /// Encodes the entries of a dictionary with edits, and discards the previous ones.
    mutating func encode(_ dictionary: [String: PropertyListValue], with edits: [String: PropertyListValue?]) {
        let capacity = dictionary.count + edits.count
        sorter.removeAll(reserving: capacity)
        bytes.truncate(to: 0)
        bytes.reserve(capacity * 32)
        entries.removeAll()
        entries.reserve(capacity)
        deferred.removeAll(keepingCapacity: true)
        if edits.isEmpty {
            for (key, value) in dictionary { append(key, value) }
        } else {
            append(dictionary, with: edits)
        }
        sorter.sort(in: bytes.bytes)
    }

    /// Appends the entries with the edits, without copying the dictionary; an entry that is set keeps its key.
    private mutating func append(_ dictionary: [String: PropertyListValue], with edits: [String: PropertyListValue?]) {
        var replaced: [(index: Dictionary<String, PropertyListValue>.Index, value: PropertyListValue?)] = []
        for (key, value) in edits {
            if let index = dictionary.index(forKey: key) {
                replaced.append((index, value))
            } else if let value {
                append(key, value)
            }
        }
        replaced.sort { $0.index < $1.index }
        var next = dictionary.startIndex
        for (index, value) in replaced {
            for (key, value) in dictionary[next..<index] { append(key, value) }
            if let value { append(dictionary[index].key, value) }
            next = dictionary.index(after: index)
        }
        for (key, value) in dictionary[next...] { append(key, value) }
    }

    // Inlined: see BinaryLeaves, binary.write 1.08.
    @inline(__always)
    private mutating func append(_ key: String, _ value: consuming PropertyListValue) {
        var entry = Entry()
        key.withBytes { append(key: $0, to: &entry) }
        if value.isContainer || value.isLong {
            entry.valueHash = UInt32(deferred.count)
            deferred.append(consume value)
        } else {
            entry.valueHash = bytes.append(leaf: value, hash)
        }
        entry.end = bytes.count
        entries.append(entry)
    }

    @inline(__always)
    private mutating func append(key text: UnsafeRawBufferPointer, to entry: inout Entry) {
        // Keys are sorted by their UTF-8, which is part of an ASCII object and not of a UTF-16 one.
        let isASCII = text.isASCII
        if !isASCII { bytes.append(text) }
        entry.start = bytes.count
        entry.keyHash = bytes.append(utf8: text, isASCII: isASCII, hash)
        entry.middle = bytes.count
        sorter.append(from: (isASCII ? entry.middle : entry.start) - text.count, count: text.count)
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
