import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("Values as a storage has them", .timeLimit(.minutes(10)))
struct StoredValuesTests {
    /// The same values, decoded and encoded.
    private func forms(of values: [String: PropertyListValue]) throws -> [StoredValues] {
        [StoredValues(values), StoredValues(try #require(LazyEntries(try PropertyListValue.dictionary(values).encoded(as: .binary))))]
    }

    @Test("A name is found as in a dictionary, in any equivalent form")
    func equivalentNames() throws {
        for values in try forms(of: ["K": 1, ";": 2]) {
            #expect(values["K"] == 1 && values["\u{212A}"] == 1 && values["\u{37E}"] == 2)
            #expect(values["k"] == nil && values["\u{E9}"] == nil && values[""] == nil)
            #expect(values.count == 2 && values.names.sorted() == [";", "K"] && values.values == ["K": 1, ";": 2])
        }
    }

    @Test("The characters that are equal to one of ASCII are known")
    func equivalentCharacters() {
        let ascii = Set((0..<0x80 as Range<UInt8>).map { String(UnicodeScalar($0)) })
        for scalar in (0x80...0x10FFFF as ClosedRange<UInt32>).lazy.compactMap(UnicodeScalar.init) {
            let character = String(scalar)
            guard ascii.contains(character) || character.inASCII != nil else { continue }
            #expect(character.inASCII == character && character.inASCII?.utf8.count == 1)
        }
        #expect("a\u{212A}\u{37E}\u{1FEF}\r\n".inASCII.map { Array($0.utf8) } == Array("aK;`\r\n".utf8))
        #expect("K\u{301}".inASCII == nil && "\u{226E}".inASCII == nil && "\u{212A}\u{E9}".inASCII == nil)
    }

    @Test("A value is found, and hidden, without decoding it")
    func hidden() throws {
        for start in try forms(of: ["K": 1, "b": [2]]) {
            var values = start
            #expect(values.contains("K") && values.contains("\u{212A}") && !values.contains("k") && !values.contains("\u{E9}"))
            values.hide("b")
            #expect(!values.contains("b") && values["b"] == nil && values.count == 1 && values.names == ["K"] && values.values == ["K": 1])
        }
    }

    @Test("Values that are removed or merged are those of a dictionary")
    func edits() throws {
        for start in try forms(of: ["a": 1, "b": [2], "c": "three"]) {
            var values = start
            #expect(values.remove("b") == [2] && values.remove("b") == nil && values.remove("d") == nil && values["b"] == nil)
            #expect(values.count == 2 && values.names.sorted() == ["a", "c"] && values.values == ["a": 1, "c": "three"])
            #expect(values.remove("a") == 1 && values.count == 1 && values["a"] == nil && values["c"] == "three")
            #expect(values.remove("c") == "three" && values.isEmpty && values.names.isEmpty && values.values.isEmpty)
            values = start
            values.merge(["a": .none, "b": 5, "d": 6])
            #expect(values.values == ["b": 5, "c": "three", "d": 6] && start.count == 3 && start["a"] == 1)
        }
    }
}
