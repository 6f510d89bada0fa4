import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs watch", .timeLimit(.minutes(10)))
struct WatchingTests {
    private let folder: TemporaryFolder
    private let file: String

    init() async throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
        #expect(try await tool("write", file, "a", "1", "--int").status == 0)
        #expect(try await tool("write", file, "b", "x\ny").status == 0)
    }

    @Test("The current values are printed first, then a line for each change as it is made")
    func lines() async throws {
        let watch = try RunningProgram("prefs", ["watch", file, "--initial"])
        #expect(try await watch.lines(count: 2) == ["a: 1  (initial, revision 0)", #"b: "x\ny"  (initial, revision 0)"#])
        #expect(try await tool("increment", file, "a").status == 0)
        #expect(try await watch.lines(count: 3)[2] == "a: 1 -> 2  (external, revision 1)")
        #expect(try await tool("write", file, "c", "new").status == 0)
        #expect(try await watch.lines(count: 4)[3] == #"c: (none) -> "new"  (external, revision 2)"#)
        #expect(try await tool("delete", file).status == 0)
        let removed = try await watch.lines(count: 7)[4...]
        #expect(
            removed == [
                "a: 2 -> (removed)  (external, revision 3)", #"b: "x\ny" -> (removed)  (external, revision 3)"#,
                #"c: "new" -> (removed)  (external, revision 3)"#,
            ])
    }

    @Test("Only the named keys are printed, in their order, set or not")
    func keys() async throws {
        let watch = try RunningProgram("prefs", ["watch", "--initial", "--json", file, "z", "a", "z"])
        #expect(
            try await watch.lines(count: 2) == [
                #"{"key":"z","old":null,"new":null,"kind":"initial","origin":null,"revision":0,"storageRevision":null}"#,
                #"{"key":"a","old":null,"new":1,"kind":"initial","origin":null,"revision":0,"storageRevision":null}"#,
            ])
        #expect(try await tool("write", file, "b", "unseen").status == 0)
        #expect(try await tool("write", file, "z", "seen").status == 0)
        let last = try await watch.lines(count: 3)[2]
        #expect(last.hasPrefix(#"{"key":"z","old":null,"new":"seen","kind":"set","origin":"external","revision":"#))
    }

    @Test("A missing file can be watched, and nothing is created for it")
    func missing() async throws {
        let folder = try TemporaryFolder()
        let watch = try RunningProgram("prefs", ["watch", folder.path("f/new.plist"), "k", "--initial"])
        #expect(try await watch.lines(count: 1) == ["k: (none)  (initial, revision 0)"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        #expect(try await tool("write", folder.path("f/new.plist"), "k", "v").status == 0)
        #expect(try await watch.lines(count: 2)[1] == #"k: (none) -> "v"  (external, revision 1)"#)
    }

    @Test("It stops after a number of lines, including the initial ones")
    func count() async throws {
        let short = try await tool("watch", file, "--initial", "--count", "1")
        #expect(short.status == 0)
        #expect(short.text == "a: 1  (initial, revision 0)\n")
        let watch = try RunningProgram("prefs", ["watch", file, "a", "--initial", "--count", "2"])
        _ = try await watch.lines(count: 1)
        #expect(try await tool("increment", file, "a").status == 0)
        #expect(try await watch.status == 0)
        #expect(watch.lines.elements.count == 2)
    }

    @Test("SIGINT and SIGTERM end it with status 0", arguments: [SIGINT, SIGTERM])
    func signals(_ signal: Int32) async throws {
        let watch = try RunningProgram("prefs", ["watch", file, "--initial"])
        _ = try await watch.lines(count: 2)
        watch.signal(signal)
        #expect(try await watch.status == 0)
        #expect(watch.errors.elements.isEmpty)
    }

    @Test("SIGINT and SIGTERM end it with status 0 while it waits for a cluster that does not respond", arguments: [SIGINT, SIGTERM])
    func signalsBefore(_ signal: Int32) async throws {
        let server = try LoopbackSocket.listening(on: 0)
        let watch = try RunningProgram("prefs", ["watch", "--etcd", "127.0.0.1:\(try server.port)/prefix"])
        let connection = try server.accepted()
        watch.signal(signal)
        #expect(try await watch.status == 0)
        #expect(watch.errors.elements.isEmpty)
        _ = consume connection
    }

    @Test("It exits silently when its reader has closed the pipe, even without output")
    func closedOutput() async throws {
        let command = "\(Subprocess.executable("prefs").path) watch \(file) --initial a | head -1"
        let result = try await Subprocess.finished("/bin/sh", ["-c", command])
        #expect(result.text == "a: 1  (initial, revision 0)\n")
        #expect(result.errors.isEmpty)
    }

    @Test("A file that becomes unreadable is reported on standard error, and watching continues")
    func badFile() async throws {
        let watch = try RunningProgram("prefs", ["watch", file, "--initial"])
        _ = try await watch.lines(count: 2)
        try Data("nonsense".utf8).write(to: folder.file("settings.plist"))
        let error = try await watch.errors.elements(count: 1)[0]
        #expect(error.hasPrefix("prefs: \(file): not a readable property list"))
        try PropertyListValue.dictionary(["a": 7, "b": "x\ny"]).encoded(as: .xml).write(to: folder.file("settings.plist"), options: .atomic)
        #expect(try await watch.lines(count: 3)[2] == "a: 1 -> 7  (external, revision 1)")
    }

    @Test("A terminal gets a table on the alternate screen, which Ctrl-C leaves with status 0", .enabled(if: isInstalled("python3")))
    func table() async throws {
        let script = """
            import os, pty, sys
            child, terminal = pty.fork()
            if child == 0: os.execv(sys.argv[1], sys.argv[1:])
            output = b''
            while b'Ctrl-C ends' not in output: output += os.read(terminal, 4096)
            os.write(terminal, b'\\x03')
            try:
                while True:
                    bytes = os.read(terminal, 4096)
                    if not bytes: break
                    output += bytes
            except OSError: pass
            sys.stdout.buffer.write(output)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """
        let result = try await Subprocess.finished(
            "python3", ["-c", script, Subprocess.executable("prefs").path, "watch", file], environment: ["TERM": "xterm", "NO_COLOR": "1"])
        #expect(result.status == 0, "\(result.errors)")
        #expect(result.text.hasPrefix("\u{1b}[?1049h"))
        #expect(result.text.contains("  a  1       \u{1b}[K"))
        #expect(result.text.hasSuffix("\u{1b}[?1049l"))
    }

    @Test("Ctrl-C ends it with status 0 while a terminal waits for a cluster that does not respond", .enabled(if: isInstalled("python3")))
    func tableBefore() async throws {
        let script = """
            import os, pty, socket, sys
            server = socket.create_server(('127.0.0.1', 0))
            arguments = [*sys.argv[1:], '--etcd', '127.0.0.1:%d/prefix' % server.getsockname()[1]]
            child, terminal = pty.fork()
            if child == 0: os.execv(sys.argv[1], arguments)
            connection = server.accept()
            os.write(terminal, b'\\x03')
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            """
        let result = try await Subprocess.finished(
            "python3", ["-c", script, Subprocess.executable("prefs").path, "watch"], environment: ["TERM": "xterm"])
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test("A terminal gets colors, unless NO_COLOR is set", .enabled(if: isInstalled("python3")))
    func colours() async throws {
        let script = "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
        let arguments = ["-c", script, Subprocess.executable("prefs").path, "watch", file, "--initial", "--count", "1"]
        let coloured = try await Subprocess.finished("python3", arguments, environment: ["TERM": "xterm", "NO_COLOR": ""])
        #expect(coloured.status == 0)
        #expect(coloured.text.contains("\u{1b}["))
        let plain = try await Subprocess.finished("python3", arguments, environment: ["TERM": "xterm", "NO_COLOR": "1"])
        #expect(plain.text == "a: 1  (initial, revision 0)\r\n")
    }
}
