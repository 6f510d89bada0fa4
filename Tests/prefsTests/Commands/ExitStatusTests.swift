import Foundation
import TestSupport
import Testing

@testable import prefs

@Suite("Exit status", .timeLimit(.minutes(10)))
struct ExitStatusTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
    }

    @Test(
        "An invalid command line exits with 2 and prints the usage",
        arguments: [
            [], ["reed"], ["read"], ["read", "f.plist", "k", "x"], ["read", "--xml", "f.plist"], ["read", ""],
            ["read", "f.plist", "--raw"], ["type", "f.plist"],
            ["write", "f.plist", "k"], ["write", "f.plist", "k", "v", "--int"], ["write", "f.plist", "k", "1", "--int", "--bool"],
            ["write", "f.plist", "k", "--json", "[null]"], ["delete"], ["increment", "f.plist", "k", "1.5"],
            ["watch", "f.plist", "--count", "0"], ["watch", "f.plist", "--count"], ["watch", "f.plist", "--since"],
            ["watch", "f.plist", "--since", "x"], ["watch", "f.plist", "--since", "a-1", "--initial"], ["log"],
            ["log", "f.plist", "k", "l"], ["log", "f.plist", "--literal"], ["export", "f.plist"],
            ["write", "f.plist", "k", "v", "l"], ["write", "f.plist", "k", "--array-add"], ["write", "f.plist", "k", "--array", "--dict"],
            ["write", "f.plist", "k", "-", "l", "-"], ["write", "f.plist", "k", "v", "--raw"],
            ["write", "f.plist", "k", "-", "--raw", "--int"],
            ["write", "f.plist", "k", "v", "--type", "text"], ["write", "f.plist", "k", "[]", "--type", "dictionary"],
            ["rename", "f.plist", "k"], ["list"], ["convert", "f.plist"], ["convert", "f.plist", "--to", "toml"], ["lint"],
            ["diff", "f.plist"],
            ["find"], ["find", ""], ["domains", "x"], ["completions"], ["completions", "csh"], ["edit"], ["manual", "x"],
            ["export", "f.plist", "--format", "toml"], ["import"], ["help", "reed"],
        ])
    func usage(_ arguments: [String]) async throws {
        let result = try await Subprocess.finished("prefs", arguments)
        #expect(result.status == 2)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains("usage: prefs") || result.errors.contains("try: prefs help"))
        #expect(!FileManager.default.fileExists(atPath: "f.plist"))
    }

    @Test(
        "All forms of help exit with 0",
        arguments: [["help"], ["--help"], ["-h"], ["help", "read"], ["read", "-h"], ["watch", "--help"]])
    func help(_ arguments: [String]) async throws {
        let result = try await Subprocess.finished("prefs", arguments)
        #expect(result.status == 0)
        #expect(result.errors.isEmpty)
        #expect(result.text.hasPrefix("usage: prefs"))
    }

    @Test(
        "A file that is not a property list exits with 3, prints a line that names it, and is not changed",
        arguments: [
            ["read"], ["read", "k"], ["type", "k"], ["write", "k", "v"], ["delete"], ["delete", "k"], ["increment", "k"], ["watch"],
            ["log"], ["watch", "--since", "a-1"],
            ["export", "--format", "json"],
        ])
    func malformed(_ arguments: [String]) async throws {
        try Data("nonsense".utf8).write(to: folder.file("settings.plist"))
        let result = try await Subprocess.finished("prefs", [arguments[0], file] + arguments.dropFirst())
        #expect(result.status == 3)
        #expect(result.output.isEmpty)
        #expect(result.errors.hasPrefix("prefs: \(file): "))
        #expect(result.errors.count(where: \.isNewline) == 1)
        #expect(try Data(contentsOf: folder.file("settings.plist")) == Data("nonsense".utf8))
    }

    @Test("The article has the same exit statuses as the help")
    func documented() throws {
        let package = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let file = package.appending(path: "Sources/ObservableStorage/Documentation.docc/CommandLineTool.md")
        let article = try String(contentsOf: file, encoding: .utf8).replacing("`", with: "")
        let statuses = Command.exitStatuses.enumerated().map { "| \($0) | \($1) |\n" }.joined()
        #expect(article.contains("| status | meaning |\n|---|---|\n\(statuses)\n"))
    }

    @Test("The error of an invalid XML file, or of XML on standard input, names the line and the column")
    func position() async throws {
        let xml = Data("<plist>\n<dict>\n\t<key>a</key>\n</dict></plist>".utf8)
        try xml.write(to: folder.file("settings.plist"))
        #expect(try await tool("read", file).errors.contains("(line 3, column 2): the key \"a\" has no value"))
        #expect(try await tool("import", folder.path("new.plist"), input: xml).errors.contains("no value (at line 3, column 2)"))
    }

    @Test("A folder in place of the file, or a file in place of its folder, exits with 3")
    func unusable() async throws {
        let inner = folder.path("folder")
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        #expect(try await tool("read", inner).status == 3)
        #expect(try await tool("write", inner, "k", "v").status == 3)
        try Data().write(to: folder.file("plain"))
        let result = try await tool("write", folder.path("plain/settings.plist"), "k", "v")
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: \(folder.path("plain/settings.plist")): cannot be "))
        #expect(result.errors.count(where: \.isNewline) == 1)
    }

    @Test("A full disk for standard output exits with 3", .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullOutput() async throws {
        #expect(try await tool("write", file, "k", "v").status == 0)
        let result = try await Subprocess.finished("/bin/sh", ["-c", "\(Subprocess.executable("prefs").path) read \(file) >/dev/full"])
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: standard output: "))
    }

    @Test("Closed standard streams are errors, and no file takes their place")
    func closedStreams() async throws {
        #expect(try await tool("write", file, "k", "1", "--int").status == 0)
        let prefs = Subprocess.executable("prefs").path
        let output = try await Subprocess.finished("/bin/sh", ["-c", "'\(prefs)' increment '\(file)' k >&-"])
        #expect(output.status == 3)
        #expect(output.errors == "prefs: standard output: cannot be written: Bad file descriptor\n")
        #expect(try await Subprocess.finished("/bin/sh", ["-c", "'\(prefs)' write '\(file)' >&- 2>&-"]).status == 2)
        #expect(try await Subprocess.finished("/bin/sh", ["-c", "'\(prefs)' import '\(file)' <&-"]).status == 3)
        #expect(try await tool("read", file, "k").text == "2\n")
    }

    @Test("Too low a limit on open files exits with 3 and a line that says so, not with a signal", arguments: [4, 5, 8, 15])
    func openFiles(limit: Int) async throws {
        #expect(try await tool("write", file, "k", "v").status == 0)
        let script = "ulimit -n \(limit); exec \"$0\" read \"$1\" k"
        let result = try await Subprocess.finished("/bin/sh", ["-c", script, Subprocess.executable("prefs").path, file])
        #expect(result.status == 3)
        #expect(result.errors == "prefs: only \(limit) files may be open at once (ulimit -n), and 16 are needed\n")
    }

    @Test("Sixteen are sufficient", arguments: [["read"], ["increment"], ["watch", "--initial", "--count", "1"]])
    func enoughOpenFiles(arguments: [String]) async throws {
        #expect(try await tool("write", file, "k", "1", "--int").status == 0)
        let script = "ulimit -n 16; program=$0; command=$1; file=$2; shift 2; exec \"$program\" \"$command\" \"$file\" k \"$@\""
        let command = [Subprocess.executable("prefs").path, arguments[0], file] + arguments.dropFirst()
        let result = try await Subprocess.finished("/bin/sh", ["-c", script] + command)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("A file that another process keeps locked exits with 3", .enabled(if: isLong && isInstalled("python3")))
    func locked() async throws {
        #expect(try await tool("write", file, "k", "v").status == 0)
        let script = "import fcntl,sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"
        let holder = try RunningProgram("python3", ["-c", script, folder.path(".settings.plist.lock")])
        _ = try await holder.lines(count: 1)
        let result = try await tool("write", file, "k", "w")
        #expect(result.status == 3)
        let start = "prefs: \(file): locked by another process for more than 10.0 seconds, with the lock file .settings.plist.lock"
        #expect(result.errors.hasPrefix(start), "\(result.errors)")
        #expect(try await tool("read", file, "k").text == "v\n")
        try holder.endInput()
        #expect(try await holder.status == 0)
    }
}
