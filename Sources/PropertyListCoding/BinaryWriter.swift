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
    private var references: [Int] = []
    private var leaves: ObjectTable
    private var keys = KeyOrder()
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
        leaves = ObjectTable(capacity: count * 3)
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

    /// A container whose values are being collected.
    private struct Frame {
        let children: Children
        /// Where the reference of the next value goes.
        var slot: Int
        var next = 0
    }

    private mutating func collect(_ root: PropertyListValue) throws(PropertyListError) {
        guard root.isContainer else {
            _ = leaf(root)
            return
        }
        var parents: [Frame] = []
        var frame = open(root)
        while true {
            if frame.next < frame.children.count {
                let value = frame.children[frame.next]
                let slot = frame.slot
                frame.slot += 1
                frame.next += 1
                if value.isContainer {
                    guard parents.count + 1 < Bounds.depth else { throw Bounds.tooDeep(at: nil) }
                    references[slot] = offsets.count
                    parents.append(frame)
                    frame = open(value)
                } else {
                    references[slot] = leaf(value)
                }
            } else if let parent = parents.popLast() {
                frame = parent
            } else {
                return
            }
        }
    }

    /// Gives a container an object and room for its references, and writes its keys.
    private mutating func open(_ container: PropertyListValue) -> Frame {
        units = units.saturatingSum(1)
        let children = children(of: container)
        let first = references.count
        let count = children.isDictionary ? children.count * 2 : children.count
        containers.append(Container(object: offsets.count, isDictionary: children.isDictionary, references: first..<first + count))
        offsets.append(0)
        references.append(contentsOf: repeatElement(0, count: count))
        guard children.isDictionary else { return Frame(children: children, slot: first) }
        for position in 0..<children.count { references[first + position] = key(at: position) }
        return Frame(children: children, slot: first + children.count)
    }

    private mutating func children(of container: PropertyListValue) -> Children {
        switch container {
        case .array(let elements): return .array(elements)
        case .dictionary(let entries):
            keys.sort(entries)
            return .dictionary(entries, order: keys.order)
        default: return .array([])
        }
    }

    private mutating func key(at position: Int) -> Int {
        let start = output.count
        let size = keys.withKey(at: position) { text in
            output.put(utf8: text)
            return text.count
        }
        return share(from: start, size: size)
    }

    private mutating func leaf(_ value: PropertyListValue) -> Int {
        let start = output.count
        let size = output.put(leaf: value)
        return share(from: start, size: size)
    }

    /// Counts the leaf that was just written, of so many bytes of text or data, and takes it back if the same one was written before.
    private mutating func share(from start: Int, size: Int) -> Int {
        units = units.saturatingSum(Bounds.units(ofLeaf: size))
        let object = offsets.count
        if size <= longestShared, let known = leaves.find(bytesFrom: start, of: output.bytes, offsets: offsets, orAdd: object) {
            output.removeAll(from: start)
            return known
        }
        offsets.append(start)
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
