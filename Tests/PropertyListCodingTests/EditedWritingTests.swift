import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// Writing a dictionary with edits must be equal to writing an edited copy.
@Suite("Writing edited dictionaries") struct EditedWritingTests {
    typealias Edits = [String: PropertyListValue?]

    func check(_ base: [String: PropertyListValue], _ edits: Edits) throws {
        let edited = PropertyListValue.dictionary(edits.reduce(into: base) { $0[$1.key] = $1.value })
        for format in [PropertyListFormat.binary, .xml] {
            #expect(try PropertyListValue.encode(base, with: edits, as: format) == edited.encoded(as: format))
        }
    }

    @Test("Random entries are set, removed and added at random", arguments: 0..<UInt64(60))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var base: [String: PropertyListValue] = [:]
        for _ in 0..<[0, 1, 7, 300][Int(seed % 4)] {
            base[.random(using: &generator)] = .random(depth: 2, using: &generator)
        }
        var edits: Edits = [:]
        for key in base.keys.shuffled(using: &generator).prefix(Int.random(in: 0...20, using: &generator)) {
            edits.updateValue(Bool.random(using: &generator) ? .random(depth: 2, using: &generator) : nil, forKey: key)
        }
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
            edits.updateValue(Bool.random(using: &generator) ? 1 : nil, forKey: .random(using: &generator))
        }
        try check(base, edits)
    }

    @Test("Every entry is removed, every entry is new, or none is edited")
    func extremes() throws {
        try check(["a": 1, "b": 2], ["a": nil, "b": nil])
        try check([:], ["a": 1, "b": ["a": 2]])
        try check(["a": 1, "b": 2], [:])
        try check([:], ["a": nil])
    }

    @Test("Only the entries of the dictionary itself are edited, not those of nested ones")
    func nested() throws {
        let inner: PropertyListValue = ["a": 1, "b": ["a": 2]]
        try check(["a": inner, "b": [inner], "c": inner], ["a": 3, "b": nil, "d": inner])
    }

    @Test("A key set in another normalization stays unchanged")
    func normalization() throws {
        let edits: Edits = ["e\u{301}": 2, "A\u{30A}": nil]
        try check(["\u{E9}": 1, "\u{C5}": 1], edits)
        let written = try PropertyListValue.encode(["\u{E9}": 1, "\u{C5}": 1], with: edits, as: .binary)
        guard case .dictionary(let entries) = try PropertyListValue.decode(written).value else { throw CocoaError(.coderInvalidValue) }
        #expect(entries.keys.map { Array($0.utf8) } == [Array("\u{E9}".utf8)])
    }

    @Test("Texts that are shared too often to be read are written repeatedly, edited or not")
    func sharing() throws {
        let texts = PropertyListValue.array(Array(repeating: .string(String(repeating: "text", count: 1_000)), count: 4_000))
        let edits: Edits = ["a": "short", "c": texts]
        let written = try PropertyListValue.encode(["a": 1, "b": 2], with: edits, as: .binary)
        #expect(try PropertyListValue.decode(written).value == ["a": "short", "b": 2, "c": texts])
    }
}

/// Editing a binary document must be read as the edited dictionary.
@Suite("Editing binary property lists") struct BinaryEditingTests {
    typealias Edits = [String: PropertyListValue?]

    private func edited(_ document: Data, of base: [String: PropertyListValue], _ edits: Edits) -> Data? {
        PropertyListValue.document(document, after: edits, existing: edits.keys.count { base[$0] != nil })
    }

    /// Whether the document could be edited.
    ///
    /// - Parameter isSame: whether it then has the bytes of writing everything anew: if all that happens is that values which were not shared
    ///   are replaced by leaves that are not shared.
    @discardableResult
    private func isEdited(_ base: [String: PropertyListValue], _ edits: Edits, isSame: Bool = false) throws -> Bool {
        let document = try PropertyListValue.encode(base, with: [:], as: .binary)
        guard let edited = edited(document, of: base, edits) else { return false }
        let written = try PropertyListValue.encode(base, with: edits, as: .binary)
        if isSame { #expect(edited == written) }
        #expect(try PropertyListValue.decode(edited).value == PropertyListValue.decode(written).value)
        #expect((LazyEntries(edited) == nil) == (LazyEntries(written) == nil))
        return true
    }

    /// A dictionary, and what edits have made of its binary property list, with what it may be at most.
    private struct EditedList {
        var base: [String: PropertyListValue] = [:]
        var document = Data()
        var editCount = 0

        init(_ base: [String: PropertyListValue]) throws {
            self.base = base
            document = try PropertyListValue.dictionary(base).encoded(as: .binary)
        }

        mutating func edit(_ edits: Edits) throws {
            let existing = edits.keys.count { base[$0] != nil }
            base = edits.reduce(into: base) { $0[$1.key] = $1.value }
            if let edited = PropertyListValue.document(document, after: edits, existing: existing) {
                #expect(try PropertyListValue.decode(edited).value == .dictionary(base))
                (document, editCount) = (edited, editCount + 1)
            } else {
                document = try PropertyListValue.dictionary(base).encoded(as: .binary)
            }
        }

        /// Edits a few entries at random.
        mutating func edit(depth: Int, names: (inout SeededGenerator) -> String, using generator: inout SeededGenerator) throws {
            var edits: Edits = [:]
            for key in base.keys.sorted().shuffled(using: &generator).prefix(Int.random(in: 0...3, using: &generator)) {
                let isRemoved = Int.random(in: 0..<3, using: &generator) == 0
                edits.updateValue(isRemoved ? nil : .random(depth: depth, using: &generator), forKey: key)
            }
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                edits.updateValue(.random(depth: depth, using: &generator), forKey: names(&generator))
            }
            try edit(edits)
        }
    }

    @Test("Random entries are set, added and removed, again and again in the same document", arguments: 0..<UInt64(100))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var base: [String: PropertyListValue] = [:]
        for _ in 0..<[1, 7, 100, 300][Int(seed % 4)] { base[.random(using: &generator)] = .random(depth: Int(seed % 3), using: &generator) }
        var list = try EditedList(base)
        for _ in 0..<30 {
            try list.edit(depth: Int.random(in: 0...2, using: &generator), names: { .random(using: &$0) }, using: &generator)
        }
        #expect(list.editCount > 10)
        // What the edits have left can be edited by others, and by the reader that compares two documents.
        let rewritten = try PropertyListValue.dictionary(list.base).encoded(as: .binary)
        #expect(PropertyListValue.changes(in: rewritten, since: list.document, of: { list.base[$0] }) ?? [:] == [:])
    }

    @Test("Other programs read what was edited again and again", .enabled(if: ProgramOracleTests.hasPython))
    func oracles() throws {
        var generator = SeededGenerator(seed: firstSeed)
        var documents: [(value: PropertyListValue, bytes: Data)] = []
        for count in [1, 20, 300] {
            var list = try EditedList(
                Dictionary(uniqueKeysWithValues: (0..<count).map { ("key\($0)", PropertyListValue.random(depth: 2, using: &generator)) }))
            for number in 0..<60 {
                try list.edit(depth: 2, names: { _ in "new\(number)" }, using: &generator)
                documents.append((.dictionary(list.base), list.document))
            }
            #expect(list.editCount > 20)
        }
        let bytes = documents.map(\.bytes)
        #expect(try Oracle.plistlib(bytes) == documents.map { .read($0.value.millisecondText) })
        #expect(try Oracle.foundation(bytes) == documents.map { .read($0.value.exactText) })
    }

    @Test("A document does not grow by being edited, and is written anew when too many numbers of objects are unused")
    func growth() throws {
        let base = Dictionary(uniqueKeysWithValues: (0..<200).map { ("key\($0)", PropertyListValue.string("value \($0)")) })
        var list = try EditedList(base)
        let size = list.document.count
        for number in 0..<500 {
            let key = "key\(number % 200)"
            try list.edit([key: ["a": .string("\(number)"), "b": [1, .string("\(number)")]]])
            try list.edit(["new\(number)": .string("text \(number)"), key: "value"])
            try list.edit(["new\(number)": nil, key: .string("value \(number % 200)")])
        }
        #expect(list.base == base && list.editCount == 1_500)
        // Of the numbers of six objects that were removed.
        #expect(list.document.count <= size + 6 * 2)
        for number in 0..<199 {
            try list.edit(["key\(number)": nil])
            // At most a quarter of the numbers, and 16, are unused, each with an offset of two bytes. References keep their two bytes.
            let (written, count) = (try PropertyListValue.dictionary(list.base).encoded(as: .binary), list.base.count)
            #expect(list.document.count <= written.count + 2 * count + 2 * (22 + (count * 2 + 1) / 3))
        }
        #expect(list.editCount < 1_699)
    }

    @Test("A value that another entry has is repeated, except a Boolean")
    func sharing() throws {
        let base: [String: PropertyListValue] = ["a": 1, "b": 2, "c": "text", "d": 2, "e": ["x": "inside"], "name": "a"]
        #expect(try isEdited(base, ["a": 3], isSame: true))
        #expect(try isEdited(base, ["c": "other"], isSame: true))
        // Shared before, with another value or a key.
        #expect(try isEdited(base, ["b": 3]))
        #expect(try isEdited(base, ["name": "new"]))
        #expect(try isEdited(base, ["b": 1]))
        #expect(try isEdited(base, ["name": "b"]))
        // Shared afterwards: with a value, one inside a dictionary, a key.
        #expect(try isEdited(base, ["a": 2]))
        #expect(try isEdited(base, ["c": "inside"]))
        #expect(try isEdited(base, ["c": "name"]))
        // Two that get equal values.
        #expect(try isEdited(base, ["a": 7, "c": 7]))
        // A key that remains as a value, and values that are no longer shared.
        #expect(try isEdited(base, ["a": nil]))
        #expect(try isEdited(base, ["b": nil, "d": 5, "e": nil]))
    }

    @Test("Booleans are set to each other in place", arguments: [1, 200, 70_000])
    func booleans(count: Int) throws {
        var base = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PropertyListValue.boolean($0.isMultiple(of: 2))) })
        base["on"] = true
        base["off"] = false
        var list = try EditedList(base)
        let size = list.document.count
        for (key, value) in [("on", false), ("off", true), ("0", false), ("on", true)] { try list.edit([key: .boolean(value)]) }
        #expect(list.document.count == size && list.editCount == 4)
    }

    @Test("Objects are added as long as references keep their size", arguments: [240, 65_510])
    func added(count: Int) throws {
        var base = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PropertyListValue.boolean($0.isMultiple(of: 2))) })
        base["list"] = [1, ["a": true]]
        var list = try EditedList(base)
        for number in 0..<30 { try list.edit(["\(number)": .string("new \(number)")]) }
        #expect(list.editCount == 29)
        // Leaves that were added are replaced like the others.
        try list.edit(["0": "else"])
        #expect(list.editCount == 30)
    }

    @Test("Entries are added and removed anywhere, and containers replaced")
    func structure() throws {
        // Few bytes have no space for unused numbers.
        let filler = PropertyListValue.string(String(repeating: "x", count: 40))
        let base: [String: PropertyListValue] = [
            "b": 1, "list": [1, ["x": 2, "y": [3]]], "u": ["x": 2], "\u{10FF}": 5, "\u{1F600}": 6, "filler": filler,
        ]
        let values: [PropertyListValue?] = [nil, "text", .array(["1", "2"]), ["x": ["y": 1]], .array([]), .dictionary([:])]
        for key in ["a", "b", "c", "list", "m", "u", "z", "\u{10FF}", "\u{2000}", "\u{F000}", "\u{1F600}", "\u{1F601}"] {
            for value in values {
                #expect(try isEdited(base, [key: value]), "\(key)")
                #expect(try isEdited([key: true, "filler": filler], [key: value, "k": value]), "\(key)")
            }
        }
        #expect(try isEdited([:], ["a": 1]))
        #expect(try !isEdited(base, base.mapValues { _ in PropertyListValue?.none }))
        #expect(try isEdited(base, [:], isSame: true))
        var keys: [String] = []
        for key in ["\u{10FF}", "\u{F000}", "\u{1F600}", "a", "\u{E000}"] {
            keys.append(key)
            var list = try EditedList(["\u{FFFD}": 1, "filler": filler])
            for key in keys { try list.edit([key: 2]) }
            // In the order of their UTF-8, so that later edits find them.
            for key in keys { try list.edit([key: nil]) }
            #expect(list.editCount == 2 * keys.count)
        }
    }

    @Test("A key in another normalization, keys in another order, and more edits than entries are written anew")
    func refused() throws {
        let base: [String: PropertyListValue] = ["a": 1, "e\u{301}": 5]
        #expect(try !isEdited(base, ["\u{E9}": 9]))
        #expect(try !isEdited(base, ["\u{E9}": nil]))
        #expect(try isEdited(base, ["e\u{301}": 9], isSame: true))
        let other = BinaryList([0xD2, 1, 2, 3, 3], Array("Qb".utf8), Array("Qa".utf8), [0x09]).data
        #expect(edited(other, of: ["a": true, "b": true], ["a": 1]) == nil)
        #expect(edited(other, of: ["a": true, "b": true], ["c": 1]) == nil)
        let many = Dictionary(uniqueKeysWithValues: (0..<20).map { ("new\($0)", PropertyListValue?.some(1)) })
        #expect(try !isEdited(base, many))
        // Entries that take long to copy are edited all at once.
        let large = Dictionary(
            uniqueKeysWithValues: (0..<20).map { ("\($0)", PropertyListValue.data(Data(repeating: UInt8($0), count: 5_000))) })
        #expect(try isEdited(large, large.mapValues { _ in 1 }))
        // The edits would be too deep inside of a list of their own.
        let deep = (0..<511).reduce(PropertyListValue.integer(1)) { value, _ in [value] }
        #expect(try !isEdited(base, ["a": deep]))
        #expect(try isEdited(base, ["a": (0..<200).reduce(PropertyListValue.integer(1)) { value, _ in [value] }]))
    }

    @Test("Sorted lists of other programs are edited, with their sizes of references and their root", arguments: 1...8)
    func others(size: Int) throws {
        func reference(_ object: Int) -> [UInt8] { BinaryList.bytes(UInt64(object), size) }
        let root = [0xD2] + [0, 3, 1, 4].flatMap(reference)
        var list = BinaryList(Array("Qa".utf8), [0x10, 7], root, Array("Qb".utf8), [0xA1] + reference(1))
        (list.root, list.referenceSize) = (2, size)
        let base: [String: PropertyListValue] = ["a": 7, "b": [7]]
        #expect(try PropertyListValue.decode(list.data).value == .dictionary(base))
        for edits in [["a": 8], ["b": nil], ["b": 1, "c": [true, "x"]], ["a": nil]] as [Edits] {
            let bytes = try #require(edited(list.data, of: base, edits))
            #expect(try PropertyListValue.decode(bytes).value == .dictionary(edits.reduce(into: base) { $0[$1.key] = $1.value }))
        }
    }

    private static let unusual: [(name: String, list: BinaryList)] = [
        (
            "a container that is shared",
            BinaryList([0xD3, 1, 2, 3, 4, 4, 4], Array("Qa".utf8), Array("Qb".utf8), Array("Qc".utf8), [0xA1, 5], [0x09])
        ),
        ("bytes of no object", BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0x10, 7, 0xFF])),
        (
            "objects that overlap",
            {
                var list = BinaryList([0xD2, 1, 2, 3, 4], Array("Qa".utf8), Array("Qb".utf8), [0x42, 0x10, 0x09])
                list.offsets = [8, 13, 15, 17, 18]
                return list
            }()
        ),
        (
            "objects that overlap, and as many bytes of none",
            {
                var list = BinaryList([0xD2, 1, 2, 3, 4], Array("Qa".utf8), Array("Qb".utf8), [0x42, 0x10, 0x09, 0xFF, 0xFF])
                list.offsets = [8, 13, 15, 17, 18]
                return list
            }()
        ),
        ("an array", BinaryList([0xA1, 1], [0x09])),
        ("an object of an unknown type that nothing refers to", BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0x10, 7], [0x70])),
    ]

    @Test("Lists with what this writer does not write are written anew", arguments: unusual.indices)
    func unusualLists(index: Int) throws {
        let (name, list) = Self.unusual[index]
        let value = try PropertyListValue.decode(list.data).value
        for key in Set(value.dictionary?.keys.map(\.self) ?? []).union(["a"]) {
            #expect(edited(list.data, of: value.dictionary ?? [:], [key: 1]) == nil, "\(name), \(key)")
        }
    }

    @Test("Offsets get wider and narrower", arguments: [200, 65_480])
    func offsetSizes(size: Int) throws {
        for added in 0..<100 {
            let base: [String: PropertyListValue] = ["a": .data(Data(count: size)), "b": 1]
            let larger = PropertyListValue.data(Data(repeating: 1, count: size + added))
            #expect(try isEdited(base, ["a": larger], isSame: true))
            #expect(try isEdited(["a": larger, "b": 1], ["a": .data(Data(count: size))], isSame: true))
        }
    }

    @Test("What readers of few bytes might refuse is written anew")
    func cost() throws {
        let long = String(repeating: "text", count: 20_000)
        let shared = PropertyListValue.array(Array(repeating: .string(long), count: 2_000))
        let base: [String: PropertyListValue] = ["a": .data(Data(repeating: 1, count: 1_000_000)), "shared": shared]
        #expect(try !isEdited(base, ["a": 1]))
        let edited = try PropertyListValue.encode(base, with: ["a": 1], as: .binary)
        #expect(try PropertyListValue.decode(edited).value == .dictionary(["a": 1, "shared": shared]))
        // Little sharing, and that of the edits themselves, is accepted.
        #expect(try isEdited(["a": .string(long), "b": .string(long), "c": .data(Data(count: 1_000_000))], ["c": 1]))
        let text = PropertyListValue.string(String(repeating: "x", count: 2_000))
        #expect(try isEdited(["a": 1], ["a": .array(Array(repeating: text, count: 1_000))]))
        #expect(try !isEdited(["a": 1], ["a": .array(Array(repeating: text, count: 5_000))]))
    }

    @Test("What another program wrote, or has damaged, gives no document or one of its size, and never a trap")
    func foreign() throws {
        let base: [String: PropertyListValue] = ["a": 1, "b": "two", "c": 2.5, "d": ["x", "y"]]
        let document = try PropertyListValue.encode(base, with: [:], as: .binary)
        for index in document.indices {
            for bit in 0..<8 {
                var damaged = document
                damaged[index] ^= 1 << bit
                for edits in [["b": "other"], ["d": nil, "new": 2]] as [Edits] {
                    #expect((edited(damaged, of: base, edits)?.count ?? 0) <= document.count + 16)
                }
            }
        }
        var cyclic = BinaryList([0xD1, 1, 2], Array("Qa".utf8))
        cyclic.offsets = [8, 11, 8]
        #expect(edited(cyclic.data, of: ["a": 1], ["a": 2]) == nil)
        var other = BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0x10, 7])
        #expect(edited(other.data, of: ["a": 7], ["a": 2]) != nil)
        other.header = Array("bplist10".utf8)
        #expect(edited(other.data, of: ["a": 7], ["a": 2]) == nil)
        #expect(edited(Data(), of: [:], ["a": 2]) == nil)
        #expect(edited(Data("<plist/>".utf8), of: [:], ["a": 2]) == nil)
    }
}
