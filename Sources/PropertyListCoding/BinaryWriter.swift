import Foundation

/// Writes a binary property list: `bplist00`.
///
/// Leaves are written as they are met; containers behind them, once it is known how wide a reference has to be.
/// Equal texts, data, booleans and small numbers are written once.
struct BinaryWriter {
    /// The longest text or data that is written once and referred to.
    private let longestShared: Int
    var output: [UInt8] = Array("bplist00".utf8)
    /// Where each object begins; containers get theirs at the end.
    private var offsets: [Int] = []
    private var containers: [Container] = []
    private var references: [Int] = []
    private var strings: [ExactString: Int] = [:]
    private var data: [ExactData: Int] = [:]
    private var smallNumbers = [Int](repeating: -1, count: 256)
    private var booleans = (no: -1, yes: -1)
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
        let values: [PropertyListValue]
        /// Where the reference of the next value goes.
        var slot: Int
        var next = 0
    }

    private mutating func collect(_ root: PropertyListValue) throws(PropertyListError) {
        guard var frame = object(root).frame else { return }
        var parents: [Frame] = []
        while true {
            if frame.next < frame.values.count {
                let (object, child) = object(frame.values[frame.next])
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
        case .array(let values):
            units = units.saturatingSum(1)
            return container(keys: [], values, isDictionary: false)
        case .dictionary(let entries):
            units = units.saturatingSum(1)
            let (keys, values) = entries.inByteOrder
            return container(keys: keys, values, isDictionary: true)
        default:
            return (leaf(value), nil)
        }
    }

    private mutating func container(keys: [String], _ values: [PropertyListValue], isDictionary: Bool) -> (number: Int, frame: Frame?) {
        let number = offsets.count
        offsets.append(0)
        let start = references.count
        references.append(contentsOf: repeatElement(0, count: keys.count + values.count))
        containers.append(Container(object: number, isDictionary: isDictionary, references: start..<references.count))
        for (index, key) in keys.enumerated() {
            references[start + index] = string(key)
        }
        return (number, Frame(values: values, slot: start + keys.count))
    }

    private mutating func leaf(_ value: PropertyListValue) -> Int {
        switch value {
        case .string(let string):
            return self.string(string)
        case .data(let data):
            return self.data(data)
        case .boolean(let boolean):
            units = units.saturatingSum(1)
            let known = boolean ? booleans.yes : booleans.no
            if known >= 0 { return known }
            let number = begin()
            if boolean { booleans.yes = number } else { booleans.no = number }
            output.append(boolean ? 0x09 : 0x08)
            return number
        case .integer(let integer):
            units = units.saturatingSum(1)
            let small: UInt8? = integer.value()
            if let small, smallNumbers[Int(small)] >= 0 { return smallNumbers[Int(small)] }
            let number = begin()
            if let small { smallNumbers[Int(small)] = number }
            put(integer)
            return number
        case .real(let real):
            return scalar(0x23, real.bitPattern)
        case .date(let date):
            return scalar(0x33, date.timeIntervalSinceReferenceDate.bitPattern)
        case .uid(let uid):
            let size = uid.fewestBytes
            return scalar(0x80 | UInt8(size - 1), uid, size: size)
        case .array, .dictionary:
            preconditionFailure("a container is not a leaf")
        }
    }

    private mutating func begin() -> Int {
        offsets.append(output.count)
        return offsets.count - 1
    }

    private mutating func scalar(_ marker: UInt8, _ bits: UInt64, size: Int = 8) -> Int {
        units = units.saturatingSum(1)
        let number = begin()
        output.append(marker)
        put(bits, size: size)
        return number
    }

    private mutating func string(_ string: String) -> Int {
        let size = string.utf8.count
        units = units.saturatingSum(Bounds.units(ofLeaf: size))
        if size <= longestShared {
            let key = ExactString(string: string)
            if let known = strings[key] { return known }
            strings[key] = offsets.count
        }
        let number = begin()
        put(string)
        return number
    }

    private mutating func data(_ data: Data) -> Int {
        units = units.saturatingSum(Bounds.units(ofLeaf: data.count))
        if data.count <= longestShared {
            let key = ExactData(data: data)
            if let known = self.data[key] { return known }
            self.data[key] = offsets.count
        }
        let number = begin()
        put(marker: 0x40, count: data.count)
        output.append(contentsOf: data)
        return number
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
