import Foundation
import PropertyListCoding
import Testing

@Suite("Reading JSON", .timeLimit(.minutes(10)))
struct JSONReaderTests {
    @Test("In typed JSON, an object with a tag is a value of its type, and an error if it is not valid")
    func typed() throws {
        #expect(try JSONReader.value(of: #"{"$data":"AAE="}"#, isTyped: true) == .data(Data([0, 1])))
        #expect(try JSONReader.value(of: #"{"$data":"AAE="}"#) == ["$data": "AAE="])
        #expect(try JSONReader.value(of: #"{"$dictionary":{"$data":"AAE="}}"#, isTyped: true) == ["$data": "AAE="])
        for text in [#"{"$data":"A"}"#, #"{"$date":5}"#, #"{"$real":"x"}"#, #"{"$dictionary":[]}"#, #"{"$dictionary":{},"a":1}"#] {
            #expect(throws: PropertyListError.self) { try JSONReader.value(of: text, isTyped: true) }
        }
    }

    @Test(
        "Integers, reals and booleans are distinct",
        arguments: [
            ("1", PropertyListValue.integer(1)), ("1.0", .real(1)), ("1e2", .real(100)), ("true", true), ("-0", 0), ("-0.0", .real(-0.0)),
            ("18446744073709551615", .integer(PropertyListInteger(UInt64.max))),
            ("-9223372036854775808", .integer(PropertyListInteger(Int64.min))),
        ])
    func scalars(_ text: String, _ value: PropertyListValue) throws {
        #expect(try JSONReader.value(of: text) == value)
    }

    @Test("Structures and spaces are parsed, also an archive's reference")
    func structures() throws {
        let value = try JSONReader.value(of: " { \"a\" : [ ] , \"b\":{},\"c\":[1 , \"x\"],\r\n\t\"d\":{\"CF$UID\":3}} ")
        #expect(value == ["a": [], "b": [:], "c": [1, "x"], "d": .uid(3)])
    }

    @Test("Escapes are parsed, also surrogate pairs")
    func escapes() throws {
        #expect(try JSONReader.value(of: #""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000""#) == .string("\"\\/\u{8}\u{c}\n\r\té😀\0"))
    }

    @Test(
        "Invalid JSON, or a value that is not a property list, is an error with an offset",
        arguments: [
            ("", 0, "a value is missing"), ("1 2", 2, "something follows the value"), ("[1", 2, "a comma or ] is missing"),
            ("[1,]", 3, "this is not a value"), ("[,1]", 1, "this is not a value"), ("{\"a\" 1}", 5, "a colon is missing"),
            ("{a:1}", 1, "a string is missing"), ("{\"a\":1,}", 7, "a string is missing"), ("01", 1, "something follows the value"),
            ("1.", 2, "a digit is missing"), ("-", 1, "a digit is missing"), (".5", 0, "this is not a value"),
            ("1e", 2, "a digit is missing"), ("+1", 0, "this is not a value"), ("NaN", 0, "this is not a value"),
            ("\"\n\"", 1, "a control character in a string"), ("\"a", 2, "a string does not end"), ("\"\\x\"", 2, "an unknown escape"),
            ("\"\\ud800\"", 7, "half a surrogate pair"), ("\"\\ud800\\u0041\"", 13, "half a surrogate pair"),
            ("1 // one", 2, "something follows the value"), ("[/* one */ 1]", 1, "this is not a value"),
            ("\"\\u00g0\"", 3, "four hexadecimal digits are missing"),
            ("[null]", 1, "a property list has no null"), ("{\"a\":1,\"a\":2}", 7, "the key \"a\" is given twice"),
            ("{\"\u{e9}\":1,\"e\u{301}\":2}", 8, "the key \"e\u{301}\" is given twice"),
            ("18446744073709551616", 0, "the number 18446744073709551616 is out of range"),
            ("1e999", 0, "the number 1e999 is out of range"),
        ])
    func errors(_ text: String, _ offset: Int, _ reason: String) {
        let error = PropertyListError(offset: offset, reason: "not JSON for a property list: \(reason)")
        #expect(throws: error) { try JSONReader.value(of: text) }
    }

    @Test("512 levels are read, one more is not")
    func depth() throws {
        let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        _ = try JSONReader.value(of: deep)
        #expect(throws: PropertyListError.self) { try JSONReader.value(of: "[\(deep)]") }
        #expect(throws: PropertyListError.self) { try JSONReader.value(of: String(repeating: "[", count: 1_000_000)) }
    }
}
