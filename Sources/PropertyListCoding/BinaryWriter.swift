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
        case .array(let elements):
            return container(.array(elements))
        case .dictionary(let entries):
            return container(.dictionary(entries.inByteOrder))
        default:
            return (leaf(value), nil)
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
                references[slot] = self.key(key)
                slot += 1
            }
        }
        return (number, Frame(children: children, slot: slot))
    }

    private mutating func leaf(_ value: PropertyListValue) -> Int {
        units = units.saturatingSum(Bounds.units(ofLeaf: value.leafSize ?? 0))
        return share((value.leafSize ?? 0) <= longestShared) { writer in
            switch value {
            case .string(let string): writer.put(string)
            case .integer(let integer): writer.put(integer)
            case .real(let real): writer.put(0x23, real.bitPattern)
            case .boolean(let boolean): writer.output.append(boolean ? 0x09 : 0x08)
            case .date(let date): writer.put(0x33, date.timeIntervalSinceReferenceDate.bitPattern)
            case .data(let data): writer.put(data)
            case .uid(let uid): writer.put(uid: uid)
            case .array, .dictionary: preconditionFailure("a container is not a leaf")
            }
        }
    }

    private mutating func key(_ key: String) -> Int {
        let size = key.utf8.count
        units = units.saturatingSum(Bounds.units(ofLeaf: size))
        return share(size <= longestShared) { $0.put(key) }
    }

    /// Writes a leaf, and takes it back if the same one was written before.
    private mutating func share(_ isShared: Bool, _ write: (inout BinaryWriter) -> Void) -> Int {
        let start = output.count
        let object = offsets.count
        write(&self)
        if isShared, let known = leaves.find(bytesFrom: start, of: output, offsets: offsets, orAdd: object) {
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
