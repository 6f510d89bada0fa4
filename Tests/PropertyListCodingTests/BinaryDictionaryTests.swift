import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// Every key is found once, in any order; short ASCII keys are decoded on a separate path.
@Suite("Keys of a binary dictionary") struct BinaryDictionaryTests {
    /// In ascending order; many differ only beyond the bytes that are compared at once.
    private static let keys: [String] = {
        let lengths = [7, 8, 13, 14, 15, 16, 31, 63, 64, 65, 80]
        let ends = ["", "\0", "\0\0", "!", "a", "ab", "b"]
        let ascii = ["", "\0", "a", "a\0"] + lengths.flatMap { length in ends.map { String(repeating: "x", count: length) + $0 } }
        return Array(Set(ascii + ["é", "e\u{30C}", "x\u{3B1}", "日本", "🙂"])).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }()

    /// Keys that are recognized as ascending.
    private static let plain = keys.filter { 1..<64 ~= $0.utf8.count && isASCII($0) }

    /// A dictionary with these keys, each with its position as its value.
    private func list(_ keys: [[UInt8]]) -> BinaryList {
        let values = keys.indices.map { [0x11] + BinaryList.bytes(UInt64($0), 2) }
        let references = (0..<2 * keys.count).flatMap { BinaryList.bytes(UInt64($0 + 1), 2) }
        var list = BinaryList(objects: [[0xDF, 0x11] + BinaryList.bytes(UInt64(keys.count), 2) + references] + keys + values)
        (list.referenceSize, list.offsetSize) = (2, 4)
        return list
    }

    private func object(_ key: String) -> [UInt8] {
        let count = key.utf16.count
        let (type, content) = Self.isASCII(key) ? (0x50, Array(key.utf8)) : (0x60, key.utf16.flatMap { BinaryList.bytes(UInt64($0), 2) })
        return (count < 15 ? [UInt8(type | count)] : [UInt8(type | 0xF), 0x10, UInt8(count)]) + content
    }

    private static func isASCII(_ key: String) -> Bool {
        key.utf8.allSatisfy { $0 < 0x80 }
    }

    private func check(_ keys: [String]) throws {
        let values = keys.indices.map { PropertyListValue.integer(PropertyListInteger(UInt64($0))) }
        let expected = Dictionary(uniqueKeysWithValues: zip(keys, values))
        #expect(try PropertyListValue.decode(list(keys.map(object)).data).value == .dictionary(expected))
    }

    @Test("Each key has its value, in any order")
    func order() throws {
        try check(Self.keys)
        try check(Self.keys.reversed())
        try check(Self.plain)
        for position in 1..<Self.plain.count {
            var swapped = Self.plain
            swapped.swapAt(position - 1, position)
            try check(swapped)
        }
        for seed in 0..<100 {
            var generator = SeededGenerator(seed: UInt64(seed))
            let count = Int.random(in: 1...12, using: &generator)
            let some = Array(Self.keys.shuffled(using: &generator).prefix(count))
            try check(some)
            try check(some.filter(Self.plain.contains))
            try check(some.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        }
    }

    @Test("A repeated key is found at any position")
    func twice() throws {
        for all in [Self.keys, Self.plain] {
            for first in all.indices {
                // Beside the key, far from it, and at the end.
                let others = Set([first + 1, first + 2, (first + all.count) / 2 + 1, all.count])
                for second in others where first < second && second <= all.count {
                    var keys = all.map(object)
                    keys.insert(keys[first], at: second)
                    let list = list(keys)
                    let error = try #require(failure(of: list.data))
                    #expect(error.reason.contains("occurs twice"))
                    #expect(error.offset == list.offset(of: second + 1))
                }
            }
        }
    }

    @Test(
        "A repeated key is found in another encoding",
        arguments: [[[0x51, 0x6B], [0x5F, 0x10, 1, 0x6B]], [[0x51, 0x6B], [0x61, 0, 0x6B]]])
    func twiceInOtherForm(keys: [[UInt8]]) throws {
        for keys in [keys, keys.reversed()] {
            let list = list(keys)
            #expect(failure(of: list.data)?.offset == list.offset(of: 2))
        }
    }
}
