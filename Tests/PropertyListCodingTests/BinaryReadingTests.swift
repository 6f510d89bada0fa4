import Foundation
import PropertyListCoding
import Testing

@Suite("Reading binary") struct BinaryReadingTests {
    @Test("Integers of 1, 2 and 4 bytes are unsigned, those of 8 are signed, and those of 16 are accepted if they fit")
    func integers() throws {
        let cases: [([UInt8], PropertyListInteger)] = [
            ([0x10, 0xFF], 255), ([0x11, 0xFF, 0xFF], 65_535), ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], 4_294_967_295),
            ([0x13] + [UInt8](repeating: 0xFF, count: 8), -1), ([0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], PropertyListInteger(Int64.min)),
            ([0x14] + [UInt8](repeating: 0, count: 8) + [UInt8](repeating: 0xFF, count: 8), PropertyListInteger(UInt64.max)),
            ([0x14] + [UInt8](repeating: 0xFF, count: 16), -1),
            ([0x14] + [UInt8](repeating: 0xFF, count: 8) + [0x80, 0, 0, 0, 0, 0, 0, 0], PropertyListInteger(Int64.min)),
        ]
        for (bytes, integer) in cases {
            #expect(try PropertyListValue.decode(BinaryList(bytes).data).value == .integer(integer))
        }
    }

    @Test("Reals of 4 and 8 bytes, uids of 1 to 8, counts of every width, and references and offsets of 1 to 8 bytes are read")
    func widths() throws {
        let one: [(BinaryList, PropertyListValue)] = [
            (BinaryList([0x22, 0x3F, 0xC0, 0, 0]), 1.5),
            (BinaryList([0x82, 1, 2, 3]), .uid(0x010203)),
            (BinaryList([0x87] + [UInt8](repeating: 0xFF, count: 8)), .uid(.max)),
            (BinaryList([0x5F, 0x10, 1, 0x61]), "a"),
            (BinaryList([0x5F, 0x11, 0, 1, 0x61]), "a"),
            (BinaryList([0x5F, 0x12, 0, 0, 0, 1, 0x61]), "a"),
            (BinaryList([0x4F, 0x13, 0, 0, 0, 0, 0, 0, 0, 1, 0x61]), .data(Data([0x61]))),
            (BinaryList([0x6F, 0x10, 2, 0xD8, 0x3D, 0xDE, 0x42]), "🙂"),
        ]
        for (list, value) in one {
            #expect(try PropertyListValue.decode(list.data).value == value)
        }
        for size in 1...8 {
            var list = BinaryList([0xD1] + BinaryList.bytes(1, size) + BinaryList.bytes(2, size), Array("Qk".utf8), [0x09])
            list.referenceSize = size
            list.offsetSize = size
            #expect(try PropertyListValue.decode(list.data).value == ["k": true])
        }
    }

    @Test("Objects that are referenced more than once are read at any position")
    func shared() throws {
        let list = BinaryList([0xA4, 1, 1, 2, 2], [0xA1, 2], Array("Qs".utf8))
        #expect(try PropertyListValue.decode(list.data).value == [["s"], ["s"], "s", "s"])
        for size in [1, 15, 16, 40] {
            var many = BinaryList(
                [0xAF, 0x11, 0x20, 0] + [UInt8](repeating: 1, count: 0x2000),
                [0x5F, 0x10, UInt8(size)] + [UInt8](repeating: 0x61, count: size))
            many.offsetSize = 2
            let text = String(repeating: "a", count: size)
            #expect(try PropertyListValue.decode(many.data).value == .array(Array(repeating: .string(text), count: 0x2000)))
        }
        // Two entries of the table may even name the same object.
        var aliased = BinaryList([0xA2, 1, 2], Array("Qs".utf8))
        aliased.offsets = [8, 11, 11]
        #expect(try PropertyListValue.decode(aliased.data).value == ["s", "s"])
    }

    @Test("A container that is referenced often is decoded at most twice, and shared from then on")
    func sharedContainers() throws {
        let list = BinaryList([0xA5, 1, 1, 1, 1, 2], [0xA3, 2, 2, 2], [0xD1, 3, 4], Array("Qk".utf8), [0x09])
        let inner = PropertyListValue.array([["k": true], ["k": true], ["k": true]])
        let value = try PropertyListValue.decode(list.data).value
        #expect(value == [inner, inner, inner, inner, ["k": true]])
        guard case .array(let elements) = value else { return }
        let addresses = elements.prefix(4).map { element -> UnsafeRawPointer? in
            guard case .array(let children) = element else { return nil }
            return children.withUnsafeBytes { $0.baseAddress }
        }
        #expect(Set(addresses).count == 2)
    }

    @Test("A malformed leaf is an error with an offset and a reason", arguments: leaves)
    func malformedLeaf(bytes: [UInt8], offset: Int, reason: String) throws {
        let list = BinaryList.entry(bytes)
        let error = try #require(failure(of: list.data))
        #expect(error.offset == list.offset(of: 2) + offset, "\(error)")
        #expect(error.reason.contains(reason), "\(error)")
    }

    static let leaves: [([UInt8], Int, String)] = [
        ([0x00], 0, "null"), ([0x0F], 0, "unknown type 0xf"), ([0x0C], 0, "unknown type 0xc"), ([0x70], 0, "unknown type 0x70"),
        ([0xC0], 0, "a set"), ([0xC1, 1], 0, "a set"), ([0xB1, 1], 0, "a set"), ([0xE0], 0, "unknown"), ([0xF0], 0, "unknown"),
        ([0x90], 0, "unknown"),
        ([0x10], 0, "cut short"), ([0x11, 0], 0, "cut short"), ([0x12, 0, 0, 0], 0, "cut short"),
        ([0x13, 0, 0, 0, 0, 0, 0, 0], 0, "cut short"),
        ([0x14] + [UInt8](repeating: 0, count: 15), 0, "cut short"), ([0x15] + [UInt8](repeating: 0, count: 32), 0, "unknown type 0x15"),
        ([0x14, 0, 0, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 8), 0, "outside Int64.min to UInt64.max"),
        ([0x14] + [UInt8](repeating: 0xFF, count: 8) + [0x7F] + [UInt8](repeating: 0, count: 7), 0, "outside Int64.min"),
        ([0x21, 0, 0], 0, "unknown type 0x21"), ([0x22, 0, 0, 0], 0, "cut short"), ([0x23, 0, 0, 0, 0, 0, 0, 0], 0, "cut short"),
        ([0x32, 0, 0, 0, 0], 0, "unknown type 0x32"), ([0x33, 0], 0, "cut short"),
        ([0x88] + [UInt8](repeating: 0, count: 9), 0, "unknown type 0x88"),
        ([0x41], 0, "more than there are bytes for"), ([0x51], 0, "more than there are bytes for"), ([0x4F], 0, "cut short"),
        ([0x4F, 0x10], 0, "cut short"),
        ([0x4F, 0x14] + [UInt8](repeating: 0, count: 16), 1, "a count"),
        ([0x4F, 0x22, 0, 0, 0, 1, 0x61], 1, "a count that is not an integer"),
        ([0x4F, 0x13] + [UInt8](repeating: 0xFF, count: 8), 0, "more than"),
        ([0x4F, 0x13, 0x7F] + [UInt8](repeating: 0xFF, count: 7), 0, "more than"),
        ([0x5F, 0x13, 0x80, 0, 0, 0, 0, 0, 0, 0], 0, "more than"),
        ([0x6F, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0], 0, "more than"), ([0xAF, 0x13, 0x20, 0, 0, 0, 0, 0, 0, 0], 0, "more than"),
        ([0xDF, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0], 0, "more than"), ([0xAF, 0x12, 0xFF, 0xFF, 0xFF, 0xFF], 0, "more than"),
        ([0x51, 0x80], 1, "not ASCII"), ([0x53, 0x61, 0x62, 0xFF], 3, "not ASCII"),
        ([0x61, 0xD8, 0x00], 1, "surrogate"), ([0x61, 0xDC, 0x00], 1, "surrogate"), ([0x62, 0, 0x61, 0xDC, 0x00], 3, "surrogate"),
        ([0x62, 0xD8, 0x00, 0, 0x61], 1, "surrogate"), ([0x61, 0], 0, "more than"),
        ([0xA1, 3], 1, "object 3 of 3"), ([0xD1, 1, 0xFF], 2, "object 255 of 3"), ([0xA1, 0], 0, "contains itself"),
        ([0xA1, 2], 0, "contains itself"),
        ([0xD1, 2, 1], 0, "not a string"), ([0xD1, 0, 1], -5, "not a string"),
    ]

    @Test("Short text is read exactly to its end, and each of its bytes must be ASCII", arguments: 0...15)
    func shortText(size: Int) throws {
        let text = (0..<size).map { UInt8(0x61 + $0) }
        // A text of this length can also have its count after the marker.
        for head in [[0x50 | UInt8(size)], [0x5F, 0x10, UInt8(size)]] where size < 15 || head.count == 3 {
            let behind: [UInt8] = [0x47] + [UInt8](repeating: 0xFF, count: 7)
            let list = BinaryList([0xD1, 1, 1], head + text, behind)
            let string = String(decoding: text, as: UTF8.self)
            #expect(try PropertyListValue.decode(list.data).value == [string: .string(string)])
            for index in text.indices {
                var damaged = list
                damaged.objects[1][head.count + index] |= 0x80
                #expect(failure(of: damaged.data)?.offset == list.offset(of: 1) + head.count + index)
            }
        }
    }

    @Test("A key that is not a string, is repeated or is canonically equal to another is an error")
    func keys() throws {
        let value: [UInt8] = [0x09]
        let cases: [(BinaryList, Int, String)] = [
            (BinaryList([0xD1, 1, 2], [0x10, 1], value), 1, "not a string"),
            (BinaryList([0xD1, 1, 2], [0x41, 0x6B], value), 1, "not a string"),
            (BinaryList([0xD2, 1, 1, 2, 2], Array("Qk".utf8), value), 1, "occurs twice"),
            (BinaryList([0xD2, 1, 3, 2, 2], Array("Qk".utf8), value, Array("Qk".utf8)), 3, "occurs twice"),
            (BinaryList([0xD2, 1, 3, 2, 2], [0x61, 0, 0xE9], value, [0x62, 0, 0x65, 3, 1]), 3, "Unicode normalization"),
        ]
        for (list, object, reason) in cases {
            let error = try #require(failure(of: list.data))
            #expect(error.offset == list.offset(of: object))
            #expect(error.reason.contains(reason))
        }
    }

    @Test("An inconsistent trailer is an error with an offset and a reason", arguments: trailers)
    func malformedTrailer(change: @Sendable (inout BinaryList) -> Void, fromEnd: Int, reason: String) throws {
        var list = BinaryList.entry([0x09])
        change(&list)
        let error = try #require(failure(of: list.data))
        #expect(error.offset == list.data.count - fromEnd, "\(error)")
        #expect(error.reason.contains(reason), "\(error)")
    }

    static let trailers: [(@Sendable (inout BinaryList) -> Void, Int, String)] = [
        ({ $0.offsetSize = 0 }, 26, "0 bytes wide"), ({ $0.offsetSize = 9 }, 26, "9 bytes wide"),
        ({ $0.offsetSize = 255 }, 26, "255 bytes"),
        ({ $0.referenceSize = 0 }, 25, "0 bytes wide"), ({ $0.referenceSize = 9 }, 25, "9 bytes wide"),
        ({ $0.root = 3 }, 16, "root"), ({ $0.root = .max }, 16, "root"),
        ({ $0.count = 0 }, 24, "number of objects"), ({ $0.count = 4 }, 24, "number of objects"),
        ({ $0.count = .max }, 24, "number of objects"),
        (
            {
                $0.count = 1 << 61; $0.offsetSize = 8
            }, 24, "number of objects"
        ), ({ $0.gap = [0] }, 24, "number of objects"),
        ({ $0.offsets = Array(repeating: 8, count: 7) }, 24, "more objects than there are bytes for"),
        ({ $0.table = 8 }, 8, "table of offsets"), ({ $0.table = 0 }, 8, "table of offsets"), ({ $0.table = .max }, 8, "table of offsets"),
        ({ $0.table = 1 << 63 }, 8, "table of offsets"), ({ $0.table = 17 }, 8, "table of offsets"),
        ({ $0.offsets = [8, 11, 7] }, 33, "outside the objects"), ({ $0.offsets = [8, 11, 14] }, 33, "outside the objects"),
        ({ $0.offsets = [8, 255, 13] }, 34, "outside the objects"),
    ]

    @Test("A version other than 0 and a truncated file are errors")
    func header() throws {
        var list = BinaryList.entry([0x09])
        list.header = Array("bplist15".utf8)
        #expect(failure(of: list.data)?.offset == 6)
        list.header = Array("bplist01".utf8)
        #expect(try PropertyListValue.decode(list.data).value == ["k": true])
        for length in 0...41 {
            #expect(failure(of: Data("bplist00".utf8) + Data(count: length - min(length, 8))) != nil)
        }
        #expect(failure(of: Data("bplist00".utf8))?.reason.contains("cut short") == true)
    }

    @Test("Every prefix of a valid file is an error, not a crash")
    func truncation() throws {
        let data = try Sample.common.encoded(as: .binary).prefix(6_000)
        let whole = try PropertyListValue.dictionary(["a": [1, "two", 3.5, true], "b": .data(Data(count: 40))]).encoded(as: .binary)
        for length in 0..<whole.count { #expect(failure(of: whole.prefix(length)) != nil) }
        for length in stride(from: 0, to: data.count, by: 97) { #expect(failure(of: data.prefix(length)) != nil) }
    }
}
