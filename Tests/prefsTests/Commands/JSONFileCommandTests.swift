import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs and JSON files", .timeLimit(.minutes(10)))
struct JSONFileCommandTests {
    private let folder: TemporaryFolder
    private let file: String

    private static let handwritten = """
        {
          // Changed with the firewall.
          "port": 8080,
          "hosts": ["a", "b"], /* all of them */
          "tls": null,
        }

        """

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.json")
        try Data(Self.handwritten.utf8).write(to: folder.file("settings.json"))
    }

    private var text: String {
        get throws { try String(contentsOfFile: file, encoding: .utf8) }
    }

    @Test("Values are read, and edits keep the rest of the text")
    func editing() async throws {
        #expect(try await tool("read", file, "hosts.1").text == "b\n")
        #expect(try await tool("list", file).text == "hosts\tarray\nport\tinteger\n")
        #expect(try await tool("read", file, "tls").status == 1)
        #expect(try await tool("write", file, "port", "81", "--int").status == 0)
        #expect(try await tool("write", file, "hosts", "--array-add", "c").status == 0)
        #expect(try await tool("write", file, "tls.on", "true", "--bool").status == 0)
        let expected = Self.handwritten.replacing("8080", with: "81").replacing("\"b\"", with: "\"b\", \"c\"")
            .replacing("null", with: "{\n    \"on\": true\n  }")
        #expect(try text == expected)
        #expect(try await tool("delete", file, "port").status == 0)
        #expect(try text == expected.replacing("  \"port\": 81,\n", with: ""))
        #expect(try await tool("rename", file, "hosts", "servers").status == 0)
        #expect(try text.contains("\"servers\": ["))
        #expect(try text.contains("// Changed with the firewall."))
    }

    @Test("A new file whose name ends in .json is JSON, without a slash in its name too, and refuses a date")
    func newFile() async throws {
        let new = folder.path("new.json")
        #expect(try await tool("write", new, "a", "--json", "[1, {\"b\": 1.0}]").status == 0)
        #expect(try String(contentsOfFile: new, encoding: .utf8) == "{\n  \"a\": [\n    1,\n    {\n      \"b\": 1.0\n    }\n  ]\n}\n")
        let date = try await tool("write", new, "d", "2001-01-01T00:00:00Z", "--date")
        #expect(date.status == 3)
        #expect(date.errors.contains("JSON has no form for dates"))
        let other = try await Subprocess.finished(
            "/bin/sh", ["-c", "cd '\(folder.url.path)' && '\(Subprocess.executable("prefs").path)' read settings.json port"])
        #expect(other.text == "8080\n")
    }

    @Test("Files are searched, compared, checked and imported")
    func searching() async throws {
        try PropertyListValue.dictionary(["port": 8080, "hosts": ["a", "b"]]).encoded(as: .xml).write(to: folder.file("other.plist"))
        #expect(try await tool("diff", file, folder.path("other.plist")).status == 0)
        #expect(try await tool("find", "8080", file).text.contains("port"))
        #expect(try await tool("lint", file).text == "\(file): OK (json, dictionary)\n")
        #expect(try await tool("import", folder.path("other.plist"), file).status == 0)
        try Data("{\n \"a\": 1,\n \"a\": 2\n}".utf8).write(to: folder.file("twice.json"))
        let twice = try await tool("lint", folder.path("twice.json"))
        #expect(twice.status == 1)
        #expect(twice.errors.contains("given twice (at line 3, column 2)"))
    }

    @Test("A JSON file is converted in place, and others to one that people can edit")
    func converting() async throws {
        #expect(try await tool("convert", file, "--to", "json", "-o", folder.path("copy.json")).status == 0)
        let copy = "{\n  \"hosts\": [\n    \"a\",\n    \"b\"\n  ],\n  \"port\": 8080\n}\n"
        #expect(try String(contentsOfFile: folder.path("copy.json"), encoding: .utf8) == copy)
        #expect(try text == Self.handwritten)
        #expect(try await tool("convert", file, "--to", "xml").status == 0)
        #expect(
            try PropertyListValue.decode(Data(contentsOf: folder.file("settings.json"))) == (["port": 8080, "hosts": ["a", "b"]], .xml))
        #expect(try await tool("write", file, "d", "2001-01-01T00:00:00Z", "--date").status == 0)
    }

    @Test("The editor gets JSON, and what it changed is stored in the text")
    func editor() async throws {
        try Data("#!/bin/sh\ncp \"$1\" \"$COPY\"; sed -i.old s/8080/81/ \"$1\"\n".utf8).write(to: folder.file("editor"))
        let result = try await tool(
            "edit", file,
            environment: [
                "VISUAL": "", "EDITOR": "sh \(folder.path("editor"))", "COPY": folder.path("seen.json"), "TMPDIR": folder.url.path,
            ])
        #expect(result.status == 0, "\(result.errors)")
        #expect(try String(contentsOfFile: folder.path("seen.json"), encoding: .utf8).hasPrefix("{\n  \"hosts\": [\n"))
        #expect(try text == Self.handwritten.replacing("8080", with: "81"))
    }
}
