import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Entries that are decoded when they are read", .timeLimit(.minutes(isLong ? 60 : 10))) struct LazyEntriesTests {
    private static let damagedPerSeed = isLong || isOptimized ? 30_000 : 500
    private static let seeds: [UInt64] = (0..<10).map { firstSeed + $0 }

    /// Random entries whose names are ASCII.
    private static func entries(using generator: inout SeededGenerator) -> [String: PropertyListValue] {
        (0..<Int.random(in: 0..<12, using: &generator)).reduce(into: ["flag": true]) { entries, number in
            let name = [String(repeating: "n", count: number * 3), "key\(number)", "\u{0}\(number)"].randomElement(using: &generator) ?? ""
            entries[name] = .random(depth: number % 3, using: &generator)
        }
    }

    @Test("The entries are those that decoding the list gives, read one by one and all at once", arguments: seeds)
    func sameEntries(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var count = 0
        for _ in 0..<100 {
            let entries = Self.entries(using: &generator)
            let check = InputCheck(try PropertyListValue.dictionary(entries).encoded(as: .binary))
            #expect(check.violation == nil, "seed \(seed)")
            if check.isLazy { count += 1 }
        }
        // The others have a nested name that is not ASCII.
        #expect(count > 10)
    }

    @Test("Damaged lists are read lazily only if they can be decoded, and as the same entries", arguments: seeds)
    func damaged(seed: UInt64) async throws {
        var mutator = InputMutator(seed: seed, files: [])
        var generator = SeededGenerator(seed: seed)
        var files: [Data] = []
        while files.count < 20 {
            let file = try PropertyListValue.dictionary(Self.entries(using: &generator)).encoded(as: .binary)
            if LazyEntries(file) != nil { files.append(file) }
        }
        var (lazy, refused) = (0, 0)
        for number in 1...Self.damagedPerSeed {
            if number.isMultiple(of: 100) { await Task.yield() }
            let input = mutator.damaged(files[number % files.count])
            let check = InputCheck(input, isEdited: false)
            if check.isLazy { lazy += 1 }
            if check.value == nil { refused += 1 }
            if let violation = check.violation {
                Issue.record("\(violation): seed \(seed), input \(number), \(input.base64EncodedString())")
            }
        }
        #expect(lazy > Self.damagedPerSeed / 20 && refused > Self.damagedPerSeed / 20)
    }

    private static let others: [(name: String, list: Data)] = [
        ("an array", BinaryList([0xA1, 1], [0x09]).data), ("a leaf", BinaryList([0x09]).data),
        ("another order", BinaryList([0xD2, 1, 2, 3, 3], Array("Qb".utf8), Array("Qa".utf8), [0x09]).data),
        ("a repeated name", BinaryList([0xD2, 1, 2, 3, 3], Array("Qa".utf8), Array("Qa".utf8), [0x09]).data),
        ("a name that is not ASCII", BinaryList([0xD1, 1, 2], [0x61, 0, 0xE9], [0x09]).data),
        ("a damaged name", BinaryList([0xD1, 1, 2], [0x51, 0xE9], [0x09]).data),
        ("a damaged text", BinaryList.entry([0x51, 0xE9]).data), ("half of a pair", BinaryList.entry([0x61, 0xD8, 0x3D]).data),
        ("an unknown object", BinaryList.entry([0xB0]).data), ("a null", BinaryList.entry([0]).data),
        ("a wide integer", BinaryList.entry([0x14] + BinaryList.bytes(1, 8) + BinaryList.bytes(0, 8)).data),
        ("a name that is a number", BinaryList([0xD1, 2, 2], [0x09], [0x10, 1]).data),
        ("a container in itself", BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0xA1, 2]).data),
        ("nested names in another order", BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0xD2, 3, 1, 4, 4], Array("Qb".utf8), [0x09]).data),
        (
            "shared containers",
            BinaryList(
                [0xD1, 1, 2], Array("Qa".utf8), [0xAF, 0x10, 0xFF] + [UInt8](repeating: 3, count: 255),
                [0xAF, 0x10, 0xFF] + [UInt8](repeating: 4, count: 255), [0x09]
            ).data
        ),
        ("text", Data("{\"a\": 1}".utf8)), ("no bytes", Data()),
    ]

    @Test("Other lists, whether they are valid or not, have to be decoded", arguments: others.indices)
    func decodedLists(index: Int) {
        let (name, list) = Self.others[index]
        #expect(LazyEntries(list) == nil, "\(name)")
        #expect(InputCheck(list).violation == nil, "\(name)")
    }
}
