import Foundation
import PropertyListCoding
import Testing

@Suite("Decoding limits", .timeLimit(.minutes(10))) struct DecodingLimitsTests {
    @Test("512 levels are written and read, 513 are rejected by reader and writer", arguments: PropertyListFormat.allCases)
    func depth(format: PropertyListFormat) throws {
        let deepest = nested(512)
        #expect(try PropertyListValue.decode(deepest.encoded(as: format)).value == deepest)
        try deepest.validate()
        let tooDeep = nested(513)
        #expect(throws: PropertyListError.self) { try tooDeep.encoded(as: format) }
        #expect(throws: PropertyListError.self) { try tooDeep.validate() }
    }

    @Test("Bytes that nest 513 levels are an error at the offset of the last level")
    func deepBytes() throws {
        func xml(_ depth: Int) -> Data {
            Data((String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)).utf8)
        }
        func binary(_ depth: Int) -> Data {
            var list = BinaryList(objects: (1..<depth).map { [0xA1] + BinaryList.bytes(UInt64($0), 2) } + [[0xA0]])
            list.referenceSize = 2
            list.offsetSize = 2
            return list.data
        }
        _ = try PropertyListValue.decode(xml(512))
        _ = try PropertyListValue.decode(binary(512))
        #expect(failure(of: xml(513))?.offset == 512 * 7)
        #expect(failure(of: xml(100_000))?.reason.contains("512 deep") == true)
        #expect(failure(of: binary(513))?.offset == 8 + 511 * 3)
        #expect(failure(of: binary(20_000))?.reason.contains("512 deep") == true)
    }

    @Test("The depth of a shared object counts at every reference")
    func sharedDepth() throws {
        // The root contains a chain of 300 first, and then a second chain of 300 that ends in the first one.
        var objects: [[UInt8]] = [[0xA2] + BinaryList.bytes(1, 2) + BinaryList.bytes(301, 2)]
        objects += (2...300).map { [0xA1] + BinaryList.bytes(UInt64($0), 2) } + [[0xA0]]
        objects += (302...600).map { [0xA1] + BinaryList.bytes(UInt64($0), 2) } + [[0xA1] + BinaryList.bytes(1, 2)]
        var list = BinaryList(objects: objects)
        list.referenceSize = 2
        list.offsetSize = 2
        #expect(failure(of: list.data)?.reason.contains("512 deep") == true)
    }

    @Test("Shared references that would make the value huge are an error immediately")
    func bomb() throws {
        // Ten arrays of ten references each to the next one: ten thousand million leaves.
        let arrays = (0..<10).map { level in [0xAA] + [UInt8](repeating: UInt8(level + 1), count: 10) }
        let list = BinaryList(objects: arrays + [Array("Qx".utf8)])
        #expect(list.data.count < 200)
        #expect(failure(of: list.data)?.reason.contains("much larger") == true)
        // The same with text: few nodes, but a long string in each.
        var long = BinaryList(objects: [
            [0xAF, 0x12, 0, 0, 0x40, 0] + [UInt8](repeating: 1, count: 0x4000),
            [0x5F, 0x11, 0x40, 0] + [UInt8](repeating: 0x61, count: 0x4000),
        ])
        long.offsetSize = 4
        #expect(failure(of: long.data)?.reason.contains("much larger") == true)
    }

    @Test("A long key counts in each dictionary that has it, whatever its value", arguments: [[0x09], [0xA0], [0xD0], [0xA1, 0, 1]])
    func keyBomb(value: [UInt8]) throws {
        let count = 2_000
        // The root, the key, and the value of each dictionary before it, so that none is visited twice.
        let root = [0xAF, 0x11] + BinaryList.bytes(UInt64(count), 2) + (0..<count).flatMap { BinaryList.bytes(UInt64(3 + 2 * $0), 2) }
        let key = [0x5F, 0x11, 0x7F, 0] + [UInt8](repeating: 0x61, count: 0x7F00)
        let entries = (0..<count).flatMap { number -> [[UInt8]] in [value, [0xD1, 0, 1] + BinaryList.bytes(UInt64(2 + 2 * number), 2)] }
        var list = BinaryList(objects: [root, key] + entries)
        (list.offsetSize, list.referenceSize) = (4, 2)
        #expect(failure(of: list.data)?.reason.contains("much larger") == true)
    }

    @Test("Shared values can have up to 262,144 nodes plus 16 for each byte")
    func limit() throws {
        func list(_ extra: Int, size: Int) -> BinaryList {
            let root =
                [0xAF, 0x11] + BinaryList.bytes(UInt64(255 + extra), 2) + [UInt8](repeating: 1, count: 255)
                + [UInt8](repeating: 2, count: extra)
            let shared = [0xAF, 0x11] + BinaryList.bytes(1_200, 2) + [UInt8](repeating: 2, count: 1_200)
            var list = BinaryList(
                root, shared, [0x09], [0x4F, 0x11] + BinaryList.bytes(UInt64(size), 2) + [UInt8](repeating: 0, count: size))
            list.offsetSize = 2
            return list
        }
        // The root, 255 times the array with its 1,200 children, and the extra nodes.
        let bytes = (1 + 255 * 1_201 - 262_144) / 16
        let spare = bytes - list(0, size: 0).data.count
        for extra in 0...1 {
            let data = list(extra, size: spare - extra).data
            #expect(data.count == bytes)
            #expect((failure(of: data) == nil) == (extra == 0))
        }
    }

    @Test("Each reference to a long text or data counts with its size", arguments: [UInt8(0x5F), 0x4F])
    func sharedLeaves(marker: UInt8) throws {
        func list(_ count: Int) -> Data {
            let root = [0xAF, 0x11] + BinaryList.bytes(UInt64(count), 2) + [UInt8](repeating: 1, count: count)
            var list = BinaryList(root, [marker, 0x11] + BinaryList.bytes(3_200, 2) + [UInt8](repeating: 0x61, count: 3_200))
            list.offsetSize = 2
            return list.data
        }
        // The root, and for each child the node and a hundred times 32 bytes; a reference is one byte of the input.
        let bytes = list(0).count
        let maximum = try #require((1...10_000).first { 1 + ($0 + 1) * 101 > 262_144 + 16 * (bytes + $0 + 1) })
        #expect(failure(of: list(maximum)) == nil)
        #expect(failure(of: list(maximum + 1))?.reason.contains("much larger") == true)
    }

    @Test("Cycles of any length are an error")
    func cycles() throws {
        #expect(failure(of: BinaryList([0xA1, 0]).data)?.reason.contains("itself") == true)
        #expect(failure(of: BinaryList([0xA1, 1], [0xA1, 2], [0xA1, 0]).data)?.reason.contains("itself") == true)
        #expect(failure(of: BinaryList([0xD1, 1, 0], Array("Qk".utf8)).data)?.reason.contains("itself") == true)
    }

    @Test("Overlapping objects cannot use more memory than a few times the input")
    func overlap() throws {
        // Every object is the rest of the file as one string.
        let count = 2_000
        let unit: [UInt8] = [0x5F, 0x11, 0x20, 0x20]
        let strings = [[UInt8]](repeating: unit, count: count)
        var list = BinaryList(
            objects: [[0xAF, 0x11] + BinaryList.bytes(UInt64(count), 2) + (1...count).flatMap { BinaryList.bytes(UInt64($0), 2) }] + strings
                + [[UInt8](repeating: 0x20, count: 0x2020)])
        list.referenceSize = 2
        list.offsetSize = 2
        #expect(failure(of: list.data)?.reason.contains("overlap") == true)
    }

    @Test("Overlapping nested containers are rejected before memory for all of them is allocated")
    func overlappingContainers() throws {
        // Each has a count of 60,000 references: the first is to the next container, the others are the bytes after it.
        let containers = (1...200).map { next in [0xAF, 0x11] + BinaryList.bytes(60_000, 2) + [UInt8(next)] }
        var list = BinaryList(objects: containers + [[0x4F, 0x12] + BinaryList.bytes(60_000, 4) + [UInt8](repeating: 0, count: 60_000)])
        list.offsetSize = 4
        let error = try #require(failure(of: list.data))
        #expect(error.reason.contains("overlap"))
        // There are 61,000 bytes, which allow as many references twice.
        #expect(try #require(error.offset) <= list.offset(of: 2))
    }

    @Test("A value with many shared parts is written so that it can be read again")
    func sharingOnWriting() throws {
        let long = String(repeating: "long text ", count: 10_000)
        let value = PropertyListValue.array(Array(repeating: .string(long), count: 100))
        let data = try value.encoded(as: .binary)
        #expect(try PropertyListValue.decode(data).value == value)
        // Text that is half as long again after decoding, and only then too much.
        let wide = PropertyListValue.array(Array(repeating: .string(String(repeating: "\u{65E5}", count: 3_500)), count: 1_500))
        #expect(try PropertyListValue.decode(wide.encoded(as: .binary)).value == wide)
        let short = PropertyListValue.array(
            Array(repeating: ["a rather ordinary key": "and its value", "data": .data(Data(count: 400))], count: 5_000))
        let small = try short.encoded(as: .binary)
        #expect(small.count < 5_000 * 14)
        #expect(try PropertyListValue.decode(small).value == short)
        let array = PropertyListValue.array(Array(repeating: .string(long), count: 50))
        #expect(try array.encoded(as: .binary).count < 2 * long.utf8.count)
    }

    @Test("A stack of 512 kilobytes suffices at the maximum depth")
    func smallStack() throws {
        let finished = DispatchSemaphore(value: 0)
        let thread = Thread {
            let date = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: 0.5))
            let value = nested(512, around: date)
            let other = nested(512, around: date)
            #expect(value == other)
            #expect(Set([value]).contains(other))
            #expect(value.rounded(for: .xml) != value)
            for format in PropertyListFormat.allCases {
                let value = format == .json ? nested(512) : value
                #expect(throws: Never.self) {
                    try value.validate()
                    #expect(try PropertyListValue.decode(value.encoded(as: format)).value == value.rounded(for: format))
                }
            }
            finished.signal()
        }
        thread.stackSize = 512 * 1024
        thread.start()
        finished.wait()
    }
}
