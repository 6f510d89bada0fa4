import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("Writing commands", .timeLimit(.minutes(10)))
struct WritingTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("new/settings.plist")
    }

    private func stored() throws -> PropertyListValue {
        try PropertyListValue.decode(Data(contentsOf: URL(fileURLWithPath: file))).value
    }

    @Test(
        "write stores a value of the requested type, in a file that it creates",
        arguments: [
            (["5"], PropertyListValue.string("5")), (["--string", "5"], .string("5")), (["--int", "-5"], .integer(-5)),
            (["--real", "5"], .real(5)),
            (["--bool", "yes"], .boolean(true)),
            (["--date", "2001-01-01T00:00:00.25Z"], .date(Date(timeIntervalSinceReferenceDate: 0.25))),
            (["--data", "AAEC"], .data(Data([0, 1, 2]))), (["--json", "{\"a\":[1,1.0,true]}"], .dictionary(["a": [1, 1.0, true]])),
            (["--", "--int"], .string("--int")),
        ])
    func write(_ arguments: [String], _ value: PropertyListValue) async throws {
        let result = try await Subprocess.finished("prefs", ["write", file, "key"] + arguments)
        #expect(result.status == 0)
        #expect(result.output.isEmpty && result.errors.isEmpty)
        #expect(try stored() == .dictionary(["key": value]))
    }

    @Test("write of a value that XML cannot represent exits with 3, names key, file and reason, and leaves an XML file unchanged")
    func refusedByXML() async throws {
        let url = folder.file("settings.plist")
        let bytes = try PropertyListValue.dictionary(["a": 1]).encoded(as: .xml)
        try bytes.write(to: url)
        let result = try await Subprocess.finished("prefs", ["write", url.path, "key", "a\u{1}b"])
        #expect(result.status == 3)
        #expect(
            result.errors.hasPrefix("prefs: key \"key\": cannot be stored: \(url.path) is XML, and XML cannot hold the character U+0001"))
        #expect(result.errors.count(where: \.isNewline) == 1)
        #expect(try Data(contentsOf: url) == bytes)
    }

    @Test("write preserves other entries and the format")
    func keeping() async throws {
        let url = folder.file("settings.plist")
        try PropertyListValue.dictionary(["a": 1]).encoded(as: .xml).write(to: url)
        #expect(try await tool("write", url.path, "b", "2").status == 0)
        let decoded = try PropertyListValue.decode(Data(contentsOf: url))
        #expect(decoded.value == ["a": 1, "b": "2"])
        #expect(decoded.format == .xml)
    }

    @Test("write, increment, delete and import keep the comments, the order and the white space of an XML file")
    func keepingText() async throws {
        let url = folder.file("settings.plist")
        let text =
            "<plist>\n<dict>\n    <!-- b -->\n    <key>b</key> <integer>0x10</integer>\n    <key>a</key> <true/> <!-- a -->\n</dict>\n</plist>\n"
        try Data(text.utf8).write(to: url)
        func expect(_ expected: String) throws {
            #expect(try String(contentsOf: url, encoding: .utf8) == expected)
        }
        let incremented = text.replacingOccurrences(of: "0x10", with: "17")
        #expect(try await tool("increment", url.path, "b").text == "17\n")
        try expect(incremented)
        let written = incremented.replacingOccurrences(of: "</dict>", with: "    <key>c</key> <string>x</string>\n</dict>")
        #expect(try await tool("write", url.path, "c", "x").status == 0)
        try expect(written)
        let imported = try PropertyListValue.dictionary(["a": false]).encoded(as: .binary)
        #expect(try await tool("import", url.path, input: imported).status == 0)
        try expect(written.replacingOccurrences(of: "<true/>", with: "<false/>"))
        #expect(try await tool("delete", url.path, "a").status == 0)
        try expect(written.replacingOccurrences(of: "<key>a</key> <true/> ", with: ""))
    }

    @Test("delete removes one entry, or all entries")
    func delete() async throws {
        for key in ["a", "b", "c"] { #expect(try await tool("write", file, key, "x").status == 0) }
        #expect(try await tool("delete", file, "a").status == 0)
        #expect(try stored() == ["b": "x", "c": "x"])
        #expect(try await tool("delete", file).status == 0)
        #expect(try stored() == .dictionary([:]))
        #expect(try await tool("read", file).text == "{}\n")
    }

    @Test("increment counts from 0 by 1, or by a given number, and prints the sum")
    func increment() async throws {
        #expect(try await tool("increment", file, "n").text == "1\n")
        #expect(try await tool("increment", file, "n", "41").text == "42\n")
        #expect(try await tool("increment", file, "n", "-50").text == "-8\n")
        #expect(try await tool("increment", file, "zero", "0").text == "0\n")
        #expect(try stored() == ["n": -8, "zero": 0])
    }

    @Test("increment reaches both limits of the range, and is an error beyond them that changes nothing")
    func overflow() async throws {
        #expect(try await tool("increment", file, "n", "18446744073709551615").text == "18446744073709551615\n")
        let above = try await tool("increment", file, "n")
        #expect(above.status == 3)
        #expect(above.errors == "prefs: \(file): key \"n\" cannot be incremented: 18446744073709551616 is out of range\n")
        #expect(try await tool("read", file, "n").text == "18446744073709551615\n")
        #expect(try await tool("increment", file, "m", "-9223372036854775808").status == 0)
        #expect(try await tool("increment", file, "m", "-1").status == 3)
        #expect(try await tool("read", file, "m").text == "-9223372036854775808\n")
    }

    @Test("increment of a value that is not an integer names its type and changes nothing", arguments: ["--string", "--real"])
    func incrementOfOther(_ option: String) async throws {
        #expect(try await tool("write", file, "n", "5", option).status == 0)
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        let result = try await tool("increment", file, "n")
        #expect(result.status == 3)
        #expect(result.errors == "prefs: \(file): key \"n\" cannot be incremented: it is of type \(option.dropFirst(2))\n")
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
    }

    @Test("import merges any format", arguments: PropertyListFormat.allCases)
    func importing(_ format: PropertyListFormat) async throws {
        #expect(try await tool("write", file, "a", "old").status == 0)
        #expect(try await tool("write", file, "b", "old").status == 0)
        let input = try PropertyListValue.dictionary(["b": 2, "c": [true]]).encoded(as: format)
        #expect(try await tool("import", file, input: input).status == 0)
        #expect(try stored() == ["a": "old", "b": 2, "c": [true]])
    }

    @Test("import reads JSON, and a file instead of standard input")
    func importingJSON() async throws {
        #expect(try await tool("write", file, "a", "old").status == 0)
        #expect(try await tool("import", file, input: Data(" {\"b\": [1, 1.5]}\n".utf8)).status == 0)
        #expect(try stored() == ["a": "old", "b": [1, 1.5]])
        try PropertyListValue.dictionary(["c": true]).encoded(as: .xml).write(to: folder.file("source"))
        #expect(try await tool("import", file, folder.path("source")).status == 0)
        #expect(try stored() == ["a": "old", "b": [1, 1.5], "c": true])
        let commented = Data("// null is no entry\n{\"b\": null, \"c\": 2, /* the last */}".utf8)
        #expect(try await tool("import", file, input: commented).status == 0)
        #expect(try stored() == ["a": "old", "b": [1, 1.5], "c": 2])
        let missing = try await tool("import", file, folder.path("missing"))
        #expect(missing.status == 3)
        #expect(missing.errors == "prefs: \(folder.path("missing")): cannot be read: No such file or directory\n")
    }

    @Test(
        "import of anything else exits with 3 and changes nothing",
        arguments: ["", "{\"a\":[null]}", "{\"a\":1", "[1]", "<plist><array/></plist>"])
    func importingOther(_ input: String) async throws {
        let result = try await tool("import", file, input: Data(input.utf8))
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: standard input: "))
        #expect(result.errors.count(where: \.isNewline) == 1)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test("Standard input is limited to the maximum size of a file, and the error names the reason if it cannot be read")
    func standardInput() async throws {
        let zeros = open("/dev/zero", O_RDONLY)
        try #require(zeros >= 0)
        defer { close(zeros) }
        let error = #expect(throws: CommandError.self) { try readStandardInput(zeros, atMost: 1_000_000) }
        guard case .failed("standard input: it has more than 1000000 bytes, which are read at most") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        let bytes = Data(repeating: 7, count: 1_000_000)
        try bytes.write(to: folder.file("input"))
        let input = open(folder.path("input"), O_RDONLY)
        defer { close(input) }
        #expect(try readStandardInput(input, atMost: 1_000_000) == bytes)
        let prefs = Subprocess.executable("prefs").path
        for (input, reason) in [("</", "Is a directory"), ("0>'\(folder.path("output"))'", "Bad file descriptor")] {
            let result = try await Subprocess.finished("/bin/sh", ["-c", "'\(prefs)' import '\(file)' \(input)"])
            #expect(result.status == 3)
            #expect(result.errors == "prefs: standard input: cannot be read: \(reason)\n")
        }
        #expect(!FileManager.default.fileExists(atPath: file))
    }
}
