import Foundation
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

@testable import ObservableStorage

private enum Theme: String, Storable, LosslessStringConvertible { case light, dark }

/// A key of dictionaries that is spelled in two ways.
private struct Level: Storable, Hashable, LosslessStringConvertible {
    let description: String

    init?(_ description: String) {
        guard description.first == "L" else { return nil }
        self.description = description.uppercased()
    }

    /// A key that its description does not lead back to.
    init(wrong description: String) {
        self.description = description
    }

    init(propertyListValue: PropertyListValue) throws {
        description = try String(propertyListValue: propertyListValue)
    }

    var propertyListValue: PropertyListValue { .string(description) }
}

/// A value that is written to a file, or a stored form that is found in one.
private struct Stored: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: @Sendable (PropertyListFormat) async throws -> Void

    /// A value and its stored form.
    init<Value: Storable & Equatable>(_ value: Value, _ stored: PropertyListValue) {
        testDescription = "\(Value.self) \(stored)"
        check = { format in
            let file = try File(["other": 1], format)
            let key = StorageKey<Value?>("value")
            try await file.open { try $0.set(value, for: key) }
            let written = try file.entries
            #expect(written == (format, ["value": stored, "other": 1]))
            let read = try await file.open { try $0.value(for: key) }
            #expect(read == value)
        }
    }

    /// A stored form of another program's, and its value.
    init<Value: Storable & Equatable>(reading stored: PropertyListValue, _ value: Value) {
        testDescription = "\(Value.self) \(stored)"
        check = { format in
            let read = try await File(["value": stored], format).open { try $0.value(for: StorageKey<Value?>("value")) }
            #expect(read == value)
        }
    }

    /// A stored form that is not a value of the type.
    init<Value: Storable & Equatable>(
        refusing stored: PropertyListValue, as type: Value.Type, at path: String = "", expected: String? = nil, found: String
    ) {
        testDescription = "\(Value.self) \(stored)"
        check = { format in
            let file = try File(["value": stored], format)
            let key = StorageKey<Value?>("value")
            try await file.open { (store: ObservableStore) throws in
                #expect(throws: StorageError.undecodable(key: "value\(path)", expected: expected ?? "\(type)", found: found)) {
                    try store.value(for: key)
                }
                #expect(store[key] == nil)
                try store.set(2, for: StorageKey("other", default: 0))
            }
            let written = try file.entries
            #expect(written == (format, ["value": stored, "other": 2]))
        }
    }
}

/// A property list on disk.
private struct File {
    private let folder: TemporaryFolder
    private let url: URL

    init(_ entries: [String: PropertyListValue], _ format: PropertyListFormat) throws {
        folder = try .inMemory()
        url = folder.file("values.plist")
        try PropertyListValue.dictionary(entries).encoded(as: format).write(to: url)
    }

    func open<Result>(_ body: (ObservableStore) throws -> Result) async throws -> Result {
        // The optimizer could release the folder, which removes it, when the URL has been taken out.
        defer { withExtendedLifetime(folder) {} }
        let store = try ObservableStore(at: url)
        let result = try body(store)
        try await store.close()
        return result
    }

    var entries: (PropertyListFormat, PropertyListValue) {
        get throws {
            defer { withExtendedLifetime(folder) {} }
            let (value, format) = try PropertyListValue.decode(Data(contentsOf: url))
            return (format, value)
        }
    }
}

@Suite("Storable types in a file", .timeLimit(.minutes(10)))
struct StorableFileTests {
    @Test(
        "A value is read back equal by another store",
        arguments: [
            Stored(Set([3, -1, 20]), [-1, 3, 20]), Stored(Set(["b", "a", ""]), ["", "a", "b"]), Stored(Set<Int>(), []),
            Stored(Set([Set([2, 1]), Set([0])]), [[0], [1, 2]]), Stored(Set([2.5, -1, -2]), [-2.0, -1.0, 2.5]),
            Stored(Set([Theme.light, .dark]), ["dark", "light"]), Stored(Set([true, false]), [false, true]),
            Stored(1...3, ["lowerBound": 1, "upperBound": 3]), Stored("a"..."b", ["lowerBound": "a", "upperBound": "b"]),
            Stored(0.5..<0.5, ["lowerBound": 0.5, "upperBound": 0.5]),
            Stored([Character("a"), "e\u{301}", "👩‍👩‍👧"], ["a", "e\u{301}", "👩‍👩‍👧"]),
            Stored(Locale(identifier: "de_AT@currency=EUR"), "de_AT@currency=EUR"),
            Stored(TimeZone(identifier: "Europe/Berlin"), "Europe/Berlin"), Stored(TimeZone(secondsFromGMT: -12_600), "GMT-0330"),
            Stored(Int128(-5), -5), Stored(UInt128(UInt64.max), .integer(PropertyListInteger(UInt64.max))),
            Stored(Int128.min, "-170141183460469231731687303715884105728"), Stored(Int128.max, "170141183460469231731687303715884105727"),
            Stored(UInt128.max, "340282366920938463463374607431768211455"), Stored(Int128(UInt64.max) + 1, "18446744073709551616"),
            Stored(CGPoint(x: 1.5, y: -2), ["x": 1.5, "y": -2.0]), Stored(CGSize(width: 3, height: 0), ["width": 3.0, "height": 0.0]),
            Stored(CGRect(x: 1, y: 2, width: -3, height: 4), ["x": 1.0, "y": 2.0, "width": -3.0, "height": 4.0]),
            Stored([Theme.dark: 1, .light: 2], ["dark": 1, "light": 2]), Stored([1: "a", -2: "b"], ["1": "a", "-2": "b"]),
            Stored([Character("x"): [true: 1.5]], ["x": ["true": 1.5]]),
        ], PropertyListFormat.allCases)
    private func roundTrip(_ value: Stored, format: PropertyListFormat) async throws {
        try await value.check(format)
    }

    @Test(
        "A duration is stored as decimal seconds, exact to the attosecond",
        arguments: [
            Stored(Duration.zero, "0s"), Stored(Duration.seconds(90), "90s"), Stored(Duration.milliseconds(-250), "-0.25s"),
            Stored(Duration(attoseconds: 1), "0.000000000000000001s"), Stored(Duration(attoseconds: -1), "-0.000000000000000001s"),
            Stored(Duration(attoseconds: .max), "170141183460469231731.687303715884105727s"),
            Stored(Duration(attoseconds: .min), "-170141183460469231731.687303715884105728s"),
            Stored(reading: "1.50s", Duration.milliseconds(1_500)), Stored(reading: "007s", Duration.seconds(7)),
            Stored(reading: "100ms", Duration.milliseconds(100)), Stored(reading: "-1.5us", Duration.nanoseconds(-1_500)),
            Stored(reading: "1ns", Duration.nanoseconds(1)), Stored(reading: "1.5m", Duration.seconds(90)),
            Stored(reading: "1h1m1.5s", Duration.milliseconds(3_661_500)), Stored(reading: "2µs", Duration.microseconds(2)),
        ], PropertyListFormat.allCases)
    private func duration(_ value: Stored, format: PropertyListFormat) async throws {
        try await value.check(format)
    }

    @Test(
        "A string that is not a duration is rejected and shown",
        arguments: [
            "", "s", "1", "1 s", "+1s", "-s", ".5s", "1.s", "1.2.3s", "1e3s", "1ss", "--1s", "-+1s", "١s", "0.0000000000000000001s",
            "170141183460469231731.687303715884105728s", "99999999999999999999999999999999999999999s", "1M", "1 m", "1m 1s", "1m-1s", "1m1",
            "m", "0.0000000000000000001ms", "0.0000000000000001ms", "170141183460469231731m", "170141183460469231731s1s", "1d",
        ])
    func wrongDuration(_ text: String) {
        #expect(throws: CodingFailure(Duration.self, found: "string \"\(text)\"")) { try Duration(propertyListValue: .string(text)) }
    }

    @Test(
        "A foreign form with the same meaning is read",
        arguments: [
            Stored(reading: [3, 1, 3], Set([1, 3])), Stored(reading: ["lowerBound": 1, "upperBound": 1, "step": 1], 1...1),
            Stored(reading: ["x": 1, "y": 2, "z": 3], CGPoint(x: 1, y: 2)), Stored(reading: "5", Int128(5)),
            Stored(reading: ["01": true], [1: true]),
        ], PropertyListFormat.allCases)
    private func foreign(_ value: Stored, format: PropertyListFormat) async throws {
        try await value.check(format)
    }

    @Test(
        "A form that is not a value of the type is an error that names what was expected, and is kept",
        arguments: [
            Stored(refusing: [1, "x"], as: Set<Int>.self, at: "[1]", expected: "Int", found: "string"),
            Stored(refusing: ["a": 1], as: Set<Int>.self, found: "dictionary"),
            Stored(
                refusing: ["lowerBound": 3, "upperBound": 1], as: ClosedRange<Int>.self,
                found: "the lower bound 3 and the upper bound 1, which are not in order"),
            Stored(
                refusing: ["lowerBound": .real(.nan), "upperBound": 1], as: Range<Double>.self,
                found: "the lower bound nan and the upper bound 1.0, which are not in order"),
            Stored(refusing: ["lowerBound": 3], as: Range<Int>.self, at: ".upperBound", expected: "Int", found: "nothing"),
            Stored(
                refusing: ["lowerBound": 3, "upperBound": "x"], as: ClosedRange<Int>.self, at: ".upperBound", expected: "Int",
                found: "string"),
            Stored(refusing: [1, 2], as: ClosedRange<Int>.self, found: "array"),
            Stored(
                refusing: 90, as: Duration.self, expected: "Duration (a duration such as 100ms, 1.5s or 1m)", found: "integer"),
            Stored(refusing: "ab", as: Character.self, found: "string \"ab\""),
            Stored(refusing: "", as: Character.self, found: "string \"\""),
            Stored(refusing: 1, as: Locale.self, found: "integer"),
            Stored(refusing: "Mars/Base", as: TimeZone.self, found: "string \"Mars/Base\""),
            Stored(refusing: -1, as: UInt128.self, found: "integer -1, which is out of range"),
            Stored(refusing: "-1", as: UInt128.self, found: "string \"-1\""), Stored(refusing: 1.5, as: Int128.self, found: "real"),
            Stored(refusing: "5", as: Int64.self, found: "string"),
            Stored(refusing: ["x": 1], as: CGPoint.self, at: ".y", expected: "CGFloat", found: "nothing"),
            Stored(refusing: "{1, 2}", as: CGSize.self, found: "string"),
            Stored(
                refusing: ["x": 1, "y": 1, "width": 1, "height": true], as: CGRect.self, at: ".height", expected: "Double",
                found: "boolean"),
            Stored(refusing: ["pink": 1], as: [Theme: Int].self, at: ".pink", expected: "Theme", found: "the key \"pink\""),
            Stored(refusing: ["dark": "x"], as: [Theme: Int].self, at: ".dark", expected: "Int", found: "string"),
            Stored(
                refusing: ["La": 1, "LA": 2, "Lb": 3], as: [Level: Int].self,
                expected: "Dictionary<Level, Int>", found: "the keys \"LA\" and \"La\", which are the same"),
        ], PropertyListFormat.ofEveryType)
    private func refusal(_ value: Stored, format: PropertyListFormat) async throws {
        try await value.check(format)
    }

    @Test("Equal sets are stored as the same bytes, whatever their elements and the order in which they were inserted")
    func setOrder() throws {
        let elements: [PropertyListValue] = [
            "b", "a", 1, -1, .integer(PropertyListInteger(UInt64.max)), 1.5, .real(.nan), -0.5, true, false, .data(Data([1])),
            .data(Data()), .date(Date(timeIntervalSinceReferenceDate: 1)), .date(.distantPast), .uid(2), .uid(1), [1], [], [[2]],
            ["a": 1, "b": 2], ["a": 2], [:],
        ]
        let bytes = try Set(elements).propertyListValue.encoded(as: .binary)
        for _ in 0..<20 {
            var other = Set<PropertyListValue>(minimumCapacity: Int.random(in: 1...500))
            for element in elements.shuffled() { other.insert(element) }
            #expect(try other.propertyListValue.encoded(as: .binary) == bytes)
        }
    }

    @Test("A part that cannot be stored is named by its path, and a key that does not convert back is an error")
    func encodingFailures() {
        #expect(throws: CodingFailure("it is not a number").inside(".lowerBound")) { try (Decimal.nan...1).propertyListValue }
        #expect(throws: CodingFailure("the key \"wrong\" does not convert back to Level")) {
            try [Level(wrong: "wrong"): 1].propertyListValue
        }
        #expect(throws: CodingFailure("a property list cannot hold nil")) { try Set<Int?>([nil]).propertyListValue }
    }
}
