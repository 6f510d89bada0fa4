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
