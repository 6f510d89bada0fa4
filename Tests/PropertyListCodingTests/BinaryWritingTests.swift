import Dispatch
import Foundation
import PropertyListCoding
import Synchronization
import Testing

@Suite("Writing binary") struct BinaryWritingTests {
    private func object(_ value: PropertyListValue) throws -> [UInt8] {
        let data = [UInt8](try value.encoded(as: .binary))
        #expect(data.starts(with: Array("bplist00".utf8)))
        return Array(data[8..<data.count - 33])
    }

    @Test("Integers take 1, 2, 4 or 8 bytes, negative ones 8, and those above Int64.max 16")
    func integers() throws {
        #expect(try object(0) == [0x10, 0])
        #expect(try object(255) == [0x10, 0xFF])
        #expect(try object(256) == [0x11, 1, 0])
        #expect(try object(65_536) == [0x12, 0, 1, 0, 0])
        #expect(try object(4_294_967_296) == [0x13, 0, 0, 0, 1, 0, 0, 0, 0])
        #expect(try object(-1) == [0x13] + [UInt8](repeating: 0xFF, count: 8))
        #expect(
            try object(.integer(PropertyListInteger(UInt64.max))) == [0x14] + [UInt8](repeating: 0, count: 8)
                + [UInt8](repeating: 0xFF, count: 8))
    }

    @Test("Text is ASCII or big-endian UTF-16, and counts of 15 and more are separate integers")
    func text() throws {
        #expect(try object("ab") == [0x52, 0x61, 0x62])
        #expect(try object("é") == [0x61, 0, 0xE9])
        #expect(try object("🙂") == [0x62, 0xD8, 0x3D, 0xDE, 0x42])
        #expect(try object(.string(String(repeating: "a", count: 15))).prefix(4) == [0x5F, 0x10, 15, 0x61])
        #expect(try object(.data(Data(count: 300))).prefix(5) == [0x4F, 0x11, 1, 0x2C, 0])
    }

    @Test("Equal texts, data, booleans and small numbers are written once; texts that are only canonically equal are not")
    func sharing() throws {
        func count(_ value: PropertyListValue) throws -> Int { Int(try value.encoded(as: .binary).suffix(17).first ?? 0) }
        #expect(try count(["a", "a", ["a": "a"]]) == 3)
        #expect(try count([.data(Data([1])), .data(Data([1])), true, true, false, false, 1, 1]) == 5)
        #expect(try count(["\u{E9}", "e\u{301}"]) == 3)
        #expect(try count([1, 1.0, true, "1", .uid(1)]) == 6)
    }

    @Test("Keys are sorted by their bytes, whatever their prefixes and suffixes, so equal values are written identically")
    func order() throws {
        let ends = ["", "\0", "\0\0", "a", "a\0", "aa", "b", "12345678", "123456789", "12345678\0"]
        let beginnings = ["", "\0", "a", "group.1.", "group.10.", "group.1.12345678.", "group.1.12345679."]
        let names = Set(beginnings.flatMap { beginning in ends.map { beginning + $0 } })
        for _ in 0..<20 { try expectOrder(of: names) }
    }

    @Test("Keys that are not ASCII are sorted by their UTF-8, which differs from the order of their UTF-16")
    func otherOrder() throws {
        try expectOrder(of: ["z", "\u{E9}", "\u{FFFD}", "\u{1F642}", "\u{65E5}\u{672C}", "", "\u{E9}1", "a\u{E9}", "a"])
    }

    @Test("Many keys are sorted, however many bytes they differ in", arguments: 1...9)
    func manyKeys(size: Int) throws {
        try expectOrder(of: Set((0x20..<0x7F as Range<UInt8>).map { String(repeating: Character(Unicode.Scalar($0)), count: size) }))
    }

    @Test("Many keys with common prefixes are sorted, whatever the prefixes' length, and with zero bytes after them")
    func manyBeginnings() throws {
        let ends = (0..<70).map { "\($0)" }
        let levels = (0..<12).map { String(repeating: "12345678", count: $0) }
        try expectOrder(of: Set(levels.flatMap { level in ends.map { level + "." + $0 } + ["", "\0", level].map { level + $0 } }))
        let zeros = String(repeating: "\0", count: 8)
        try expectOrder(of: Set(["a", "a\0", "a" + zeros] + ends.flatMap { ["a" + zeros + $0, "a" + zeros + zeros + $0] }))
    }

    private func expectOrder(of names: Set<String>) throws {
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var expected = sorted.map { name -> [UInt8] in
            let count = UInt8(name.utf16.count)
            if !name.utf8.allSatisfy({ $0 < 0x80 }) {
                return [0x60 | count] + name.utf16.flatMap { BinaryList.bytes(UInt64($0), 2) }
            }
            return (count < 15 ? [0x50 | count] : [0x5F, 0x10, count]) + Array(name.utf8)
        }
        // The common value of all keys follows the first key.
        expected.insert([0x09], at: 1)
        let entries = Dictionary(uniqueKeysWithValues: names.shuffled().map { ($0, PropertyListValue.boolean(true)) })
        #expect(try object(.dictionary(entries)).starts(with: expected.joined()))
    }

    @Test("Lists of all sizes written concurrently and consecutively do not share scratch memory")
    func sameTime() throws {
        let lists = (0..<8).map { thread in
            PropertyListValue.dictionary(
                Dictionary(uniqueKeysWithValues: (0..<40 << thread).map { ("\(thread).\($0)", .string("value \($0 * thread)")) }))
        }
        let expected = try lists.map { try $0.encoded(as: .binary) }
        let failures = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 64) { number in
            let written = Result { try lists[number % 8].encoded(as: .binary) }
            if case .success(expected[number % 8]) = written { return }
            failures.add(1, ordering: .relaxed)
        }
        #expect(failures.load(ordering: .relaxed) == 0)
        for (list, bytes) in zip(lists, expected) { #expect(try PropertyListValue.decode(bytes).value == list) }
    }

    @Test("References and offsets have the smallest sufficient width", arguments: [10, 254, 255, 256, 300, 70_000])
    func widths(count: Int) throws {
        let value = PropertyListValue.array((0..<count).map { .integer(PropertyListInteger(Int64($0 + 1_000))) })
        let data = try value.encoded(as: .binary)
        #expect(data[data.endIndex - 25] == (count < 255 ? 1 : count < 65_535 ? 2 : 4))
        #expect(try PropertyListValue.decode(data).value == value)
    }

    @Test("Long leaves among short ones keep their positions, and equal ones are written once")
    func longLeaves() throws {
        let (text, data) = (String(repeating: "é", count: 5_000), Data(repeating: 7, count: 10_000))
        let entries: [String: PropertyListValue] = [
            "a": .string(text), "b": 1, "c": .data(data), "d": [.data(data)], "e": .string(text), "f": "x", "g": .data(Data(count: 10_000)),
        ]
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        #expect(bytes.count < 10_000 * 3 + 500)
        #expect(try PropertyListValue.decode(bytes).value == .dictionary(entries))
    }

    @Test("Of longer leaves of the same size, the first and all others are found again")
    func longLeavesOfOneSize() throws {
        func data(_ last: UInt8) -> PropertyListValue { .data(Data(count: 70_000) + [last]) }
        let text = PropertyListValue.string(String(repeating: "a", count: 70_001))
        let value = PropertyListValue.array([data(1), data(2), text, data(2), data(1), data(3), data(3), text])
        let bytes = try value.encoded(as: .binary)
        #expect(bytes.count < 70_001 * 4 + 200)
        #expect(try PropertyListValue.decode(bytes).value == value)
    }

    @Test("Data uses little more memory than its count")
    func spareMemory() throws {
        for size in [1, 40_000, 2_000_000] {
            let bytes = try PropertyListValue.array([.data(Data(count: size))]).encoded(as: .binary)
            let taken = try bytes.withUnsafeBytes { try memorySize(of: $0.baseAddress) }
            #expect(taken >= bytes.count)
            #expect(taken < bytes.count + bytes.count / 8 + 5_000_000)
        }
    }
}
