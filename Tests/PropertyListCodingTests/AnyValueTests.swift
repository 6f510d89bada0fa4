import Foundation
import PropertyListCoding
import Testing

@Suite("Values of any type", .timeLimit(.minutes(10)))
struct AnyValueTests {
    private struct Unknown {}

    @Test("Values of Swift's types become those of a property list, and numbers keep their type")
    func converted() throws {
        let date = Date(timeIntervalSinceReferenceDate: 1)
        let values: [(Any, PropertyListValue)] = [
            ("text", "text"), (1, 1), (UInt8(1), 1), (Int64.min, .integer(PropertyListInteger(Int64.min))),
            (UInt64.max, .integer(PropertyListInteger(UInt64.max))), (true, true), (false, false), (1.0, .real(1)), (Float(0.5), 0.5),
            (date, .date(date)), (Data([1]), .data(Data([1]))), ([1, "two", [3.0]] as [Any], [1, "two", [3.0]]),
            (["a": 1, "b": [true]] as [String: Any], ["a": 1, "b": [true]]), ([1, 2], [1, 2]), (["a": "b"], ["a": "b"]),
            (Optional("text") as Any, "text"), (PropertyListValue.uid(7), .uid(7)), ([Any](), []),
        ]
        for (value, expected) in values { #expect(try PropertyListValue(value) == expected, "\(value)") }
    }

    @Test("What a property list cannot represent is an error with its path and type")
    func refused() {
        let values: [(Any, String)] = [
            (Unknown(), "a property list cannot represent this Unknown"),
            (["a": [1, Unknown()]] as [String: Any], ".a[1]: a property list cannot represent this Unknown"),
            (Optional<Int>.none as Any, "a property list cannot represent this Optional<Int>"),
            ([1: "a"], "a property list cannot represent this Dictionary<Int, String>"),
            (Int128(UInt64.max) + 1, "a property list cannot represent this Int128"),
            (NSNull(), "a property list cannot represent this NSNull"),
        ]
        for (value, reason) in values {
            #expect(throws: PropertyListError(offset: nil, reason: reason)) { try PropertyListValue(value) }
        }
    }

    @Test("A number of Foundation is never taken for another type")
    func numbers() {
        for number in [NSNumber(value: 1), NSNumber(value: true), NSNumber(value: 1.0)] {
            guard let value = try? PropertyListValue(number) else { continue }
            // Where it is converted, to what it is.
            #expect(value == (number.isEqual(NSNumber(value: true)) ? true : 1))
        }
    }

    @Test("Foundation's serialization writes the values, and they are the same when read back")
    func foundation() throws {
        let value: PropertyListValue = [
            "text": "a", "integer": 5, "large": .integer(PropertyListInteger(UInt64.max)), "real": 1.5, "yes": true, "no": false,
            "data": .data(Data([1, 2])), "date": .date(Date(timeIntervalSinceReferenceDate: 5)), "list": [1, "b", [false]],
        ]
        #expect(try PropertyListValue(value.foundationValue) == value)
        let data = try PropertyListSerialization.data(fromPropertyList: value.foundationValue, format: .binary, options: 0)
        #expect(try PropertyListValue.decode(data).value == value)
        #expect(PropertyListValue.uid(3).foundationValue as? [String: UInt64] == ["CF$UID": 3])
    }
}
