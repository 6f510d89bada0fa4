import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Values") struct ValueTests {
    @Test("An integer has one representation")
    func integerEquality() {
        #expect(PropertyListInteger(UInt64(5)) == PropertyListInteger(Int64(5)))
        #expect(PropertyListInteger(Int64(-1)) != PropertyListInteger(UInt64.max))
        #expect(PropertyListInteger(exactly: Int8(-5))?.value(as: Int.self) == -5)
        #expect(PropertyListInteger(UInt64.max).value(as: Int64.self) == nil)
    }

    @Test("Values that differ in a bit are not equal", arguments: differentPairs)
    func different(left: PropertyListValue, right: PropertyListValue) {
        #expect(left != right)
        #expect(right != left)
        #expect(["k": left] as PropertyListValue != ["k": right])
        #expect([left] as PropertyListValue != [right])
        #expect(left == left)
        #expect(nested(12, around: left) != nested(12, around: right))
    }

    static let differentPairs: [(PropertyListValue, PropertyListValue)] = [
        (1, 1.0), (1, true), (0, false), ("1", 1), (.uid(1), 1), (0.0, -0.0),
        (.real(.nan), .real(Double(bitPattern: 0xFFF8_0000_0000_0000))),
        ("\u{E9}", "e\u{301}"), (["\u{E9}": 1], ["e\u{301}": 1]), (["a": 1], ["b": 1]), (["a": 1], ["a": 1, "b": 1]), ([], [:]),
        ([1], [1, 2]), ([1, 2], [2, 1]),
        (.date(Date(timeIntervalSinceReferenceDate: 0)), .date(Date(timeIntervalSinceReferenceDate: -0.0))),
        (.data(Data([1])), .data(Data([2]))), ("", []), ("a", "aa"),
    ]

    @Test("Equal values have equal hashes, whatever the order in which their dictionaries were made")
    func hashes() {
        var forward: [String: PropertyListValue] = [:]
        var backward: [String: PropertyListValue] = [:]
        for number in 0..<100 { forward["\(number)"] = .uid(UInt64(number)) }
        for number in (0..<100).reversed() { backward["\(number)"] = .uid(UInt64(number)) }
        #expect(PropertyListValue.dictionary(forward) == .dictionary(backward))
        #expect(PropertyListValue.dictionary(forward).hashValue == PropertyListValue.dictionary(backward).hashValue)
        #expect(Set([Sample.common, Sample.common, [Sample.common]]).count == 2)
        #expect(PropertyListValue.real(.nan).hashValue == PropertyListValue.real(.nan).hashValue)
    }

    @Test("Rounding returns the value as it is read back, for each format")
    func rounding() throws {
        let odd = Double(bitPattern: 0xFFF8_0000_0000_1234)
        let value: PropertyListValue = [
            "dates": .array((Sample.fractionalDates + Sample.dates).map { .date($0) }), "odd": .real(odd),
            "zero": .date(Date(timeIntervalSinceReferenceDate: -0.0)),
            "deep": [["a": [.date(Date(timeIntervalSinceReferenceDate: 1.5)), 1.5]], "text"], "common": Sample.common,
        ]
        #expect(value.rounded(for: .binary) == value)
        #expect(value.rounded(for: .xml) != value)
        for format in PropertyListFormat.ofEveryType {
            #expect(try PropertyListValue.decode(value.encoded(as: format)).value == value.rounded(for: format))
            #expect(value.rounded(for: format).rounded(for: format) == value.rounded(for: format))
        }
        #expect(Sample.common.rounded(for: .xml) == Sample.common)
        #expect(
            PropertyListValue.date(Date(timeIntervalSinceReferenceDate: -0.5)).rounded(for: .xml)
                == .date(Date(timeIntervalSinceReferenceDate: -1)))
    }

    @Test("Literals and type names match the cases")
    func literals() {
        #expect(
            ["a": [1, 2.5, true, "b"]] as PropertyListValue
                == .dictionary(["a": .array([.integer(1), .real(2.5), .boolean(true), .string("b")])]))
        #expect(
            (["", 1, 1.5, true, [], [:], .uid(1), .data(Data()), .date(.distantPast)] as [PropertyListValue]).map(\.typeName)
                == ["string", "integer", "real", "boolean", "array", "dictionary", "uid", "data", "date"])
    }
}
