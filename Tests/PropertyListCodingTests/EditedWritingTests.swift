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

/// Editing a binary document that was written here must be read as the edited dictionary.
@Suite("Editing written binary property lists") struct BinaryEditingTests {
    typealias Edits = [String: PropertyListValue?]

    /// Whether the document could be edited; then it has the bytes of writing everything anew.
    ///
    /// - Parameter isShared: whether a value is shared before or afterwards, so that the bytes may be others.
    @discardableResult
    private func isEdited(_ base: [String: PropertyListValue], _ edits: Edits, isShared: Bool = false) throws -> Bool {
        let document = try PropertyListValue.encode(base, with: [:], as: .binary)
        guard let edited = PropertyListValue.document(document, after: edits) else { return false }
        let written = try PropertyListValue.encode(base, with: edits, as: .binary)
        if !isShared { #expect(edited == written) }
        #expect(try PropertyListValue.decode(edited).value == PropertyListValue.decode(written).value)
        return true
    }

    @Test("Random leaves are set in random dictionaries, again and again in the same document", arguments: 0..<UInt64(100))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var base: [String: PropertyListValue] = [:]
        for _ in 0..<[1, 7, 100, 300][Int(seed % 4)] { base[.random(using: &generator)] = .random(depth: Int(seed % 3), using: &generator) }
        var document = try PropertyListValue.encode(base, with: [:], as: .binary)
        var count = 0
        for _ in 0..<30 {
            var edits: Edits = [:]
            for key in base.keys.sorted().shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)) {
                edits[key] = .random(depth: 0, using: &generator)
            }
            base = edits.reduce(into: base) { $0[$1.key] = $1.value }
            guard let edited = PropertyListValue.document(document, after: edits) else {
                document = try PropertyListValue.dictionary(base).encoded(as: .binary)
                continue
            }
            #expect(try PropertyListValue.decode(edited).value == .dictionary(base))
            document = edited
            count += 1
        }
        // Containers are not replaced, and no new leaf is added.
        #expect(count > 0)
        // What the edits have left can be edited by others, and by the reader that compares two documents.
        let rewritten = try PropertyListValue.dictionary(base).encoded(as: .binary)
        #expect(PropertyListValue.changes(in: rewritten, since: document, of: { base[$0] }) ?? [:] == [:])
    }

    @Test("A value that another entry has is repeated, or referred to if the earlier one was shared as well, and a new one is added then")
    func sharing() throws {
        let base: [String: PropertyListValue] = ["a": 1, "b": 2, "c": "text", "d": 2, "e": ["x": "inside"], "name": "a"]
        #expect(try isEdited(base, ["a": 3]))
        #expect(try isEdited(base, ["c": "other"]))
        // Shared before, with another value or a key: another leaf that is there already, or is added, takes its place.
        #expect(try isEdited(base, ["b": 3], isShared: true))
        #expect(try isEdited(base, ["name": "new"], isShared: true))
        #expect(try isEdited(base, ["b": 1], isShared: true))
        #expect(try isEdited(base, ["name": "b"], isShared: true))
        // Shared afterwards: with a value, one inside a dictionary, a key.
        #expect(try isEdited(base, ["a": 2], isShared: true))
        #expect(try isEdited(base, ["c": "inside"], isShared: true))
        #expect(try isEdited(base, ["c": "name"], isShared: true))
        // Two that get equal values.
        #expect(try isEdited(base, ["a": 7, "c": 7], isShared: true))
    }

    @Test("Booleans are set to each other in place", arguments: [1, 200, 70_000])
    func booleans(count: Int) throws {
        var base = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PropertyListValue.boolean($0.isMultiple(of: 2))) })
        base["on"] = true
        base["off"] = false
        var document = try PropertyListValue.encode(base, with: [:], as: .binary)
        let size = document.count
        for (key, value) in [("on", false), ("off", true), ("0", false), ("on", true)] {
            base[key] = .boolean(value)
            document = try #require(PropertyListValue.document(document, after: [key: .boolean(value)]))
            #expect(try PropertyListValue.decode(document).value == .dictionary(base))
        }
        #expect(document.count == size)
    }

    @Test("Shared values are replaced by new ones as long as references and offsets keep their size", arguments: [240, 65_510])
    func added(count: Int) throws {
        var base = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PropertyListValue.boolean($0.isMultiple(of: 2))) })
        base["list"] = [1, ["a": true]]
        var document = try PropertyListValue.encode(base, with: [:], as: .binary)
        var edited = 0
        for number in 0..<30 {
            let value = PropertyListValue.string("new \(number)")
            guard let next = PropertyListValue.document(document, after: ["\(number)": value]) else { break }
            base["\(number)"] = value
            #expect(try PropertyListValue.decode(next).value == .dictionary(base))
            (document, edited) = (next, edited + 1)
        }
        #expect(edited > 0 && edited < 30)
        // Leaves that were added are replaced like the others.
        base["0"] = "else"
        document = try #require(PropertyListValue.document(document, after: ["0": "else"]))
        #expect(try PropertyListValue.decode(document).value == .dictionary(base))
    }

    @Test("New and removed entries, and containers, are written anew")
    func structure() throws {
        let base: [String: PropertyListValue] = ["a": 1, "list": [1, 2], "e\u{301}": 5]
        #expect(try !isEdited(base, ["b": 1]))
        #expect(try !isEdited(base, ["a": nil]))
        #expect(try !isEdited(base, ["a": [9]]))
        #expect(try !isEdited(base, ["list": 9]))
        #expect(try !isEdited(base, ["\u{E9}": 9]))
        #expect(try isEdited(base, ["e\u{301}": 9]))
        #expect(try isEdited(base, [:]))
        #expect(try !isEdited([:], ["a": 1]))
    }

    @Test("Offsets that get wider or narrower are written anew", arguments: [200, 65_480])
    func offsetSizes(size: Int) throws {
        var narrow = 0
        for added in 0..<100 {
            let base: [String: PropertyListValue] = ["a": .data(Data(count: size)), "b": 1]
            let larger = PropertyListValue.data(Data(repeating: 1, count: size + added))
            if try isEdited(base, ["a": larger]) { narrow += 1 }
            try isEdited(["a": larger, "b": 1], ["a": .data(Data(count: size))])
        }
        #expect(narrow > 0 && narrow < 100)
    }

    @Test("What readers of few bytes might refuse is written anew")
    func cost() throws {
        let long = String(repeating: "text", count: 20_000)
        let shared = PropertyListValue.array(Array(repeating: .string(long), count: 2_000))
        let base: [String: PropertyListValue] = ["a": .data(Data(repeating: 1, count: 1_000_000)), "shared": shared]
        #expect(try !isEdited(base, ["a": 1]))
        let edited = try PropertyListValue.encode(base, with: ["a": 1], as: .binary)
        #expect(try PropertyListValue.decode(edited).value == .dictionary(["a": 1, "shared": shared]))
    }

    @Test("What another program wrote, or has damaged, gives no document or one of its size, and never a trap")
    func foreign() throws {
        let base: [String: PropertyListValue] = ["a": 1, "b": "two", "c": 2.5, "d": ["x", "y"]]
        let document = try PropertyListValue.encode(base, with: [:], as: .binary)
        for index in document.indices {
            for bit in 0..<8 {
                var damaged = document
                damaged[index] ^= 1 << bit
                let edited = PropertyListValue.document(damaged, after: ["b": "other"])
                #expect((edited?.count ?? 0) <= document.count + 16)
            }
        }
        #expect(PropertyListValue.document(Data(), after: ["a": 2]) == nil)
        #expect(PropertyListValue.document(Data("<plist/>".utf8), after: ["a": 2]) == nil)
    }
}
