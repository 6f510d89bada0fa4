import Foundation
import PropertyListCoding
import Testing
import UserDefaultsStorage

@testable import ObservableStorage

private enum Theme: String, Storable { case light, dark }
private enum Level: Int8, Storable { case low = -1, high = 1 }

private struct Range: Storable, Equatable {
    let lower: Int
    let upper: Int

    struct Reversed: Error {}

    init(_ lower: Int, _ upper: Int) {
        (self.lower, self.upper) = (lower, upper)
    }

    init(propertyListValue: PropertyListValue) throws {
        let bounds = try [Int](propertyListValue: propertyListValue)
        guard bounds.count == 2, bounds[0] <= bounds[1] else { throw Reversed() }
        self.init(bounds[0], bounds[1])
    }

    var propertyListValue: PropertyListValue {
        get throws { try [lower, upper].propertyListValue }
    }
}

/// One value of each storable type, to be rejected by every other type.
private let samples: [PropertyListValue] = [
    .string("text"), .integer(1), .real(1.5), .boolean(true), .date(Date(timeIntervalSinceReferenceDate: 1)), .data(Data([1])),
    .array([]), .dictionary([:]), .uid(1),
]

/// A value and its stored form.
private struct RoundTrip: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable () throws -> Void

    init<Value: Storable & Equatable>(_ value: Value, _ stored: PropertyListValue) {
        testDescription = "\(Value.self) \(stored)"
        check = { () throws in
            #expect(try value.propertyListValue == stored)
            #expect(try Value(propertyListValue: stored) == value)
        }
    }
}

/// A type and the stored types that it accepts.
private struct Accepting: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable () throws -> Void

    init<Value: Storable>(_ type: Value.Type, _ kinds: String...) {
        testDescription = "\(type)"
        check = { () throws in
            for sample in samples where !kinds.contains(sample.typeName) {
                let error = #expect(throws: CodingFailure.self) { try Value(propertyListValue: sample) }
                #expect(error?.reason == sample.typeName)
            }
        }
    }
}

@Suite("Storable", .timeLimit(.minutes(10))) struct StorableTests {
    private static let date = Date(timeIntervalSinceReferenceDate: 0.123456789)
    private static let uuid = UUID()

    @Test(
        "A value is stored with its own type and read back equal",
        arguments: [
            RoundTrip(true, true), RoundTrip(false, false),
            RoundTrip("", ""), RoundTrip("e\u{301}\0🧭", "e\u{301}\0🧭"),
            RoundTrip(Data([0, 255]), .data(Data([0, 255]))), RoundTrip(date, .date(date)),
            RoundTrip(uuid, .string(uuid.uuidString)),
            RoundTrip(1.5, 1.5), RoundTrip(Double.greatestFiniteMagnitude, .real(.greatestFiniteMagnitude)),
            RoundTrip(Double.leastNonzeroMagnitude, .real(.leastNonzeroMagnitude)), RoundTrip(-Double.infinity, .real(-.infinity)),
            RoundTrip(Float(0.1), .real(0.10000000149011612)), RoundTrip(Float.greatestFiniteMagnitude, .real(3.4028234663852886e38)),
            RoundTrip(Float.infinity, .real(.infinity)), RoundTrip(CGFloat(0.1), 0.1),
            RoundTrip([1, 2], [1, 2]), RoundTrip([String](), []), RoundTrip([[true], []], [[true], []]),
            RoundTrip(["a": [1.5]], ["a": [1.5]]), RoundTrip([String: Int](), [:]),
            RoundTrip(Int?.some(3), 3), RoundTrip([Int?.some(3)], [3]), RoundTrip(["a": Int?.some(3)], ["a": 3]),
            RoundTrip(Theme.dark, "dark"), RoundTrip(Level.low, -1), RoundTrip([Theme.light, .dark], ["light", "dark"]),
            RoundTrip(Range(1, 2), [1, 2]), RoundTrip(PropertyListValue.uid(5), .uid(5)),
            RoundTrip([PropertyListValue.integer(1), "x"], [1, "x"]),
        ])
    private func roundTrip(_ roundTrip: RoundTrip) throws {
        try roundTrip.check()
    }

    @Test(
        "A type accepts its own type of stored value and no other",
        arguments: [
            Accepting(Bool.self, "boolean"), Accepting(Int.self, "integer"), Accepting(UInt8.self, "integer"),
            Accepting(Double.self, "real", "integer"), Accepting(Float.self, "real", "integer"), Accepting(CGFloat.self, "real", "integer"),
            Accepting(String.self, "string"), Accepting(Data.self, "data"), Accepting(Date.self, "date"), Accepting(URL.self, "string"),
            Accepting(UUID.self, "string"), Accepting(Decimal.self, "string"), Accepting([Int].self, "array"),
            Accepting([String: Int].self, "dictionary"), Accepting(Int?.self, "integer"), Accepting(Theme.self, "string"),
            Accepting(Level.self, "integer"), Accepting(Int128.self, "integer", "string"), Accepting(Duration.self, "string"),
            Accepting(Character.self, "string"), Accepting(Locale.self, "string"), Accepting(TimeZone.self, "string"),
            Accepting(Set<Int>.self, "array"), Accepting(ClosedRange<Int>.self, "dictionary"), Accepting(CGPoint.self, "dictionary"),
            Accepting(CGSize.self, "dictionary"), Accepting(CGRect.self, "dictionary"), Accepting([Int: Int].self, "dictionary"),
        ])
    private func refusal(_ type: Accepting) throws {
        try type.check()
    }

    @Test("A string that is not a value of the type is rejected and shown", arguments: ["", "text", "12345678-1234-1234-1234-12345678901"])
    func wrongText(_ text: String) {
        #expect(throws: CodingFailure(UUID.self, found: "string \"\(text)\"")) { try UUID(propertyListValue: .string(text)) }
        #expect(throws: CodingFailure(Theme.self, found: "string \"\(text)\"")) { try Theme(propertyListValue: .string(text)) }
    }

    @Test("A raw value without a case is rejected and shown")
    func unknownRawValue() {
        #expect(throws: CodingFailure(Level.self, found: "integer 5")) { try Level(propertyListValue: 5) }
    }

    @Test("A long string is shown in part")
    func longText() {
        let text = String(repeating: "a", count: 1_000)
        #expect(throws: CodingFailure(Theme.self, found: "string \"\(text.prefix(60))…\"")) {
            try Theme(propertyListValue: .string(text))
        }
    }
}
