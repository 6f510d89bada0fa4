import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("Searching and comparing", .timeLimit(.minutes(10)))
struct SearchTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try write(["server": ["Port": 8080, "hosts": ["alpha", "beta"]], "on": true, "same": 1], "org.one.plist")
        try write(["server": ["Port": "8080", "hosts": ["alpha"]], "since": "BETA", "same": 1], "two.plist")
        try Data().write(to: folder.file(".two.plist.lock"))
    }

    private func write(_ value: PropertyListValue, _ name: String) throws {
        try value.encoded(as: .binary).write(to: folder.file(name))
    }

    private func run(_ arguments: String...) async throws -> Subprocess {
        try await Subprocess.finished("prefs", arguments, environment: ["XDG_CONFIG_HOME": folder.url.path])
    }

    #if os(Linux)
        @Test("domains lists the domains of the configuration folder")
        func domains() async throws {
            #expect(try await run("domains").text == "org.one\ntwo\n")
        }

        @Test("A file whose name is not UTF-8 is no domain")
        func invalidName() async throws {
            let path: [CChar] = (folder.url.path + "/").utf8CString.dropLast() + [CChar(bitPattern: 0xFF)] + ".plist".utf8CString
            let descriptor = open(path, O_CREAT | O_WRONLY, 0o600)
            try #require(descriptor >= 0)
            defer {
                close(descriptor)
                unlink(path)
            }
            #expect(try await run("domains").text == "org.one\ntwo\n")
            #expect(try await run("find", "beta").status == 0)
        }

        @Test("A folder of domains that cannot be read is an error with the reason; a missing one has none")
        func unreadableFolder() async throws {
            func run(_ folder: String) async throws -> Subprocess {
                try await Subprocess.finished("prefs", ["domains"], environment: ["XDG_CONFIG_HOME": folder])
            }
            let file = folder.path("two.plist")
            let result = try await run(file)
            #expect(result.status == 3 && result.errors == "prefs: \(file): cannot be read: Not a directory\n")
            let missing = try await run(folder.path("missing"))
            #expect(missing.status == 0 && missing.output.isEmpty)
        }

        @Test("find searches names and values of all domains, without regard to case")
        func find() async throws {
            #expect(try await run("find", "beta").text == "org.one: server.hosts.1: \"beta\"\ntwo: since: \"BETA\"\n")
            #expect(try await run("find", "port").text == "org.one: server.Port: 8080\ntwo: server.Port: \"8080\"\n")
            let none = try await run("find", "gamma")
            #expect(none.status == 1)
            #expect(none.output.isEmpty && none.errors.isEmpty)
        }

        @Test("find reports a file that cannot be read, and searches the others")
        func unreadable() async throws {
            try Data("nonsense".utf8).write(to: folder.file("bad.plist"))
            let result = try await run("find", "beta")
            #expect(result.status == 3)
            #expect(result.errors.hasPrefix("prefs: \(folder.path("bad.plist")): "))
            #expect(result.text.count(where: \.isNewline) == 2)
        }

        @Test("Candidates are commands, options, choices, domains, and keys of the domain")
        func candidates() async throws {
            for (words, candidates) in [
                (["wr"], "write\n"), (["read", "o"], "org.one\n"),
                (["read", "two", "s"], "same\nserver\nserver.Port\nserver.hosts\nserver.hosts.0\nsince\n"),
                (["write", "two", "on", "x", "si"], "since\n"), (["write", "two", "on", "si"], ""),
                (["write", "two", "a", "1", "b", "2", "si"], "since\n"),
                (["write", "two", "a", "1", "b", "2", "c", "si"], ""), (["read", "--j"], "--json\n"),
                (["export", "two", "--format", "x"], "xml\n"), (["export", "two", "--format=x"], "--format=xml\n"),
                (["export", "two", "--fo"], "--format\n"), (["help", "rea"], "read\n"), (["completions", "z"], "zsh\n"),
                (["diff", "two", "o"], "org.one\n"), (["find", "x", "t"], "two\n"), (["watch", "two", "same", "on", "si"], "since\n"),
                (["log", "two", "si"], "since\n"), (["log", "two", "--l"], "--literal\n"), (["watch", "two", "--s"], "--since\n--state\n"),
                (["rename", "two", "si"], "since\n"), (["read", "missing", "s"], ""), (["unknown", "s"], ""),
                (["read", "--", "two", "since"], "since\n"),
            ] {
                let result = try await Subprocess.finished(
                    "prefs", ["completions", "--candidates", "--"] + words, environment: ["XDG_CONFIG_HOME": folder.url.path])
                #expect(result.text == candidates, "\(words)")
            }
        }
    #endif

    @Test("diff prints what differs by path, and exits with 1 if anything does")
    func diff() async throws {
        let (one, two) = (folder.path("org.one.plist"), folder.path("two.plist"))
        let result = try await run("diff", one, two)
        #expect(result.status == 1)
        #expect(
            result.text == """
                - on: true
                - server.Port: 8080
                + server.Port: "8080"
                - server.hosts.1: "beta"
                + since: "BETA"

                """)
        let same = try await run("diff", one, one)
        #expect(same.status == 0)
        #expect(same.output.isEmpty && same.errors.isEmpty)
        #expect(try await run("diff", one, folder.path("none.plist")).status == 3)
    }

    @Test("--version prints a version, and every completion script is printed")
    func scripts() async throws {
        #expect(try await run("--version").text == "prefs \(Prefs.version)\n")
        for shell in ["bash", "zsh", "fish"] {
            #expect(try await run("completions", shell).text.contains("prefs completions --candidates --"))
        }
    }

    @Test("The manual has a section for each command, and man has no complaint", .enabled(if: isInstalled("groff")))
    func manual() async throws {
        let page = try await run("manual")
        for command in Prefs.commands { #expect(page.text.contains(".SS \(command.name)\n")) }
        #expect(page.text.contains(".SH EXIT STATUS\n"))
        let formatted = try await Subprocess.finished("groff", ["-man", "-Tutf8", "-ww"], input: page.output)
        #expect(formatted.status == 0 && formatted.errors.isEmpty, "\(formatted.errors)")
    }
}
