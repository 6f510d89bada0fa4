import Foundation
import ObservableStorage
import TestSupport
import Testing

@testable import prefs

@Suite("The operand FILE", .timeLimit(.minutes(10)))
struct FileOperandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Runs a script in the folder, where `$P` is the tool.
    private func run(_ script: String, environment: [String: String] = [:]) async throws -> Subprocess {
        let variables = ["P": Subprocess.executable("prefs").path, "FOLDER": folder.url.path].merging(environment) { $1 }
        return try await Subprocess.finished("/bin/sh", ["-c", "cd \"$FOLDER\" && \(script)"], environment: variables)
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.url.path + "/" + name)
    }

    @Test("A slash or the extension makes it a path", arguments: ["./settings", "a/b", "settings.plist", "a/\u{301}"])
    func paths(_ operand: String) {
        let name = operand.hasPrefix("./") ? String(operand.dropFirst(2)) : operand
        #expect(PropertyListFile(operand: operand).name == FileManager.default.currentDirectoryPath + "/" + name)
    }

    @Test("Anything else is a domain", arguments: ["org.example", "settings"])
    func domains(_ operand: String) {
        #expect(PropertyListFile(operand: operand).name.hasSuffix("/\(operand).plist"))
        #expect(PropertyListFile(operand: operand).name != FileManager.default.currentDirectoryPath + "/\(operand).plist")
    }

    @Test("Two dots after a link lead to the parent of the link's target")
    func link() async throws {
        let result = try await run("mkdir -p x/y && ln -s x/y ln && \"$P\" write ./ln/../f.plist k v && \"$P\" read x/f.plist k")
        #expect(result.text == "v\n")
        #expect(exists("x/f.plist") && !exists("f.plist"))
    }

    @Test("A tilde that the shell did not expand is a name")
    func tilde() async throws {
        let result = try await run("mkdir home; \"$P\" write '~/f.plist' k v", environment: ["HOME": folder.path("home")])
        #expect(result.status == 0)
        #expect(exists("~/f.plist") && !exists("home/f.plist"))
    }

    @Test(
        "In a deleted working directory, a relative path is an error that names the reason",
        arguments: ["read", "write", "watch", "delete"])
    func deletedFolder(_ command: String) async throws {
        let operands = command == "write" ? "k v" : ""
        let result = try await run("mkdir gone && cd gone && rmdir ../gone && \"$P\" \(command) settings-of-nobody.plist \(operands)")
        #expect(result.status == 3)
        let reason = "its path is relative to the working folder, which no longer exists; use an absolute path"
        #expect(result.errors == "prefs: settings-of-nobody.plist: cannot be read: \(reason)\n")
        #expect(!FileManager.default.fileExists(atPath: "/settings-of-nobody.plist"))
    }

    @Test("A name, a key or a value that is not UTF-8 is rejected", arguments: ["f$B.plist k v", "f.plist k$B v", "f.plist k v$B"])
    func notUTF8(_ operands: String) async throws {
        let result = try await run("B=$(printf '\\377') && \"$P\" write \(operands)")
        #expect(result.status == 2)
        #expect(result.errors.hasPrefix("prefs: argument "))
        #expect(result.errors.contains(" is not UTF-8: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == [])
    }

    @Test("A U+FFFD in a name is a character like any other")
    func replacementCharacter() async throws {
        #expect(try await run("\"$P\" write 'f\u{FFFD}.plist' 'k\u{FFFD}' v && \"$P\" read 'f\u{FFFD}.plist' 'k\u{FFFD}'").text == "v\n")
        #expect(exists("f\u{FFFD}.plist"))
    }

    #if os(Linux)
        @Test(
            "A suite's store, UserDefaults and prefs use one file, whatever the home folder is",
            arguments: ["/home", "home", "../home", "~"])
        func oneFile(home: String) async throws {
            let home = home.utf8.first == UInt8(ascii: "/") ? folder.path("home") : home
            let script = """
                mkdir -p "$WORK" && cd "$WORK" && mkdir -p "$HOME"
                "$BUILD/Peer" user-defaults org.example before 4 && "$BUILD/Peer" suite org.example && "$BUILD/prefs" read org.example
                """
            let environment = [
                "HOME": home, "XDG_CONFIG_HOME": "", "WORK": folder.path("work"),
                "BUILD": Subprocess.executable("Peer").deletingLastPathComponent().path,
            ]
            let result = try await Subprocess.finished("/bin/sh", ["-c", script], environment: environment)
            #expect(result.text == "stored\n{\n  \"before\": 4,\n  \"count\": 5\n}\n", "\(result.errors)")
        }
        @Test("The user database is not queried for a path", .enabled(if: canStart("strace", "true")))
        func userDataBase() async throws {
            let result = try await run("strace -f -e trace=openat,open,connect -o calls \"$P\" write \"$FOLDER/f.plist\" k v; cat calls")
            try #require(result.text.contains("f.plist"))
            #expect(!result.text.contains("/etc/passwd") && !result.text.contains("nsswitch"))
        }
    #endif
}
