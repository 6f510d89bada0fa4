import Foundation
import ObservableStorage
import PropertyListCoding
import Testing
import UserDefaultsStorage

/// The examples of the tables in the article are what is stored for these values, in every place, and are read as them.
@Suite("Stored forms", .timeLimit(.minutes(10)))
struct StoredFormsTests {
    enum Theme: String, Codable, Storable { case light, dark }
    enum Level: Int, Codable, Storable { case low = 1, high }

    struct Account: CodableStorable, Equatable {
        var name: String
        var email: String?
        var timeout: Duration
    }

    enum Shape: CodableStorable, Equatable { case circle(radius: Double), square(Double) }

    /// A value inside one that is `Codable`.
    private struct Enclosing<Value: Codable & Sendable>: CodableStorable {
        var value: Value
    }

    /// A value of a type in the tables.
    private struct Form {
        let type: String
        let check: (_ example: PropertyListValue) throws -> Void

        init<Value: Codable & Storable & Equatable>(_ type: String, _ value: Value) {
            self.type = type
            check = { example in
                try Self.expect(value, as: example)
                let enclosing = Enclosing(value: value)
                #expect(try enclosing.propertyListValue == ["value": example], "\(type) in a Codable value")
                #expect(try Enclosing<Value>(propertyListValue: ["value": example]).value == value, "\(type) in a Codable value")
                #expect(try StorageCodec<Value>.propertyList.encode(value) == example, "\(type) with a codec")
                #expect(try StorageCodec<Value>.propertyList.decode(example) == value, "\(type) with a codec")
            }
        }

        /// `Character` is not `Codable`.
        init(_ type: String, character: Character) {
            self.type = type
            check = { example in try Self.expect(character, as: example) }
        }

        private static func expect<Value: Storable & Equatable>(_ value: Value, as example: PropertyListValue) throws {
            #expect(try value.propertyListValue == example)
            #expect(try Value(propertyListValue: example) == value)
            #expect(try [value].propertyListValue == [example])
            #expect(try ["a": value].propertyListValue == ["a": example])
        }
    }

    private static var forms: [Form] {
        [
            Form("Bool", true), Form("Int", -5), Form("Int8", Int8(-5)), Form("Int16", Int16(-5)), Form("Int32", Int32(-5)),
            Form("Int64", Int64(-5)), Form("UInt", UInt(5)), Form("UInt8", UInt8(5)), Form("UInt16", UInt16(5)), Form("UInt32", UInt32(5)),
            Form("UInt64", UInt64(5)), Form("Int128", Int128.max), Form("UInt128", UInt128(Int128.max)), Form("Double", 0.5),
            Form("Float", Float(0.5)), Form("CGFloat", CGFloat(0.5)), Form("String", "text"), Form("Character", character: "é"),
            Form("Data", Data([0, 255])), Form("Date", Date(timeIntervalSince1970: 1_777_636_800)),
            Form("Duration", Duration.milliseconds(2500)), Form("URL", URL(string: "https://example.org/a%20b")!),
            Form("UUID", UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")!),
            Form("Decimal", Decimal(string: "-19.99")!), Form("Locale", Locale(identifier: "de_AT")),
            Form("TimeZone", TimeZone(identifier: "Europe/Vienna")!), Form("CGPoint", CGPoint(x: 1.5, y: 2.5)),
            Form("CGSize", CGSize(width: 1.5, height: 2.5)), Form("CGRect", CGRect(x: 1.5, y: 2.5, width: 3.5, height: 4.5)),
            Form("Range", 1..<5), Form("ClosedRange", 1...5), Form("Array", [2, 1]), Form("Set", Set([2, 1])),
            Form("Dictionary", [7: "seven"]),
            Form("Optional", Optional(5)), Form("PropertyListValue", [true, "text"] as PropertyListValue),
            Form("enum Theme: String, Storable", Theme.dark), Form("enum Level: Int, Storable", Level.high),
            Form("struct Account: CodableStorable", Account(name: "Ada", timeout: .milliseconds(2500))),
            Form("enum Shape: CodableStorable", Shape.circle(radius: 1.5)),
        ]
    }

    /// The types and the example of each row.
    private static func rows() throws -> [(types: [String], example: PropertyListValue)] {
        let article = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources/ObservableStorage/Documentation.docc/StoredForms.md")
        let lines = try String(contentsOf: article, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| `") }
        return try lines.map { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let types = cells[0].split(separator: "`").map(String.init).enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
            let example = cells[2].trimmingCharacters(in: ["`"])
            let list = "<plist version=\"1.0\">\(example)</plist>"
            return (types.filter { !$0.hasPrefix(",") }, try PropertyListValue.decode(Data(list.utf8)).value)
        }
    }

    @Test("Each row of the article shows what is stored for its types, by themselves and inside others")
    func table() throws {
        let forms = Dictionary(uniqueKeysWithValues: Self.forms.map { ($0.type, $0) })
        var rest = Set(forms.keys)
        for row in try Self.rows() {
            for type in row.types {
                let form = try #require(forms[type], "\(type) is in the article, but not in this test")
                try form.check(row.example)
                rest.remove(type)
            }
        }
        #expect(rest.isEmpty, "types that the article does not have")
    }
}
