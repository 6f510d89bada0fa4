import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Coding values with other coders") struct ValueCodableTests {
    private struct Document: Codable, Equatable {
        var title: String
        var contents: PropertyListValue
    }

    private func throughJSON(_ value: PropertyListValue) throws -> PropertyListValue {
        try JSONDecoder().decode(PropertyListValue.self, from: JSONEncoder().encode(value))
    }

    @Test("PropertyListEncoder writes the same property list", arguments: 0..<20)
    func propertyListEncoder(seed: UInt64) throws {
        let value = Self.random(seed: seed)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let data = try encoder.encode(value)
        #expect(try PropertyListValue.decode(data).value == value)
        let object = try PropertyListSerialization.propertyList(from: data, format: nil)
        #expect(PropertyListValue(foundation: object) == value)
    }

    @Test("PropertyListDecoder reads what Foundation wrote, except that whole reals are integers", arguments: 0..<20)
    func propertyListDecoder(seed: UInt64) throws {
        let value = Self.random(seed: seed)
        let data = try PropertyListSerialization.data(fromPropertyList: value.foundation, format: .binary, options: 0)
        #expect(try PropertyListDecoder().decode(PropertyListValue.self, from: data) == value.withoutWholeReals)
    }

    @Test("JSON preserves all but dates, data and whole reals", arguments: 0..<20)
    func json(seed: UInt64) throws {
        let value = Self.random(seed: seed)
        #expect(try throughJSON(value) == value.inJSON.withoutWholeReals)
    }

    @Test("The strategies of a coder apply to dates and data, not to keys")
    func strategies() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.dateEncodingStrategy = .iso8601
        encoder.dataEncodingStrategy = .deferredToData
        encoder.keyEncodingStrategy = .convertToSnakeCase
        let document = Document(
            title: "a", contents: ["aKey": .date(Date(timeIntervalSinceReferenceDate: 0)), "bytes": .data(Data([1, 2])), "b_key": 1.5])
        let data = try encoder.encode(document)
        #expect(
            String(decoding: data, as: UTF8.self)
                == #"{"contents":{"aKey":"2001-01-01T00:00:00Z","b_key":1.5,"bytes":[1,2]},"title":"a"}"#)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        decoder.dataDecodingStrategy = .deferredToData
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        #expect(
            try decoder.decode(Document.self, from: data).contents == ["aKey": "2001-01-01T00:00:00Z", "bytes": [1, 2], "b_key": 1.5])
    }

    @Test("A uid is a dictionary of one key, as in XML")
    func uid() throws {
        #expect(try throughJSON([.uid(5), ["CF$UID": "a"], ["CF$UID": -1]]) == [.uid(5), ["CF$UID": "a"], ["CF$UID": -1]])
        #expect(throws: EncodingError.self) { try JSONEncoder().encode(["CF$UID": 5] as PropertyListValue) }
    }

    @Test("Null is refused", arguments: ["null", "[1,null]", #"{"a":{"b":null}}"#])
    func null(text: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PropertyListValue.self, from: Data(text.utf8)) }
    }

    @Test("Values are encoded up to the depth of property lists")
    func depth() throws {
        let lists = (0..<500).reduce("core" as PropertyListValue) { value, _ in [value] }
        #expect(try throughJSON(lists) == lists)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let deepest = (500..<512).reduce(lists) { value, _ in [value] }
        #expect(try PropertyListValue.decode(encoder.encode(deepest)).value == deepest)
        #expect(throws: EncodingError.self) { try encoder.encode([deepest] as PropertyListValue) }
        #expect(throws: EncodingError.self) { try encoder.encode(["k": deepest] as PropertyListValue) }
    }

    /// A dictionary, because Foundation encodes no lone leaves, without strings that Foundation takes for nil and numbers that JSON lacks.
    private static func random(seed: UInt64) -> PropertyListValue {
        var generator = SeededGenerator(seed: seed)
        return ["value": .random(using: &generator), "list": [.random(using: &generator), .real(0.1), .real(-3), .real(1e300)]]
    }
}

extension PropertyListValue {
    /// The value with integers in place of the reals that are whole.
    fileprivate var withoutWholeReals: PropertyListValue {
        switch self {
        case .real(let real): PropertyListInteger(whole: real).map { .integer($0) } ?? self
        case .array(let elements): .array(elements.map(\.withoutWholeReals))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.withoutWholeReals))
        default: self
        }
    }

    /// The value with what `JSONEncoder` writes for dates and data.
    fileprivate var inJSON: PropertyListValue {
        switch self {
        case .date(let date): .real(date.timeIntervalSinceReferenceDate)
        case .data(let data): .string(data.base64EncodedString())
        case .array(let elements): .array(elements.map(\.inJSON))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.inJSON))
        default: self
        }
    }
}

extension PropertyListInteger {
    fileprivate init?(whole real: Double) {
        if let signed = Int64(exactly: real) {
            self.init(signed)
        } else if let unsigned = UInt64(exactly: real) {
            self.init(unsigned)
        } else {
            return nil
        }
    }
}
