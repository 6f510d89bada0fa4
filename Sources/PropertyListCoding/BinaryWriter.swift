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
    private var offsets: [Int] = []
    private var containers: [Container] = []
    private var references: [UInt32] = []
    private var pending: [Pending] = []
    private var leaves: ObjectTable
    private var entries = EntryBytes()
    private let hash = ByteHash()
    private var units = 0

    /// Encodes the value.
    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = try BinaryWriter(of: value, longestShared: .max)
        if writer.units > Bounds.units(forInput: writer.output.count) {
            // A reader would take so much sharing for an attack; shorter texts are paid for by their references.
            writer = try BinaryWriter(of: value, longestShared: Bounds.freelyShared)
        }
        return writer.output.data()
    }

    private init(of value: PropertyListValue, longestShared: Int) throws(PropertyListError) {
        self.longestShared = longestShared
        // Roughly what it will take: memory that grows by doubling costs as much as all the rest.
        let count = value.childCount
        output = ByteSink(capacity: 1024 + count * 64)
        leaves = ObjectTable(capacity: count * 2)
        offsets.reserveCapacity(count * 3)
        references.reserveCapacity(count * 3)
        output.append("bplist00")
        try collect(value)
        finish()
    }
}

extension BinaryWriter {
    private struct Container {
        let object: Int
        let isDictionary: Bool
        /// Its part of the references: keys first, if it has any, then values.
        let references: Range<Int>
    }

    /// A container that an object stands for already, and of which the children are to be written.
    private struct Pending {
        let value: PropertyListValue
        let object: Int
        let depth: Int
    }

    private mutating func collect(_ root: PropertyListValue) throws(PropertyListError) {
        _ = try object(for: root, depth: 1)
        while let container = pending.popLast() {
            let first = references.count
            let depth = container.depth + 1
            switch container.value {
            case .array(let elements):
                for element in elements { refer(to: try object(for: element, depth: depth)) }
            case .dictionary(let entries):
                self.entries.take(entries)
                for position in 0..<entries.count { refer(to: key(at: position)) }
                for position in 0..<entries.count { refer(to: try value(at: position, depth: depth)) }
            default: break
            }
            containers.append(
                Container(object: container.object, isDictionary: container.value.isDictionary, references: first..<references.count))
        }
    }

    private mutating func refer(to object: Int) {
        references.append(UInt32(object))
    }

    private mutating func object(for value: PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        if value.isContainer { return try container(value, depth: depth) }
        let start = output.count
        output.put(leaf: value)
        let bytes = output.bytes(from: start)
        guard let known = known(bytes, hash: hash(of: bytes)) else {
            offsets.append(start)
            return offsets.count - 1
        }
        output.removeAll(from: start)
        return known
    }

    private mutating func value(at position: Int, depth: Int) throws(PropertyListError) -> Int {
        let leaf = entries.leaf(at: position)
        if leaf.bytes.isEmpty { return try object(for: entries.value(at: position), depth: depth) }
        return object(of: leaf.bytes, hash: leaf.hash)
    }

    private mutating func key(at position: Int) -> Int {
        let key = entries.key(at: position)
        return object(of: key.bytes, hash: key.hash)
    }

    /// Writes a leaf that is encoded already, if no other has its bytes.
    @inline(__always)
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
    private mutating func container(_ value: PropertyListValue, depth: Int) throws(PropertyListError) -> Int {
        guard depth <= Bounds.depth else { throw Bounds.tooDeep(at: nil) }
        units = units.saturatingSum(1)
        let object = offsets.count
        offsets.append(0)
        pending.append(Pending(value: value, object: object, depth: depth))
        return object
    }

    private mutating func finish() {
        let referenceSize = UInt64(offsets.count).fewestBytes
        for container in containers {
            offsets[container.object] = output.count
            let count = container.references.count
            output.put(marker: container.isDictionary ? 0xD0 : 0xA0, count: container.isDictionary ? count / 2 : count)
            for reference in references[container.references] {
                output.append(UInt64(reference), size: referenceSize)
            }
        }
        let table = output.count
        let offsetSize = UInt64(table).fewestBytes
        for offset in offsets {
            output.append(UInt64(offset), size: offsetSize)
        }
        output.append(0, size: 6)
        output.append(UInt8(offsetSize))
        output.append(UInt8(referenceSize))
        output.append(UInt64(offsets.count), size: 8)
        output.append(0, size: 8)
        output.append(UInt64(table), size: 8)
    }
}
