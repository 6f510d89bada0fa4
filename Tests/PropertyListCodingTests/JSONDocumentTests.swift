import Foundation
import PropertyListCoding
import Testing

@Suite("JSON files", .timeLimit(.minutes(10)))
struct JSONDocumentTests {
    private func read(_ text: String) throws -> PropertyListValue {
        let (value, format) = try PropertyListValue.decode(Data(text.utf8))
        #expect(format == .json)
        return value
    }

    @Test(
        "Comments, commas after the last element, and null as the value of a member are read",
        arguments: [
            ("{}", [:]), ("[]", []), (" \n[ ] ", []), ("\u{FEFF}{\"a\": 1}", ["a": 1]), ("// a\n{\"a\": 1}", ["a": 1]),
            ("/* { */ {\"a\": /* 1 */ 2 /**/, // b\r\n \"c\" /***/ : [1, 2, /* // */ ], } // end", ["a": 2, "c": [1, 2]]),
            ("{\"a\": null}", [:]), ("{\"a\": null, \"b\": [{\"c\": null}], \"d\": 1,}", ["b": [[:]], "d": 1]),
            ("{\"a\": \"// no comment /* */\"}", ["a": "// no comment /* */"]), ("[1,\n2,\n]//", [1, 2]),
            ("{\"\": [true, false]}", ["": [true, false]]),
        ] as [(String, PropertyListValue)])
    func extensions(_ text: String, _ value: PropertyListValue) throws {
        #expect(try read(text) == value)
    }

    @Test("What is written for a type that JSON does not have is not interpreted")
    func lookalikes() throws {
        #expect(try read("{\"a\": {\"CF$UID\": 3}, \"b\": {\"$data\": \"AA==\"}}") == ["a": ["CF$UID": 3], "b": ["$data": "AA=="]])
    }

    @Test("Integers are exact up to 64 bits, and reals are those that are written")
    func numbers() throws {
        let value: PropertyListValue = [
            .integer(PropertyListInteger(UInt64.max)), .integer(PropertyListInteger(Int64.min)), 0, 0, .real(-0.0), 1.0, 100.0, 0.1,
            .real(.leastNonzeroMagnitude),
            0.0,
        ]
        #expect(try read("[18446744073709551615, -9223372036854775808, 0, -0, -0.0, 1.0, 1E2, 0.1, 4.9e-324, 1e-999]") == value)
    }

    @Test(
        "An error has the line and the column, and the reason",
        arguments: [
            ("{\n  \"a\": 1,\n  \"a\": 2\n}", 3, 3, "the key \"a\" is given twice"),
            ("{\"a\": null,\n \"a\": 2}", 2, 2, "the key \"a\" is given twice"),
            ("{\"é\": 1,\n\"e\u{301}\": 2}", 2, 1, "differ only in their Unicode normalization"),
            ("[1,\r\n null]", 2, 2, "no null"), ("[18446744073709551616]", 1, 2, "out of range"),
            ("{\"a\": -9223372036854775809}", 1, 7, "out of range"), ("[1e400]", 1, 2, "out of range"), ("[1,,]", 1, 4, "not a value"),
            ("[,]", 1, 2, "not a value"), ("{\"a\": 1,,}", 1, 9, "a string is missing"), ("{\"a\": 1 \"b\": 2}", 1, 9, "comma"),
            ("{\"a\": 'b'}", 1, 7, "not a value"), ("{\"a\": undefined}", 1, 7, "not a value"), ("{\"a\": 1} x", 1, 10, "follows"),
            ("{\"a\": 1", 1, 8, "comma"), ("[\"a\nb\"]", 1, 4, "control character"), ("{\"a\": /* b", 1, 7, "comment does not end"),
            ("[\"\\ud83d\"]", 1, 9, "half a surrogate"), ("[\"\\udc00\\ud83d\"]", 1, 9, "half a surrogate"), ("[1 / 2]", 1, 4, "comma"),
            ("{\"a\": [1, 2}", 1, 12, "comma or ]"), ("[\"\u{1}\"]", 1, 3, "control character"), ("[\"\\u12x4\"]", 1, 5, "hexadecimal"),
        ])
    func errors(_ text: String, _ line: Int, _ column: Int, _ reason: String) throws {
        let error = try #require(failure(of: Data(text.utf8)))
        #expect(error.reason.contains(reason), "\(error)")
        #expect((error.line, error.column) == (line, column), "\(error)")
    }

    @Test("The error of a number is short, however long the number is")
    func longNumber() throws {
        for number in [String(repeating: "9", count: 100_000), "1" + String(repeating: "0", count: 100_000) + ".5"] {
            let error = try #require(failure(of: Data("[\(number)]".utf8)))
            #expect(error.reason.contains("out of range") && error.reason.count < 200)
            #expect(error.column == 2)
        }
    }

    @Test("Text that is not UTF-8 is an error at its offset")
    func encoding() throws {
        let error = try #require(failure(of: Data("{\"a\": \"".utf8) + [0xC3, 0x28] + Data("\"}".utf8)))
        #expect(error.offset == 7)
        #expect(error.reason.contains("UTF-8"))
    }

    @Test(
        "UTF-16 and UTF-32 are read, with and without a byte order mark",
        arguments: [
            String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian, .utf32, .utf32BigEndian, .utf32LittleEndian,
        ])
    func wide(encoding: String.Encoding) throws {
        let data = try #require("{\"ä\": [1, \"🙂\"]} // é".data(using: encoding))
        #expect(try PropertyListValue.decode(data) == (["ä": [1, "🙂"]], .json))
        let wrong = try #require("{\"ä\":\n [1, \"🙂\" 2]}".data(using: encoding))
        let error = try #require(failure(of: wrong))
        #expect((error.line, error.column) == (2, 10))
    }

    @Test("Bytes that nest 513 levels are an error at the last level")
    func depth() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        _ = try read(deep)
        #expect(failure(of: Data("[\(deep)]".utf8))?.offset == 512)
        #expect(failure(of: Data(String(repeating: "[", count: 1_000_000).utf8))?.offset == 512)
    }

    // MARK: Writing

    @Test("A new file has a line for each value, two spaces for each level, and sorted keys")
    func layout() throws {
        let value: PropertyListValue = [
            "b": [1, [], [:], ["x": [true]]], "a": "text", "é": .real(1), "Z": .integer(PropertyListInteger(UInt64.max)), "e": .real(1e300),
        ]
        let text = """
            {
              "Z": 18446744073709551615,
              "a": "text",
              "b": [
                1,
                [],
                {},
                {
                  "x": [
                    true
                  ]
                }
              ],
              "e": 1e+300,
              "é": 1.0
            }

            """
        #expect(String(decoding: try value.encoded(as: .json), as: UTF8.self) == text)
        #expect(try PropertyListValue.dictionary([:]).encoded(as: .json) == Data("{}\n".utf8))
    }

    @Test(
        "A value that JSON has no form for is an error that names its type",
        arguments: [
            (.date(.distantPast), "dates"), (.data(Data()), "data"), (.uid(1), "uids"), (.real(.nan), "nan"), (.real(-.infinity), "-inf"),
        ] as [(PropertyListValue, String)])
    func unencodable(_ value: PropertyListValue, _ name: String) {
        for container: PropertyListValue in [[value], ["a": ["b": [value]]]] {
            let error = #expect(throws: PropertyListError.self) { try container.encoded(as: .json) }
            #expect(error?.reason.contains(name) == true && error?.refusedType == value.typeName)
        }
    }

    @Test("A file holds a dictionary or an array")
    func roots() {
        for value in ["a", 1, 1.5, true] as [PropertyListValue] {
            #expect(throws: PropertyListError.self) { try value.encoded(as: .json) }
        }
    }

    @Test("Every string, integer, real and key that can be written is read back equal")
    func roundTrip() throws {
        let texts = Sample.texts + Sample.markedTexts + Sample.binaryTexts
        let keys = Dictionary(uniqueKeysWithValues: Set(texts + Sample.keys).map { ($0, PropertyListValue.string($0)) })
        let value: PropertyListValue = [
            "texts": .array(texts.map { .string($0) }), "integers": .array(Sample.integers.map { .integer($0) }),
            "reals": .array(Sample.reals.filter(\.isFinite).map { .real($0) }), "keys": .dictionary(keys), "deep": nested(500),
        ]
        #expect(try PropertyListValue.decode(value.encoded(as: .json)) == (value, .json))
    }
}
