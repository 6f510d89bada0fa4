import PropertyListCoding
import Testing

@testable import prefs

@Suite("Printed property lists", .timeLimit(.minutes(10)))
struct PrintedTextTests {
    @Test("A property list has one entry per line")
    func object() {
        let entries: [String: PropertyListValue] = ["b": [1], "a": "x"]
        #expect(String(decoding: entries.json(), as: UTF8.self) == "{\n  \"a\": \"x\",\n  \"b\": [1]\n}\n")
        #expect(String(decoding: [String: PropertyListValue]().json(), as: UTF8.self) == "{}\n")
    }
}
