import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Reading commands", .timeLimit(.minutes(5)))
struct ReadingTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
        let entries: PropertyListValue = [
            "string": "a/b", "integer": 5, "real": 1.0, "boolean": true, "date": .date(Date(timeIntervalSinceReferenceDate: 0.25)),
            "data": .data(Data([0, 1, 2])), "array": [1, "x"], "dictionary": ["k": false], "uid": .uid(3),
        ]
        try entries.encoded(as: .binary).write(to: folder.file("settings.plist"))
    }

    private static let json = """
        {
          "array": [1,"x"],
          "boolean": true,
          "data": "AAEC",
          "date": "2001-01-01T00:00:00.25Z",
          "dictionary": {"k":false},
          "integer": 5,
          "real": 1.0,
          "string": "a/b",
          "uid": {"CF$UID":3}
        }

        """

    @Test("read prints all entries as one JSON object with sorted keys, and export to JSON prints the same")
    func all() async throws {
        #expect(try await tool("read", file).text == Self.json)
        #expect(try await tool("export", "--format", "json", file).text == Self.json)
    }

    @Test("read prints a string without quotes and anything else as JSON")
    func one() async throws {
        #expect(try await tool("read", file, "string").text == "a/b\n")
        #expect(try await tool("read", file, "array").text == "[1,\"x\"]\n")
        #expect(try await tool("read", file, "date").text == "\"2001-01-01T00:00:00.25Z\"\n")
        #expect(try await tool("read", file, "real").text == "1.0\n")
    }

    @Test(
        "type prints the name of every type",
        arguments: ["string", "integer", "real", "boolean", "date", "data", "array", "dictionary", "uid"])
    func type(_ name: String) async throws {
        #expect(try await tool("type", file, name).text == name + "\n")
    }

    @Test("export writes both formats", arguments: [("xml", PropertyListFormat.xml), ("binary", .binary)])
    func export(_ name: String, _ format: PropertyListFormat) async throws {
        let exported = try await tool("export", file, "--format", name)
        let decoded = try PropertyListValue.decode(exported.output)
        #expect(exported.status == 0)
        #expect(decoded.format == format)
        guard case .dictionary(let entries) = decoded.value else {
            Issue.record("not a dictionary")
            return
        }
        #expect(entries.count == 9)
        #expect(entries["uid"] == .uid(3))
    }

    @Test("A missing key exits with 1", arguments: ["read", "type", "delete"])
    func missingKey(_ command: String) async throws {
        let result = try await tool(command, file, "no\nkey")
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(result.errors == "prefs: no such key: \"no\\nkey\"\n")
    }

    @Test(
        "A missing file exits with 3, and nothing is created",
        arguments: [["read"], ["type", "k"], ["delete"], ["delete", "k"], ["export", "--format", "xml"]])
    func missingFile(_ arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("mispelt.plist")
        let result = try await Subprocess.finished("prefs", [arguments[0], path] + arguments.dropFirst())
        #expect(result.status == 3)
        #expect(result.errors == "prefs: \(path): no such file\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
}
