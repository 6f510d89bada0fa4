import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs convert and lint", .timeLimit(.minutes(10)))
struct ConvertingTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
    }

    private func write(_ value: PropertyListValue, as format: PropertyListFormat = .binary) throws {
        try value.encoded(as: format).write(to: folder.file("settings.plist"))
    }

    @Test(
        "A file is converted in place, with its mode, and python reads the same from it",
        .enabled(if: isInstalled("python3")), arguments: [("xml", "FMT_XML"), ("binary", "FMT_BINARY")])
    func inPlace(_ format: String, _ name: String) async throws {
        let value: PropertyListValue = [
            "a": [1, 1.5, true, "é"], "d": .date(Date(timeIntervalSinceReferenceDate: 5)), "b": .data(Data([0, 1])), "n": ["x": 1],
        ]
        try write(value, as: format == "xml" ? .binary : .xml)
        chmod(file, 0o640)
        #expect(try await tool("convert", file, "--to", format).status == 0)
        let script = """
            import plistlib, sys, os, datetime
            bytes = open(sys.argv[1], 'rb').read()
            assert plistlib.loads(bytes, fmt=plistlib.\(name)) == {
                'a': [1, 1.5, True, 'é'], 'd': datetime.datetime(2001, 1, 1, 0, 0, 5), 'b': b'\\0\\1', 'n': {'x': 1}}
            assert os.stat(sys.argv[1]).st_mode & 0o777 == 0o640
            """
        let check = try await Subprocess.finished("python3", ["-c", script, file])
        #expect(check.status == 0, "\(check.errors)")
    }

    @Test("Converting to the same format changes nothing")
    func sameFormat() async throws {
        try write(["a": 1], as: .xml)
        let before = try Data(contentsOf: folder.file("settings.plist"))
        #expect(try await tool("convert", file, "--to", "xml").status == 0)
        #expect(try Data(contentsOf: folder.file("settings.plist")) == before)
    }

    @Test("JSON goes to standard output or a file, and python reads the same from it", .enabled(if: isInstalled("python3")))
    func json() async throws {
        try write(["a": [1, 1.5, true, "é\n"]])
        let output = try await tool("convert", file, "--to", "json")
        let written = try await tool("convert", file, "--to", "json", "-o", folder.path("out.json"))
        #expect(output.status == 0 && written.status == 0)
        #expect(written.output.isEmpty)
        #expect(try Data(contentsOf: folder.file("out.json")) == output.output)
        let script = "import json, sys; assert json.load(sys.stdin) == {'a': [1, 1.5, True, 'é\\n']}"
        #expect(try await Subprocess.finished("python3", ["-c", script], input: output.output).status == 0)
    }

    @Test(
        "A value that the format cannot represent is an error that names the key and changes nothing, unless --lossy is given",
        arguments: [
            ("xml", .date(Date(timeIntervalSinceReferenceDate: 0.25)), true), ("xml", "\u{1}", false),
            ("json", .date(Date(timeIntervalSinceReferenceDate: 1)), true), ("json", .data(Data([1])), true), ("json", .real(.nan), true),
            ("json", .uid(1), true),
        ] as [(String, PropertyListValue, Bool)])
    func loss(_ format: String, _ value: PropertyListValue, _ isPossible: Bool) async throws {
        try write(["k": ["a", value]])
        let before = try Data(contentsOf: folder.file("settings.plist"))
        let result = try await tool("convert", file, "--to", format)
        #expect(result.status == 3)
        #expect(result.output.isEmpty)
        #expect(result.errors.hasPrefix("prefs: \(file): cannot be converted: key \"k.1\": "))
        #expect(try Data(contentsOf: folder.file("settings.plist")) == before)
        #expect(try await tool("convert", file, "--to", format, "--lossy").status == (isPossible ? 0 : 3))
    }

    @Test("The output cannot be the file itself, and leaves the file as it is")
    func output() async throws {
        try write(["k": 1])
        let before = try Data(contentsOf: folder.file("settings.plist"))
        #expect(try await tool("convert", file, "--to", "json", "-o", file).status == 3)
        #expect(try await tool("convert", file, "--to", "xml", "-o", folder.path("copy")).status == 0)
        #expect(try PropertyListValue.decode(Data(contentsOf: folder.file("copy"))) == (["k": 1], .xml))
        #expect(try Data(contentsOf: folder.file("settings.plist")) == before)
    }

    @Test(
        "An output file keeps its mode, also behind a link; a new one is for this user only, and its folder has to exist; what killed tools have left is removed"
    )
    func outputFile() async throws {
        try write(["k": 1])
        try Data("old".utf8).write(to: folder.file("old"))
        try #require(chmod(folder.path("old"), 0o640) == 0)
        try folder.link("link", to: "old")
        for name in ["new", "old"] { try Data().write(to: folder.file(".\(name).\(pid_t.max)-1f.tmp")) }
        for name in ["link", "new"] {
            #expect(try await tool("convert", file, "--to", "xml", "-o", folder.path(name)).status == 0)
            #expect(try PropertyListValue.decode(Data(contentsOf: folder.file(name))) == (["k": 1], .xml))
        }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link")).hasSuffix("old"))
        #expect(try mode("old") == 0o640)
        #expect(try mode("new") == 0o600)
        let missing = try await tool("convert", file, "--to", "xml", "-o", folder.path("missing/new"))
        #expect(missing.status == 3)
        #expect(missing.errors == "prefs: \(folder.path("missing/new")): cannot be written: No such file or directory\n")
        #expect(try folder.names() == ["link", "new", "old", "settings.plist"])
    }

    private func mode(_ name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int
    }

    @Test("An output that is a pipe, as devices are, or a standard stream, is written and not replaced")
    func outputPipe() async throws {
        try write(["k": 1])
        let script = "echo before > \"$L\"; \"$P\" convert \"$F\" --to json -o /dev/stderr 2>> \"$L\"; cat \"$L\""
        let variables = ["P": Subprocess.executable("prefs").path, "F": file, "L": folder.path("log")]
        let log = try await Subprocess.finished("/bin/sh", ["-c", script], environment: variables)
        #expect(log.text == "before\n{\n  \"k\": 1\n}\n")
        let pipe = folder.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let descriptor = open(pipe, O_RDONLY | O_NONBLOCK)
        try #require(descriptor >= 0)
        let reader = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        #expect(try await tool("convert", file, "--to", "json", "-o", pipe).status == 0)
        #expect(try reader.readToEnd() == Data("{\n  \"k\": 1\n}\n".utf8))
        #expect(try FileManager.default.attributesOfItem(atPath: pipe)[.type] as? FileAttributeType != .typeRegular)
    }

    @Test("The file of an open descriptor is written and not replaced, and a reader that leaves early is an error")
    func outputDescriptor() async throws {
        try write(["k": .string(String(repeating: "x", count: 1_000_000))])
        let script = """
            exec 3> "$L"; echo before >&3; "$P" convert "$F" --to json -o /dev/fd/3; echo after >&3; exec 3>&-; cut -c 1-10 "$L"
            mkfifo "$D"; head -c 1 < "$D" > "$L" & "$P" convert "$F" --to json -o "$D"; echo $?
            """
        let variables = ["P": Subprocess.executable("prefs").path, "F": file, "L": folder.path("log"), "D": folder.path("pipe")]
        let result = try await Subprocess.finished("/bin/sh", ["-c", script], environment: variables)
        #expect(result.text == "before\n{\n  \"k\": \"xx\n}\nafter\n3\n")
        #expect(result.errors == "prefs: \(folder.path("pipe")): cannot be written: Broken pipe\n")
    }

    @Test("An output that cannot be written says so, with the reason", arguments: ["settings.plist/x", "loop", "folder/"])
    func unwritableOutput(name: String) async throws {
        try write(["k": 1])
        try folder.link("loop", to: "loop")
        try FileManager.default.createDirectory(atPath: folder.path("folder"), withIntermediateDirectories: false)
        let result = try await tool("convert", file, "--to", "json", "-o", folder.path(name))
        let reasons = ["settings.plist/x": "is a file, not a folder", "loop": "symbolic links", "folder/": "folder"]
        #expect(result.status == 3)
        #expect(result.errors.contains(": cannot be written: ") && result.errors.contains(reasons[name] ?? ""), "\(result.errors)")
    }

    @Test("lint prints OK for any property list, and file, position and reason for anything else")
    func lint() async throws {
        try write([1, 2], as: .xml)
        let good = try await tool("lint", file)
        #expect(good.status == 0)
        #expect(good.text == "\(file): OK (xml, array)\n")
        try Data("<plist>\n<dict>\n<key>a</key></dict></plist>".utf8).write(to: folder.file("bad"))
        let bad = try await tool("lint", folder.path("bad"), file)
        #expect(bad.status == 1)
        #expect(bad.text == good.text)
        #expect(bad.errors.hasPrefix("prefs: \(folder.path("bad")): "))
        #expect(bad.errors.contains("(at line 3, column "))
        #expect(bad.errors.ranges(of: "line 3").count == 1)
        let missing = try await tool("lint", folder.path("missing"), folder.path("bad"))
        #expect(missing.status == 3)
        #expect(missing.errors.contains("missing: cannot be read: No such file or directory"))
        #expect(try await tool("lint", "-", input: Data("bplist00".utf8)).status == 1)
    }

    @Test("lint does not take the name of no domain for that of a file in the working directory", arguments: [".", ".."])
    func lintOfNoDomain(_ name: String) async throws {
        let result = try await tool("lint", name)
        #expect(result.status == 3)
        #expect(result.errors.contains("the name of a suite may not be"), "\(result.errors)")
    }
}
