import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Reading commands", .timeLimit(.minutes(10)))
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

    @Test("read prints a string, number, date or data bare, and --json prints it as JSON")
    func one() async throws {
        #expect(try await tool("read", file, "string").text == "a/b\n")
        #expect(try await tool("read", file, "array").text == "[1,\"x\"]\n")
        #expect(try await tool("read", file, "date").text == "2001-01-01T00:00:00.25Z\n")
        #expect(try await tool("read", file, "data").text == "AAEC\n")
        #expect(try await tool("read", file, "real").text == "1.0\n")
        #expect(try await tool("read", file, "date", "--json").text == "\"2001-01-01T00:00:00.25Z\"\n")
        #expect(try await tool("read", file, "string", "--json").text == "\"a/b\"\n")
    }

    @Test("Problems that do not prevent reading, such as a folder in place of a journal, are printed on standard error")
    func reports() async throws {
        try FileManager.default.createDirectory(atPath: folder.path(".settings.plist.journal"), withIntermediateDirectories: false)
        let read = try await tool("read", file, "integer")
        #expect(read.status == 0 && read.text == "5\n")
        #expect(read.errors.contains("it is not used as the journal of settings.plist"))
        #expect(try await tool("write", file, "integer", "6", "--int").errors == read.errors)
        #expect(try await tool("read", file, "integer").text == "6\n")
    }

    @Test("read --raw prints the bytes of data, and a string without a line break")
    func raw() async throws {
        #expect(try await tool("read", file, "data", "--raw").output == Data([0, 1, 2]))
        #expect(try await tool("read", file, "string", "--raw").text == "a/b")
    }

    @Test("A path leads into dictionaries and arrays; a missing value exits with 1")
    func paths() async throws {
        #expect(try await tool("read", file, "array.1").text == "x\n")
        #expect(try await tool("type", file, "dictionary.k").text == "boolean\n")
        for path in ["array.2", "array.x", "dictionary.k.l", "dictionary.", "string.0"] {
            #expect(try await tool("read", file, path).status == 1, "\(path)")
        }
        #expect(try await tool("read", file, "array.1", "--literal").status == 1)
    }

    @Test("list prints names and types, and --nested also those of nested values")
    func list() async throws {
        #expect(
            try await tool("list", file).text
                == "array\tarray\nboolean\tboolean\ndata\tdata\ndate\tdate\ndictionary\tdictionary\ninteger\tinteger\n"
                + "real\treal\nstring\tstring\nuid\tuid\n")
        let nested = try await tool("list", file, "--nested").text
        #expect(nested.hasPrefix("array\tarray\narray.0\tinteger\narray.1\tstring\nboolean\tboolean\n"))
        #expect(nested.contains("dictionary\tdictionary\ndictionary.k\tboolean\n"))
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
        arguments: [
            ["read"], ["type", "k"], ["delete"], ["delete", "k"], ["export", "--format", "xml"], ["list"], ["rename", "k", "l"], ["edit"],
            ["convert", "--to", "binary"], ["diff", "f.plist"],
        ])
    func missingFile(_ arguments: [String]) async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("mispelt.plist")
        let result = try await Subprocess.finished("prefs", [arguments[0], path] + arguments.dropFirst())
        #expect(result.status == 3)
        #expect(result.errors == "prefs: \(path): no such file\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
}
