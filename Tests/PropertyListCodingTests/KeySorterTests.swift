import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// Equal values have equal bytes only if the keys of a dictionary are written in one order, whatever their order in memory.
@Suite("The order of a dictionary's keys", .timeLimit(.minutes(10))) struct KeySorterTests {
    /// Fewer than 65 keys are compared, more are distributed by 8 of their bytes; groups with the same 8 bytes are sorted in the
    /// same way.
    private static let sizes = [0...4, 14...18, 60...72, 126...134, 253...259, 1_498...1_502].flatMap(Array.init)

    @Test("Any keys are sorted", arguments: sizes)
    func sorted(size: Int) throws {
        for seed in visited(0..<(size < 1_000 ? 8 : 2)) {
            var generator = SeededGenerator(seed: UInt64(size * 100 + seed))
            let names = names(size, RandomKeys(of: size + seed, using: &generator), using: &generator)
            try expectOrder(of: names)
        }
    }

    @Test("Keys with common prefixes of any length are sorted", arguments: 62...68)
    func groups(size: Int) throws {
        for depth in visited(0...9) {
            var generator = SeededGenerator(seed: UInt64(size * 100 + depth))
            var names: Set<String> = []
            // Each level sorts a group of this size by the next 8 bytes; after 8 levels the keys are compared.
            for level in 0...depth {
                let beginning = String(repeating: "k", count: level * 8)
                names.formUnion(self.names(size - 1, RandomKeys(of: level, using: &generator), using: &generator).map { beginning + $0 })
            }
            try expectOrder(of: names)
        }
    }

    private func names(_ count: Int, _ keys: RandomKeys, using generator: inout SeededGenerator) -> Set<String> {
        var names: Set<String> = []
        while names.count < count { names.insert(keys.next(using: &generator)) }
        return names
    }

    /// Writes a dictionary with these keys in both formats, and reads the keys' order from the bytes.
    private func expectOrder(of names: Set<String>) throws {
        let sorted = names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let value = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: names.shuffled().map { ($0, true) }))
        #expect(try [UInt8](value.encoded(as: .binary)).starts(with: binary(sorted)))
        let xml = String(decoding: try value.encoded(as: .xml), as: UTF8.self)
        #expect(xml.contains(sorted.isEmpty ? "<dict/>" : sorted.map { "\t<key>\($0)</key>\n\t<true/>\n" }.joined()))
    }

    /// The first bytes of a binary property list with these keys; the common value of all keys follows the first key.
    private func binary(_ keys: [String]) -> [UInt8] {
        Array("bplist00".utf8) + (keys.prefix(1).map(object) + keys.prefix(1).map { _ in [0x09] } + keys.dropFirst().map(object)).joined()
    }

    private func object(_ key: String) -> [UInt8] {
        let units = Array(key.utf16)
        let isASCII = key.utf8.allSatisfy { $0 < 0x80 }
        let type: UInt8 = isASCII ? 0x50 : 0x60
        let count = units.count < 15 ? [type | UInt8(units.count)] : [type | 0xF, 0x10, UInt8(units.count)]
        return count + (isASCII ? Array(key.utf8) : units.flatMap { BinaryList.bytes(UInt64($0), 2) })
    }
}

/// Parameters of generated keys: their length, characters, and prefixes.
private struct RandomKeys {
    private let characters: [Character]
    private let lengths: ClosedRange<Int>
    private let beginnings: [String]

    /// Some have similar parameters, so their keys differ in few bits, or in few bytes.
    init(of way: Int, using generator: inout SeededGenerator) {
        let alphabets = [
            "ab", "01", "abcdefgh", "0123456789", "aAqQ", "ké日🙂", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
        ]
        characters = Array(alphabets[way % alphabets.count])
        let shortest = characters.count < 3 ? 11 : characters.count < 5 ? 6 : 4
        lengths = shortest...shortest + Int.random(in: 0...24, using: &generator)
        beginnings = (0...Int.random(in: 0...2, using: &generator)).map {
            String(repeating: "k", count: $0 * Int.random(in: 0...20, using: &generator))
        }
    }

    func next(using generator: inout SeededGenerator) -> String {
        let beginning = beginnings.randomElement(using: &generator) ?? ""
        return beginning
            + String((0..<Int.random(in: lengths, using: &generator)).compactMap { _ in characters.randomElement(using: &generator) })
    }
}
