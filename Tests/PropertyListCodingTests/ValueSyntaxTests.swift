import Foundation
import PropertyListCoding
import Testing

@Suite("Values as typed text", .timeLimit(.minutes(10)))
struct ValueSyntaxTests {
    @Test(
        "Each type has its syntax",
        arguments: [
            (ValueSyntax.string, "5", PropertyListValue.string("5")), (.string, "", ""),
            (.int, "-9223372036854775808", .integer(PropertyListInteger(Int64.min))),
            (.int, "18446744073709551615", .integer(PropertyListInteger(UInt64.max))), (.int, "+7", 7),
            (.real, "1", .real(1)), (.real, "-0", .real(-0.0)), (.real, "5e-324", .real(.leastNonzeroMagnitude)),
            (.real, "-inf", .real(-.infinity)),
            (.bool, "true", true), (.bool, "YES", true), (.bool, "1", true), (.bool, "false", false), (.bool, "no", false),
            (.bool, "0", false),
            (.date, "2001-01-01T00:00:01Z", .date(Date(timeIntervalSinceReferenceDate: 1))),
            (.data, "AAEC", .data(Data([0, 1, 2]))), (.data, "", .data(Data())), (.json, "[1]", .array([1])),
        ])
    func syntax(_ syntax: ValueSyntax, _ text: String, _ value: PropertyListValue) throws {
        #expect(try syntax.value(text) == value)
    }

    @Test(
        "Anything else is an error",
        arguments: [
            (ValueSyntax.int, "18446744073709551616"), (.int, "-9223372036854775809"), (.int, "1.0"), (.int, ""), (.int, " 1"),
            (.real, "one"), (.real, "1e999"), (.bool, "maybe"), (.bool, ""), (.date, "tomorrow"), (.data, "A"), (.data, "===="),
            (.data, "AA=A"), (.data, "AA==AA=="), (.data, "AB=="), (.data, "AA"), (.data, "AA ="), (.json, "{"),
        ])
    func errors(_ syntax: ValueSyntax, _ text: String) {
        #expect(throws: PropertyListError.self) { try syntax.value(text) }
    }

    @Test(
        "A text is read in each syntax that it has: numbers are not booleans, and JSON only arrays and dictionaries",
        arguments: [
            ("1", ["1", 1]), ("1.5", ["1.5", 1.5]), ("Yes", ["Yes", true]), ("[1]", ["[1]", [1]]), ("\"a\"", ["\"a\""]),
            ("", ["", .data(Data())]),
            ("1e999", ["1e999"]), ("true", ["true", true, .data(Data([0xB6, 0xBB, 0x9E]))]),
            ("2001-01-01T00:00:00.5Z", ["2001-01-01T00:00:00.5Z", .date(Date(timeIntervalSinceReferenceDate: 0.5))]),
        ] as [(String, [PropertyListValue])])
    func readings(_ text: String, _ values: [PropertyListValue]) {
        #expect(ValueSyntax.readings(of: text) == values)
    }
}
