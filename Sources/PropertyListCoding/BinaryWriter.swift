import Foundation

/// Writes a binary property list: `bplist00`.
///
/// Leaves are written as they are met; containers behind them, once it is known how wide a reference has to be.
/// Equal leaves are written once.
struct BinaryWriter {
    /// The longest text or data that is written once and referred to.
    private let longestShared: Int
    var output: [UInt8] = Array("bplist00".utf8)
    /// Where each object begins; containers get theirs at the end.
    private var offsets: [Int] = []
    private var containers: [Container] = []
    private var references: [Int] = []
    private var leaves = ObjectTable()
    private var units = 0

    /// Encodes the value.
    static func write(_ value: PropertyListValue) throws(PropertyListError) -> Data {
        var writer = BinaryWriter(longestShared: .max)
        try writer.collect(value)
        writer.finish()
        if writer.units > Bounds.units(forInput: writer.output.count) {
            // A reader would take so much sharing for an attack; shorter texts are paid for by their references.
            writer = BinaryWriter(longestShared: Bounds.freelyShared)
            try writer.collect(value)
            writer.finish()
        }
        return Data(writer.output)
    }

    private init(longestShared: Int) {
        self.longestShared = longestShared
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
        guard var frame = object(root).frame else { return }
        var parents: [Frame] = []
        while true {
            if frame.next < frame.children.count {
                let (object, child) = object(frame.children[frame.next])
                references[frame.slot] = object
                frame.slot += 1
                frame.next += 1
                if let child {
                    guard parents.count + 1 < Bounds.depth else { throw Bounds.tooDeep(at: nil) }
                    parents.append(frame)
                    frame = child
                }
            } else if let parent = parents.popLast() {
                frame = parent
            } else {
                return
            }
        }
    }

    /// Gives the value an object, and a frame if it is a container.
    private mutating func object(_ value: PropertyListValue) -> (number: Int, frame: Frame?) {
        switch value {
        case .array(let elements): container(.array(elements))
        case .dictionary(let entries): container(.dictionary(entries.inByteOrder))
        case .string(let string): (leaf(size: string.utf8.count) { $0.put(string) }, nil)
        case .integer(let integer): (leaf { $0.put(integer) }, nil)
        case .real(let real): (leaf { $0.put(0x23, real.bitPattern) }, nil)
        case .boolean(let boolean): (leaf { $0.output.append(boolean ? 0x09 : 0x08) }, nil)
        case .date(let date): (leaf { $0.put(0x33, date.timeIntervalSinceReferenceDate.bitPattern) }, nil)
        case .data(let data): (leaf(size: data.count) { $0.put(data) }, nil)
        case .uid(let uid): (leaf { $0.put(uid: uid) }, nil)
        }
    }

    private mutating func container(_ children: Children) -> (number: Int, frame: Frame?) {
        units = units.saturatingSum(1)
        let number = offsets.count
        offsets.append(0)
        var slot = references.count
        references.append(contentsOf: repeatElement(0, count: children.isDictionary ? children.count * 2 : children.count))
        containers.append(Container(object: number, isDictionary: children.isDictionary, references: slot..<references.count))
        if case .dictionary(let entries) = children {
            for (key, _) in entries {
                references[slot] = leaf(size: key.utf8.count) { $0.put(key) }
                slot += 1
            }
        }
        return (number, Frame(children: children, slot: slot))
    }

    /// Writes a leaf of so many bytes of text or data, and takes it back if the same one was written before.
    private mutating func leaf(size: Int = 0, write: (inout BinaryWriter) -> Void) -> Int {
        units = units.saturatingSum(Bounds.units(ofLeaf: size))
        let start = output.count
        let object = offsets.count
        write(&self)
        if size <= longestShared, let known = leaves.find(bytesFrom: start, of: output, offsets: offsets, orAdd: object) {
            output.removeLast(output.count - start)
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
            put(marker: container.isDictionary ? 0xD0 : 0xA0, count: container.isDictionary ? count / 2 : count)
            for reference in references[container.references] {
                put(UInt64(reference), size: referenceSize)
            }
        }
        let table = output.count
        let offsetSize = UInt64(table).fewestBytes
        for offset in offsets {
            put(UInt64(offset), size: offsetSize)
        }
        output.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)])
        put(UInt64(offsets.count), size: 8)
        put(0, size: 8)
        put(UInt64(table), size: 8)
    }
}
