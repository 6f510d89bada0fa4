import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("PropertyListSerialization") struct FoundationOracleTests {
    /// The common sample, and random values.
    static let values: [PropertyListValue] = {
        var generator = SeededGenerator(seed: 1)
        return [Sample.common] + (0..<300).map { _ in PropertyListValue.random(using: &generator) }
    }()

    private func read(_ data: Data) throws -> PropertyListValue? {
        PropertyListValue(foundation: try PropertyListSerialization.propertyList(from: data, format: nil))
    }

    @Test("Reads what was written, bit for bit", arguments: PropertyListFormat.ofEveryType)
    func reads(format: PropertyListFormat) throws {
        for value in Self.values {
            #expect(try read(value.encoded(as: format)) == value)
        }
    }

    @Test("Reads fractions of seconds, control characters and a leading U+FEFF from binary")
    func readsBinary() throws {
        let value: PropertyListValue = .array(
            (Sample.binaryTexts + Sample.markedTexts).map { .string($0) } + Sample.fractionalDates.map { .date($0) })
        #expect(try read(value.encoded(as: .binary)) == value)
    }

    @Test("Writes what was read, bit for bit except for the sign of zero in XML", arguments: PropertyListFormat.ofEveryType)
    func writes(format: PropertyListFormat) throws {
        for value in Self.values {
            let data = try PropertyListSerialization.data(fromPropertyList: value.foundation, format: format.foundation, options: 0)
            let written = try PropertyListValue.decode(data)
            #expect(written.format == format)
            if format == .binary {
                #expect(written.value == value)
            } else {
                #expect(written.value == value.withoutNegativeZero)
            }
        }
    }

    @Test("Writes control characters, U+FEFF and years before 1 as XML, and they can be read")
    func writesOddXML() throws {
        let texts = Sample.binaryTexts + Sample.markedTexts
        let value = PropertyListValue.array(texts.map { .string($0) } + [.date(.distantPast), .date(.distantFuture)])
        let data = try PropertyListSerialization.data(fromPropertyList: value.foundation, format: .xml, options: 0)
        #expect(try PropertyListValue.decode(data).value == value)
    }

    @Test("Preserves uids that it reads", arguments: PropertyListFormat.ofEveryType)
    func uids(format: PropertyListFormat) throws {
        let value = PropertyListValue.array(Sample.uids.map { .uid($0) })
        let object = try PropertyListSerialization.propertyList(from: value.encoded(as: format), format: nil)
        for written in PropertyListFormat.ofEveryType {
            let data = try PropertyListSerialization.data(fromPropertyList: object, format: written.foundation, options: 0)
            #expect(try PropertyListValue.decode(data).value == value)
        }
    }

    @Test("Formats XML in the same way")
    func layout() throws {
        let value: PropertyListValue = [
            "array": [1, "two", true, [], [:], .data(Data(repeating: 7, count: 200))],
            "data": .data(Data(repeating: 7, count: 120)), "date": .date(.distantFuture), "empty": "", "escaped": "<&>\"'",
            "nested": nested(10, around: .data(Data(repeating: 1, count: 60))),
        ]
        let expected = try PropertyListSerialization.data(fromPropertyList: value.foundation, format: .xml, options: 0)
        #expect(String(decoding: try value.encoded(as: .xml), as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    }
}

extension PropertyListValue {
    /// The value as Foundation's XML represents it, in which -0.0 is 0.0.
    fileprivate var withoutNegativeZero: PropertyListValue {
        switch self {
        case .real(let real): .real(real == 0 ? 0 : real)
        case .array(let elements): .array(elements.map(\.withoutNegativeZero))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.withoutNegativeZero))
        default: self
        }
    }
}
