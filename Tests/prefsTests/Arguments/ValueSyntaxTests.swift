import Foundation
import PropertyListCoding
import Testing

@testable import prefs

@Suite("Values on the command line", .timeLimit(.minutes(10)))
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
        #expect(throws: CommandError.self) { try syntax.value(text) }
    }
}
