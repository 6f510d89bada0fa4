import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// Random edits of documents with random notation. `OBSERVABLE_STORAGE_SEED` sets the seed.
@Suite("Random edits of the text of XML", .timeLimit(.minutes(isLong ? 60 : 10))) struct XMLEditingRandomTests {
    private static let count = isLong ? 100_000 : isOptimized ? 2_000 : 500

    @Test("Leaves set at random are read back, and every byte outside of their elements is as it was")
    func leaves() throws {
        var generator = SeededGenerator(seed: firstSeed)
        for number in 0..<Self.count {
            let document = HandwrittenDocument.random(using: &generator)
            var (expected, edits) = (document, [String: PropertyListValue?]())
            for index in document.entries.indices where Bool.random(using: &generator) {
                edits.updateValue(.string("\(index)"), forKey: document.entries[index].key)
                expected.entries[index].valueText = "<string>\(index)</string>"
            }
            let text = try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values))
            #expect(text == expected.data, "seed \(firstSeed), document \(number)")
            #expect(try PropertyListValue.decode(text).value == .dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value }))
        }
    }

    @Test("Values edited, removed and added at random at any depth are read back, and unchanged entries keep their text and order")
    func anything() throws {
        var generator = SeededGenerator(seed: firstSeed)
        for number in 0..<Self.count {
            let document = HandwrittenDocument.random(using: &generator)
            var edits: [String: PropertyListValue?] = [:]
            for (key, value) in document.values.sorted(by: { $0.key < $1.key }) where Bool.random(using: &generator) {
                edits.updateValue(value.edited(using: &generator), forKey: key)
            }
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                edits["new \(generator.next() % 100)"] = .random(depth: 2, using: &generator)
            }
            let expected = PropertyListValue.dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value })
            let data = try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values))
            #expect(try PropertyListValue.decode(data).value == expected, "seed \(firstSeed), document \(number)")
            let text = String(decoding: data, as: UTF8.self).unicodeScalars
            var rest = Substring.UnicodeScalarView(text)
            for entry in document.entries where edits[entry.key] == nil {
                let range = try #require(rest.firstRange(of: entry.text.unicodeScalars), "seed \(firstSeed), document \(number)")
                rest = rest[range.upperBound...]
            }
        }
    }

    @Test("plistlib reads edited documents as the edited values", .enabled(if: ProgramOracleTests.hasPython))
    func plistlib() throws {
        var generator = SeededGenerator(seed: firstSeed)
        var (files, expected) = ([Data](), [PropertyListValue]())
        for _ in 0..<300 {
            let document = HandwrittenDocument.random(using: &generator)
            var edits: [String: PropertyListValue?] = ["new": ["a": [1, .data(Data([1, 2, 3]))]]]
            for (key, value) in document.values.sorted(by: { $0.key < $1.key }).prefix(3) {
                edits.updateValue(value.edited(using: &generator), forKey: key)
            }
            files.append(try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values)))
            expected.append(.dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value }))
        }
        let answers = try Oracle.plistlib(files)
        try #require(answers.count == files.count)
        for (index, value) in expected.enumerated() where answers[index] != .read(value.millisecondText) {
            Issue.record("seed \(firstSeed), document \(index): \(String(decoding: files[index], as: UTF8.self))")
        }
    }
}
