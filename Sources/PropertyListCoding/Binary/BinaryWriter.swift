import FoundationSubset

/// Writes a binary property list: `bplist00`.
///
/// Leaves are written as they are visited, equal ones once; containers follow, when the size of a reference is known.
struct BinaryWriter: ~Copyable {
    /// The size up to which text or data is written once and shared.
    private let maximumSharedSize: Int
    private var output: OutputBuffer
    /// The offset at which each object begins; those of containers are set at the end.
    private var offsets: ScratchArray<Int>
    /// The containers whose children are written, with their range of the references: keys first, if there are any, then values.
    private var containers: [(object: Int, isDictionary: Bool, references: Range<Int>)] = []
    private var references: ScratchArray<UInt32>
    /// The containers whose children are still to be written.
    private var pending: [(value: PropertyListValue, object: Int, depth: Int)] = []
    private var leaves: LeafTable
    private var entries: EncodedEntries
    private let hash = LeafHash()
    private var cost = 0

    /// Encodes a value; if it is a dictionary, with edits of its entries.
    static func write(_ value: PropertyListValue, with edits: [String: PropertyListValue?] = [:]) throws(PropertyListError) -> Data {
        var writer = try BinaryWriter(of: value, with: edits, maximumSharedSize: .max)
        if writer.cost > DecodingLimits.maximumCost(forInput: writer.output.count) {
            // Readers reject so much sharing; references to shorter texts cover the cost of these.
            writer = try BinaryWriter(of: value, with: edits, maximumSharedSize: DecodingLimits.freelySharedSize)
        }
        return writer.output.data()
    }

    private init(
        of value: PropertyListValue, with edits: [String: PropertyListValue?], maximumSharedSize: Int
    ) throws(PropertyListError) {
        self.maximumSharedSize = maximumSharedSize
        // Estimated, because growing by doubling would double the time.
        let count = value.childCount + edits.count
        let entryCount = value.isDictionary ? count : 0
        output = OutputBuffer(capacity: 1024 + count * 64)
        let arena = ScratchArena(
            size: LeafTable.scratchSize(for: count * 2) + EncodedEntries.scratchSize(for: entryCount)
                + ScratchArena.size(of: Int.self, count: count * 3) + ScratchArena.size(of: UInt32.self, count: count * 3))
        leaves = LeafTable(capacity: count * 2, in: arena)
        entries = EncodedEntries(capacity: entryCount, in: arena, hash: hash)
        offsets = ScratchArray(capacity: count * 3, in: arena)
        references = ScratchArray(capacity: count * 3, in: arena)
        output.append("bplist00")
        try writeLeaves(of: value, with: edits)
        writeContainers()
        let table = output.count
        output.append(offsets.elements, size: UInt64(table).minimumSize)
        output.appendTrailer(referenceSize: UInt64(offsets.count).minimumSize, objectCount: offsets.count, root: 0, table: table)
    }
}

extension BinaryWriter {
    private mutating func writeLeaves(of root: PropertyListValue, with edits: [String: PropertyListValue?]) throws(PropertyListError) {
        _ = try object(for: root, depth: 1)
        while let container = pending.popLast() {
            let start = references.count
            let depth = container.depth + 1
            switch container.value {
            case .array(let elements):
                for element in elements { references.append(UInt32(try object(for: element, depth: depth))) }
            case .dictionary(let dictionary):
                try writeEntries(of: dictionary, with: container.depth == 1 ? edits : [:], depth: depth)
            default: break
            }
            containers.append((container.object, container.value.isDictionary, start..<references.count))
        }
    }

    /// Writes the entries of a dictionary in the order of their keys.
    private mutating func writeEntries(
        of dictionary: [String: PropertyListValue], with edits: [String: PropertyListValue?], depth: Int
    ) throws(PropertyListError) {
        entries.encode(dictionary, with: edits)
        let (keys, values) = (references.count, references.count + entries.count)
        references.append(repeating: 0, count: entries.count * 2)
        for position in 0..<entries.count {
            let entry = entries[position]
            let (key, value) = entry.isDeferred ? try objects(forDeferred: entry, depth: depth) : objects(for: entry)
            references[keys + position] = UInt32(key)
            references[values + position] = UInt32(value)
        }
    }

    private mutating func object(for value: borrowing PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        if value.isContainer { return try object(forContainer: copy value, depth: depth) }
        let start = output.count
        let hash = output.append(leaf: value, hash)
        guard let known = known(output.bytes(from: start, to: output.count), hash: hash) else {
            offsets.append(start)
            return offsets.count - 1
        }
        output.truncate(to: start)
        return known
    }

    private mutating func object(forContainer value: consuming PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        guard depth <= DecodingLimits.depth else { throw .tooDeep(at: nil) }
        cost = cost.saturatingSum(1)
        let object = offsets.count
        offsets.append(0)
        pending.append((value, object, depth))
        return object
    }

    private mutating func objects(
        forDeferred entry: EncodedEntries.Entry, depth: Int
    ) throws(PropertyListError) -> (key: Int, value: Int) {
        let key = object(for: entries.bytes(from: entry.start, to: entry.middle), hash: entry.keyHash)
        let value = entries.takeValue(of: entry)
        return (key, value.isContainer ? try object(forContainer: value, depth: depth) : try object(for: value, depth: depth))
    }

    /// Writes an encoded key and its value, unless there are equal objects.
    @inline(__always)
    private mutating func objects(for entry: EncodedEntries.Entry) -> (key: Int, value: Int) {
        let value = entries.bytes(from: entry.middle, to: entry.end)
        if let key = known(entries.bytes(from: entry.start, to: entry.middle), hash: entry.keyHash) {
            return (key, object(for: value, hash: entry.valueHash))
        }
        let key = offsets.count
        offsets.append(output.count)
        // Most values are new as well, and one copy costs less than two.
        output.append(entries.bytes(from: entry.start, to: entry.end))
        let start = output.count - value.count
        if let known = known(value, hash: entry.valueHash) {
            output.truncate(to: start)
            return (key, known)
        }
        offsets.append(start)
        return (key, key + 1)
    }

    /// Writes an encoded leaf, unless there is an equal object.
    private mutating func object(for bytes: UnsafeRawBufferPointer, hash: UInt32) -> Int {
        if let known = known(bytes, hash: hash) { return known }
        offsets.append(output.count)
        output.append(bytes)
        return offsets.count - 1
    }

    // Inlined: see BinaryLeaves, binary.write 1.08.
    /// Counts a leaf, and returns the object with its bytes; if there is none, records the next object for them and returns nil.
    @inline(__always)
    private mutating func known(_ bytes: UnsafeRawBufferPointer, hash: UInt32) -> Int? {
        // UTF-16 grows by half when a reader converts it to UTF-8.
        let size = bytes[0] >> 4 == 6 ? bytes.count.saturatingSum(bytes.count / 2) : bytes.count
        cost = cost.saturatingSum(DecodingLimits.cost(ofLeafSize: size))
        guard size <= maximumSharedSize else { return nil }
        guard hash != 0 else { return known(long: bytes) }
        return leaves.find(bytes, hash: hash, in: output.bytes, offsets: offsets, orAdd: offsets.count)
    }

    /// Finds a leaf that was not hashed: the first one of a size needs no hash, others are compared with it.
    ///
    /// With the hash of all leaves, peers.libplist.binary.write.data takes 1.5 times as long.
    private mutating func known(long bytes: UnsafeRawBufferPointer) -> Int? {
        let sizeHash = hash(of: UInt64(bytes.count), marker: bytes[0])
        guard let first = leaves.find(hash: sizeHash, orAdd: offsets.count, where: { _ in true }) else { return nil }
        if bytes.isRepeated(in: output.bytes, at: offsets[first]) { return first }
        let wholeHash = hash.whole(of: bytes, marker: bytes[0])
        return leaves.find(bytes, hash: wholeHash, in: output.bytes, offsets: offsets, orAdd: offsets.count)
    }

    private mutating func writeContainers() {
        let referenceSize = UInt64(offsets.count).minimumSize
        for (object, isDictionary, range) in containers {
            offsets[object] = output.count
            output.append(marker: isDictionary ? 0xD0 : 0xA0, count: isDictionary ? range.count / 2 : range.count)
            output.append(references.elements[range], size: referenceSize)
        }
    }
}

extension OutputBuffer {
    /// Appends the last 32 bytes of a binary property list.
    mutating func appendTrailer(referenceSize: Int, objectCount: Int, root: Int, table: Int) {
        append(0, size: 6)
        append(UInt8(UInt64(table).minimumSize))
        append(UInt8(referenceSize))
        append(UInt64(objectCount), size: 8)
        append(UInt64(root), size: 8)
        append(UInt64(table), size: 8)
    }
}
