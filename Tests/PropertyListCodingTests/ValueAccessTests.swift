import Foundation
import PropertyListCoding
import Testing

@Suite("Access to values") struct ValueAccessTests {
    private static let values: [PropertyListValue] = [
        "text", 7, 2.5, true, .data(Data([1])), .date(Date(timeIntervalSinceReferenceDate: 3)), [1], ["a": 1], .uid(4),
    ]

    @Test("An accessor returns values of its type and nil for all others")
    func accessors() {
        let values = Self.values
        #expect(values.map(\.string) == ["text", nil, nil, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, 7, nil, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 2.5, nil, nil, nil, nil, nil, nil])
        #expect(values.map(\.bool) == [nil, nil, nil, true, nil, nil, nil, nil, nil])
        #expect(values.map(\.data) == [nil, nil, nil, nil, Data([1]), nil, nil, nil, nil])
        #expect(values.map(\.date?.timeIntervalSinceReferenceDate) == [nil, nil, nil, nil, nil, 3, nil, nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, nil, nil, [1], nil, nil])
        #expect(values.map(\.dictionary) == [nil, nil, nil, nil, nil, nil, nil, ["a": 1], nil])
        #expect(PropertyListValue.integer(PropertyListInteger(UInt64.max)).int == nil)
    }

    @Test("Entries are read, set and removed by key")
    func keys() {
        var value: PropertyListValue = ["server": ["port": 80], "name": "a"]
        #expect(value["server"]?["port"] == 80)
        #expect(value["missing"] == nil)
        value["server"]?["port"] = 8080
        value["server"]?["host"] = "localhost"
        value["missing"]?["port"] = 1
        value["name"] = nil
        value["added"] = [1]
        #expect(value == ["server": ["port": 8080, "host": "localhost"], "added": [1]])
    }

    @Test("Elements are read, set and removed by index")
    func indices() {
        var value: PropertyListValue = [1, ["a": [2, 3]], 4]
        #expect(value[0] == 1)
        #expect(value[3] == nil)
        #expect(value[-1] == nil)
        value[1]?["a"]?[1] = 30
        value[0] = nil
        value[2] = 5
        value[-1] = 5
        #expect(value == [["a": [2, 30]], 4])
    }

    @Test("Setting through a value of another type changes nothing", arguments: values)
    func otherTypes(value: PropertyListValue) {
        var changed = value
        if value.dictionary == nil {
            changed["key"] = 1
            changed[path: "key", "inner"] = 1
        }
        if value.array == nil { changed[0] = 1 }
        changed["a"]?["inner"] = 1
        changed[path: "a", "inner"] = 1
        #expect(changed == value)
    }

    @Test("A path leads through dictionaries and arrays")
    func reading() {
        let value: PropertyListValue = ["server": ["ports": [80, ["tls": 443]], "0": "zero"]]
        #expect(value[path: "server", "ports", "1", "tls"] == 443)
        #expect(value[path: "server", "0"] == "zero")
        #expect(value[path: ["server", "ports", "0"]] == 80)
        #expect(value[path: "server", "ports", "2"] == nil)
        #expect(value[path: "server", "ports", "first"] == nil)
        #expect(value[path: "server", "ports", "0", "tls"] == nil)
        #expect(value[path: []] == value)
    }

    @Test("Setting at a path creates missing dictionaries; setting nil creates none")
    func writing() {
        var value: PropertyListValue = [:]
        value[path: "a", "b", "c"] = nil
        #expect(value == [:])
        value[path: "a", "b", "c"] = 1
        value[path: "a", "list"] = [1, 2]
        value[path: "a", "list", "1", "deeper"] = 3
        value[path: "a", "list", "0"] = [:]
        value[path: "a", "list", "0", "x", "y"] = true
        value[path: "a", "list", "7"] = 3
        #expect(value == ["a": ["b": ["c": 1], "list": [["x": ["y": true]], 2]]])
        value[path: "a", "list", "1"] = nil
        value[path: "a", "b"] = nil
        #expect(value == ["a": ["list": [["x": ["y": true]]]]])
        value[path: []] = "replaced"
        value[path: []] = nil
        #expect(value == "replaced")
    }

    @Test("A nested change does not copy the containers around it")
    func inPlace() throws {
        var value: PropertyListValue = ["a": [["list": .array(.init(repeating: 0, count: 100))]]]
        let before = try #require(storage(of: value[path: "a", "0", "list"]))
        for index in 0..<100 {
            value["a"]?[0]?["list"]?[index] = 1
            // After each change, because a second copy can take the place of the original.
            #expect(storage(of: value[path: "a", "0", "list"]) == before)
            value[path: "a", "0", "list", "\(index)"] = 2
            #expect(storage(of: value[path: "a", "0", "list"]) == before)
        }
        #expect(value["a"]?[0]?["list"] == .array(.init(repeating: 2, count: 100)))
    }

    @Test("A copy keeps its value when the original is changed")
    func copies() {
        var value: PropertyListValue = ["a": ["b": [1]]]
        let copy = value
        value["a"]?["b"]?[0] = 2
        #expect(copy == ["a": ["b": [1]]])
        #expect(value == ["a": ["b": [2]]])
    }

    /// The address of an array's elements: that of a copy differs while the original exists.
    private func storage(of value: PropertyListValue?) -> UInt? {
        value?.array?.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    }
}

@Suite("Descriptions of values") struct ValueDescriptionTests {
    @Test("A description reads like a property list", arguments: descriptions)
    func description(value: PropertyListValue, text: String) {
        #expect(value.description == text)
        #expect("\(value)" == text)
    }

    static let descriptions: [(PropertyListValue, String)] = [
        ("a", "\"a\""), ("say \"hi\"\n\\ é", "\"say \\\"hi\\\"\\n\\\\ é\""), (80, "80"), (-1, "-1"),
        (.integer(PropertyListInteger(UInt64.max)), "18446744073709551615"), (1.0, "1.0"), (.real(.nan), "nan"), (true, "true"),
        (date(0), "2001-01-01T00:00:00Z"), (date(-0.5), "2000-12-31T23:59:59.500Z"),
        (date(-1e-17), "2000-12-31T23:59:59.999Z"), (date(795_000_000.25), "2026-03-12T09:20:00.250Z"),
        (date(-63_113_904_000), "0001-01-01T00:00:00Z"), (date(.infinity), "date(inf)"), (date(.nan), "date(nan)"),
        (.data(Data()), "<>"), (.data(Data([0x0F, 0xBD, 0x77])), "<0fbd77>"),
        (.data(Data(repeating: 0xAB, count: 33)), "<\(String(repeating: "ab", count: 32))… 33 bytes>"), (.uid(5), "uid(5)"),
        ([], "()"), ([1, "a", [2]], "(1, \"a\", (2))"), ([:], "{}"), (["server": ["port": 80]], "{ server = { port = 80; }; }"),
        (["b": 1, "a": 2, "c d": [], "": true, "a.b-c_1": 0], "{ \"\" = true; a = 2; a.b-c_1 = 0; b = 1; \"c d\" = (); }"),
    ]

    @Test("Equal values have the same description, whatever the order in which their dictionaries were made")
    func order() {
        let pairs = (0..<100).map { ("\($0)", PropertyListValue.uid(UInt64($0))) }
        let forward = PropertyListValue.dictionary(Dictionary(uniqueKeysWithValues: pairs))
        var backward: PropertyListValue = [:]
        for (key, value) in pairs.reversed() { backward[key] = value }
        #expect(forward.description == backward.description)
    }

    @Test("A value that is nested too deep to be written has a description")
    func depth() {
        let text = nested(2_000).description
        #expect(text.contains("…"))
        #expect(!text.contains("core"))
        #expect(nested(500).description.contains("\"core\""))
    }

    private static func date(_ seconds: TimeInterval) -> PropertyListValue {
        .date(Date(timeIntervalSinceReferenceDate: seconds))
    }
}
