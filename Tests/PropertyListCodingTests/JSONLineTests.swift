import Foundation
import PropertyListCoding
import Testing

@Suite("JSON on one line", .timeLimit(.minutes(10)))
struct JSONLineTests {
    @Test(
        "Every type has one text",
        arguments: [
            (PropertyListValue.integer(PropertyListInteger(UInt64.max)), "18446744073709551615"),
            (.integer(PropertyListInteger(Int64.min)), "-9223372036854775808"), (.real(1), "1.0"), (.real(-0.0), "-0.0"),
            (.real(0.1), "0.1"), (.real(1e300), "1e+300"), (.real(.nan), "\"nan\""), (.real(.infinity), "\"inf\""),
            (.real(-.infinity), "\"-inf\""), (true, "true"), (false, "false"), (.data(Data([0, 1, 2])), "\"AAEC\""),
            (.date(Date(timeIntervalSinceReferenceDate: 0.5)), "\"2001-01-01T00:00:00.5Z\""), (.uid(7), "{\"CF$UID\":7}"),
            (.array([]), "[]"), (.array([1, "a"]), "[1,\"a\"]"), (.dictionary([:]), "{}"),
        ])
    func types(_ value: PropertyListValue, _ text: String) {
        #expect(value.json == text)
    }

    @Test("Keys are sorted by their UTF-8 bytes")
    func order() {
        let value: PropertyListValue = ["é": 1, "z": 2, "e\u{301}a": 3, "Z": 4, "\u{1F600}": 5, "\u{FFFD}": 6, "a": 7]
        #expect(
            value.json
                == "{\"Z\":4,\"a\":7,\"e\u{301}a\":3,\"z\":2,\"é\":1,\"\u{FFFD}\":6,\"\u{1F600}\":5}")
    }

    @Test("Line breaks, control characters and bidirectional formatting are escaped, a slash is not")
    func escapes() {
        let text = "a/\"\\\n\r\t\u{0}\u{1b}\u{7f}\u{85}\u{2028}\u{202e}\u{2066}\u{200e}\u{61c}é😀"
        #expect(text.quoted == #""a/\"\\\n\r\t\u0000\u001b\u007f\u0085\u2028\u202e\u2066\u200e\u061cé😀""#)
    }

    @Test("Reals, integers and nested values are read back equal")
    func roundTrip() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<1000 {
            let real = Double(bitPattern: generator.next())
            guard real.isFinite else { continue }
            let value: PropertyListValue = [
                "a": [.real(real), .integer(PropertyListInteger(generator.next() as UInt64))], "\u{1}\u{2028}": true,
            ]
            #expect(try JSONReader.value(of: value.json) == value)
        }
    }

    @Test("Escaped characters are found at any position, and nothing else is escaped")
    func everyCharacter() throws {
        let directions: [ClosedRange<UInt32>] = [0x61C...0x61C, 0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069]
        let others: [ClosedRange<UInt32>] = [0...0x1F, 0x22...0x22, 0x5C...0x5C, 0x7F...0x9F, 0x2028...0x2029]
        let isEscaped: (UInt32) -> Bool = { value in (directions + others).contains { $0.contains(value) } }
        for scalar in (0...0x2100).compactMap({ Unicode.Scalar($0 as UInt32) }) + ["\u{FFFF}", "\u{10FFFF}"] {
            for text in ["\(scalar)", "é\(scalar)", "\(scalar)\(scalar)日"] {
                let quoted = text.quoted
                #expect((quoted.unicodeScalars.count == text.unicodeScalars.count + 2) != isEscaped(scalar.value), "\(scalar.value)")
                #expect(try JSONReader.value(of: quoted) == .string(text))
            }
        }
    }

    @Test("Data of any size is written as base64", arguments: [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 100_000])
    func data(size: Int) {
        let data = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        #expect(PropertyListValue.data(data.dropFirst(0)).json == "\"\(data.base64EncodedString())\"")
    }
}
