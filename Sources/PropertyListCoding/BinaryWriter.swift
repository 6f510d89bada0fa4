import Foundation

/// Writes a binary property list: `bplist00`.
///
/// Leaves are written as they are met; containers behind them, once it is known how wide a reference has to be.
/// Equal leaves are written once.
struct BinaryWriter: ~Copyable {
    /// The longest text or data that is written once and referred to.
    private let longestShared: Int
    var output: ByteSink
    /// Where each object begins; containers get theirs at the end.
    private var offsets: PlainList<Int>
    private var containers = PlainList<Container>()
    private var references: PlainList<UInt32>
    private var pending: [Pending] = []
    private var leaves: ObjectTable
    private var entries: EntryBytes
    private let hash = ByteHash()
    private var units = 0
    /// Of no use, but for it memory would not be read ahead.
    private var fetched: UInt32 = 0

    /// Encodes the value; if it is a dictionary, with edits of its entries.
    static func write(_ value: PropertyListValue, with edits: [String: PropertyListValue?] = [:]) throws(PropertyListError) -> Data {
        var writer = try BinaryWriter(of: value, with: edits, longestShared: .max)
        if writer.units > Bounds.units(forInput: writer.output.count) {
            // A reader would take so much sharing for an attack; shorter texts are paid for by their references.
            writer = try BinaryWriter(of: value, with: edits, longestShared: Bounds.freelyShared)
        }
        return writer.output.data()
    }

    private init(
        of value: PropertyListValue, with edits: [String: PropertyListValue?], longestShared: Int
    ) throws(PropertyListError) {
        self.longestShared = longestShared
        // Roughly what it will take: memory that grows by doubling costs as much as all the rest.
        let count = value.childCount + edits.count
        let entryCount = value.isDictionary ? count : 0
        output = ByteSink(capacity: 1024 + count * 64)
        let scratch = Scratch(
            size: ObjectTable.scratchSize(for: count * 2) + EntryBytes.scratchSize(for: entryCount)
                + Scratch.size(of: Int.self, count: count * 3) + Scratch.size(of: UInt32.self, count: count * 3))
        leaves = ObjectTable(capacity: count * 2, in: scratch)
        entries = EntryBytes(capacity: entryCount, in: scratch, hash: hash)
        offsets = PlainList(capacity: count * 3, in: scratch)
        references = PlainList(capacity: count * 3, in: scratch)
        output.append("bplist00")
        try collect(value, with: edits)
        finish()
    }
}

extension BinaryWriter {
    private struct Container: BitwiseCopyable {
        let object: Int
        let isDictionary: Bool
        /// Its part of the references: keys first, if it has any, then values.
        let start: Int
        let end: Int
    }

    /// A container that an object stands for already, and of which the children are to be written.
    private struct Pending {
        let value: PropertyListValue
        let object: Int
        let depth: Int
    }

    private mutating func collect(_ root: PropertyListValue, with edits: [String: PropertyListValue?]) throws(PropertyListError) {
        _ = try object(for: root, depth: 1)
        while let container = pending.popLast() {
            let start = references.count
            let depth = container.depth + 1
            switch container.value {
            case .array(let elements):
                for element in elements { references.append(UInt32(try object(for: element, depth: depth))) }
            case .dictionary(let dictionary):
                try collect(EditedEntries(dictionary, with: container.depth == 1 ? edits : [:]), depth: depth)
            default: break
            }
            containers.append(
                Container(
                    object: container.object, isDictionary: container.value.isDictionary, start: start, end: references.count))
        }
    }

    /// Writes the entries of a dictionary in the order of their keys.
    private mutating func collect(_ dictionary: EditedEntries, depth: Int) throws(PropertyListError) {
        let (keys, values) = (references.count, references.count + dictionary.count)
        references.append(repeating: 0, count: dictionary.count * 2)
        entries.take(dictionary)
        for position in 0..<dictionary.count {
            if position % Self.fetchedAtOnce == 0 { fetch(from: position, of: dictionary.count) }
            let entry = entries[position]
            let (key, value) = entry.isKept ? try objects(ofKept: entry, depth: depth) : objects(of: entry)
            references[keys + position] = UInt32(key)
            references[values + position] = UInt32(value)
        }
    }

    /// Reads what the next entries need, all of it at once: to wait for each of them would take as long as everything else.
    @inline(__always)
    private mutating func fetch(from position: Int, of count: Int) {
        for next in position..<min(position + Self.fetchedAtOnce, count) {
            let entry = entries[next]
            fetched &+= leaves.fetch(entry.keyHash) &+ leaves.fetch(entry.valueHash) &+ entries.fetch(entry)
        }
    }

    private static var fetchedAtOnce: Int { 16 }

    private mutating func object(for value: borrowing PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        if value.isContainer { return try container(copy value, depth: depth) }
        let start = output.count
        let hash = output.put(leaf: value, hash)
        guard let known = known(output.bytes(from: start), hash: hash) else {
            offsets.append(start)
            return offsets.count - 1
        }
        output.removeAll(from: start)
        return known
    }

    private mutating func objects(
        ofKept entry: EntryBytes.Entry, depth: Int
    ) throws(PropertyListError) -> (key: Int, value: Int) {
        let key = object(of: entries.bytes(from: entry.start, to: entry.middle), hash: entry.keyHash)
        let value = entries.takeValue(of: entry)
        return (key, value.isContainer ? try container(value, depth: depth) : try object(for: value, depth: depth))
    }

    /// Writes a key and its value, both of them encoded already, if no others have their bytes.
    @inline(__always)
    private mutating func objects(of entry: EntryBytes.Entry) -> (key: Int, value: Int) {
        let value = entries.bytes(from: entry.middle, to: entry.end)
        if let key = known(entries.bytes(from: entry.start, to: entry.middle), hash: entry.keyHash) {
            return (key, object(of: value, hash: entry.valueHash))
        }
        let key = offsets.count
        offsets.append(output.count)
        // Most values are new as well, and one copy costs less than two.
        output.append(entries.bytes(from: entry.start, to: entry.end))
        let start = output.count - value.count
        if let known = known(value, hash: entry.valueHash) {
            output.removeAll(from: start)
            return (key, known)
        }
        offsets.append(start)
        return (key, key + 1)
    }

    /// Writes a leaf that is encoded already, if no other has its bytes.
    private mutating func object(of bytes: UnsafeRawBufferPointer, hash: UInt32) -> Int {
        if let known = known(bytes, hash: hash) { return known }
        offsets.append(output.count)
        output.append(bytes)
        return offsets.count - 1
    }

    /// Counts a leaf, and finds the object that has its bytes already, or notes that the next one has them.
    @inline(__always)
    private mutating func known(_ bytes: UnsafeRawBufferPointer, hash: UInt32) -> Int? {
        // UTF-16 grows by half when a reader makes UTF-8 of it.
        let size = bytes[0] >> 4 == 6 ? bytes.count.saturatingSum(bytes.count / 2) : bytes.count
        units = units.saturatingSum(Bounds.units(ofLeaf: size))
        guard size <= longestShared else { return nil }
        return leaves.find(bytes, hash: hash, in: output.bytes, offsets: offsets, orAdd: offsets.count)
    }

    /// Gives a container, which stands at a depth, an object.
    private mutating func container(_ value: consuming PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        guard depth <= Bounds.depth else { throw Bounds.tooDeep(at: nil) }
        units = units.saturatingSum(1)
        let object = offsets.count
        offsets.append(0)
        pending.append(Pending(value: value, object: object, depth: depth))
        return object
    }

    private mutating func finish() {
        let referenceSize = UInt64(offsets.count).fewestBytes
        for container in containers.elements {
            offsets[container.object] = output.count
            let count = container.end - container.start
            output.put(marker: container.isDictionary ? 0xD0 : 0xA0, count: container.isDictionary ? count / 2 : count)
            output.append(references.elements[container.start..<container.end], count: count, size: referenceSize)
        }
        let table = output.count
        let offsetSize = UInt64(table).fewestBytes
        output.append(offsets.elements, count: offsets.count, size: offsetSize)
        output.append(0, size: 6)
        output.append(UInt8(offsetSize))
        output.append(UInt8(referenceSize))
        output.append(UInt64(offsets.count), size: 8)
        output.append(0, size: 8)
        output.append(UInt64(table), size: 8)
    }
}
