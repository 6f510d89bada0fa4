import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Round trips") struct RoundTripTests {
    @Test("Values that both formats can represent are read back bit for bit", arguments: PropertyListFormat.ofEveryType)
    func common(format: PropertyListFormat) throws {
        let data = try Sample.common.encoded(as: format)
        let (value, found) = try PropertyListValue.decode(data)
        #expect(value == Sample.common)
        #expect(found == format)
    }

    @Test("Every leaf is read back bit for bit, as the root", arguments: PropertyListFormat.ofEveryType)
    func roots(format: PropertyListFormat) throws {
        var leaves: [PropertyListValue] = [true, false, [], [:]]
        leaves += (Sample.texts + Sample.markedTexts).map { .string($0) }
        leaves += Sample.integers.map { .integer($0) }
        leaves += Sample.reals.map { .real($0) }
        leaves += Sample.dates.map { .date($0) }
        leaves += Sample.data.map { .data($0) }
        leaves += (Sample.uids + [.max]).map { .uid($0) }
        for leaf in leaves {
            #expect(try PropertyListValue.decode(leaf.encoded(as: format)).value == leaf)
        }
    }

    @Test("Keys that look like paths, are empty or begin with a byte order mark are read back", arguments: PropertyListFormat.allCases)
    func keys(format: PropertyListFormat) throws {
        let keys = Sample.keys + Sample.markedTexts + (format == .xml ? [] : Sample.binaryTexts)
        let value = PropertyListValue.dictionary(
            Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, .integer(PropertyListInteger(Int64($0)))) }))
        #expect(try PropertyListValue.decode(value.encoded(as: format)).value == value)
    }

    @Test("Binary preserves control characters, fractions of seconds and the bits of NaN")
    func binaryOnly() throws {
        let odd = Double(bitPattern: 0xFFF8_0000_0000_1234)
        let value: PropertyListValue = .array(
            Sample.binaryTexts.map { .string($0) } + Sample.fractionalDates.map { .date($0) }
                + [.real(odd), .date(Date(timeIntervalSinceReferenceDate: .nan)), .date(.distantPast), ["CF$UID": 1]])
        #expect(try PropertyListValue.decode(value.encoded(as: .binary)).value == value)
    }

    @Test(
        "Equal values are written as the same bytes, whatever the order in which their dictionaries were made",
        arguments: PropertyListFormat.allCases)
    func deterministic(format: PropertyListFormat) throws {
        let pairs = (0..<500).map { ("key\($0)", PropertyListValue.integer(PropertyListInteger(Int64($0)))) } + [("é", true), ("", false)]
        let forward = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: pairs))
        var entries: [String: PropertyListValue] = [:]
        for (key, value) in pairs.reversed() { entries[key] = value }
        #expect(try forward.encoded(as: format) == PropertyListValue.dictionary(entries).encoded(as: format))
    }
}
