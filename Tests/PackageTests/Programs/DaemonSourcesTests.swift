import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// A daemon with arguments, an environment, files of secrets, a configuration file and an administrator's files.
@Suite("A daemon with every source of settings", .timeLimit(.minutes(10)))
struct DaemonSourcesTests {
    private let folder: TemporaryFolder
    private let places: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        places = ["XDG_CONFIG_DIRS": try folder.makeFolder("etc")]
    }

    private func start(_ arguments: [String] = [], _ variables: [String: String] = [:]) throws -> RunningProgram {
        let files = [folder.path("settings.json"), folder.path("state.plist")]
        return try RunningProgram("Daemon", files + arguments, environment: places.merging(variables) { $1 })
    }

    /// Runs it where it cannot start.
    private func run(_ arguments: [String] = [], _ variables: [String: String] = [:]) async throws -> Subprocess {
        let files = [folder.path("settings.json"), folder.path("state.plist")]
        return try await Subprocess.finished("Daemon", arguments + files, environment: places.merging(variables) { $1 })
    }

    private func write(_ name: String, _ content: String) throws {
        try Data(content.utf8).write(to: folder.file(name), options: .atomic)
    }

    private func writeList(_ name: String, _ values: PropertyListValue) throws {
        try values.encoded(as: .xml).write(to: folder.file(name), options: .atomic)
    }

    private func stop(_ daemon: RunningProgram) async throws {
        daemon.signal(SIGTERM)
        #expect(try await daemon.status == 0, "\(daemon.errors.elements)")
    }

    @Test("Each source precedes the next one, and those that can change take effect while it runs")
    func precedence() async throws {
        try writeList("etc/Daemon.plist", ["port": 2])
        try write("settings.json", "{ \"port\": 3 }")
        let (mandatory, defaults) = (folder.path("etc/Daemon.mandatory.plist"), folder.path("etc/Daemon.plist"))

        var daemon = try start(["--port", "5"], ["APP_PORT": "4"])
        try await daemon.line { $0 == "in use: port 5, 1 to 4 workers; port: --port" }
        try writeList("etc/Daemon.mandatory.plist", ["port": 6])
        try await daemon.line { $0 == "in use: port 6, 1 to 4 workers; port: mandatory in \(mandatory)" }
        try write("settings.json", "{ \"port\": 3, \"maximumWorkers\": 8 }")
        try await daemon.line { $0 == "in use: port 6, 1 to 8 workers; port: mandatory in \(mandatory)" }
        try FileManager.default.removeItem(atPath: mandatory)
        try await daemon.line { $0 == "in use: port 5, 1 to 8 workers; port: --port" }
        try await stop(daemon)

        daemon = try start([], ["APP_PORT": "4"])
        try await daemon.line { $0 == "in use: port 4, 1 to 8 workers; port: APP_PORT" }
        try await stop(daemon)

        daemon = try start()
        try await daemon.line { $0 == "in use: port 3, 1 to 8 workers" }
        try write("settings.json", "{ \"maximumWorkers\": 8 }")
        try await daemon.line { $0 == "in use: port 2, 1 to 8 workers; port: default in \(defaults)" }
        try writeList("etc/Daemon.plist", ["port": 22, "minimumWorkers": 2])
        try await daemon.line {
            $0 == "in use: port 22, 2 to 8 workers; port: default in \(defaults); minimumWorkers: default in \(defaults)"
        }
        try FileManager.default.removeItem(atPath: defaults)
        try await daemon.line { $0 == "in use: port 8080, 1 to 8 workers" }
        try await stop(daemon)
        #expect(try PropertyListValue.decode(Data(contentsOf: folder.file("state.plist"))).value == ["reloads": 9])
    }

    @Test("A file that a person edits is read while it runs, with comments; a mistake is told with its line, and the last values stay")
    func byHand() async throws {
        let daemon = try start()
        try await daemon.line { $0 == "in use: port 8080, 1 to 4 workers" }
        try write("settings.json", "{\n  // Changed with the firewall.\n  \"port\": 80, /* HTTP */\n}\n")
        try await daemon.line { $0 == "in use: port 80, 1 to 4 workers" }
        try write("settings.json", "{\n  // Changed with the firewall.\n  \"port\": 81 /* HTTP */\n  \"maximumWorkers\": 2\n}\n")
        try await daemon.line { $0.hasPrefix("refused: ") && $0.contains("(line 4, column 3)") }
        try write("settings.json", "{\n  // Changed with the firewall.\n  \"port\": 81, /* HTTP */\n  \"maximumWorkers\": 2\n}\n")
        try await daemon.line { $0 == "in use: port 81, 1 to 2 workers" }
        try await stop(daemon)
        let lines = daemon.lines.elements.filter { $0.hasPrefix("in use: ") }
        #expect(lines == ["8080, 1 to 4", "80, 1 to 4", "81, 1 to 2"].map { "in use: port \($0) workers" })
    }

    @Test("What is given at the start is checked together with each new file")
    func together() async throws {
        let daemon = try start(["--minimum-workers", "3"])
        try await daemon.line { $0 == "in use: port 8080, 3 to 4 workers; minimumWorkers: --minimum-workers" }
        try write("settings.json", "{ \"maximumWorkers\": 2 }")
        try await daemon.line { $0.hasPrefix("refused: ") && $0.contains("3 to 2 workers") }
        try write("settings.json", "{ \"maximumWorkers\": 5 }")
        try await daemon.line { $0 == "in use: port 8080, 3 to 5 workers; minimumWorkers: --minimum-workers" }
        try await stop(daemon)
        let ended = try await run(["--minimum-workers", "6"])
        #expect(ended.status == 78 && ended.errors.contains("6 to 5 workers"))
    }

    @Test("A password comes from a file, and is in nothing that is printed")
    func secret() async throws {
        let secret = "hunter2"
        try write("password", "\(secret)\n")
        let variables = ["APP_PASSWORD_FILE": folder.path("password")]
        let daemon = try start([], variables)
        try await daemon.line { $0 == "in use: port 8080, 1 to 4 workers; password: APP_PASSWORD_FILE" }
        try write("settings.json", "{ \"password\": 5, \"port\": 80 }")
        try await daemon.line { $0 == "in use: port 80, 1 to 4 workers; password: APP_PASSWORD_FILE" }
        try await stop(daemon)
        #expect((daemon.lines.elements + daemon.errors.elements).allSatisfy { !$0.contains(secret) })

        // The secret in place of a number, twice, and beside bytes that are not text.
        try write("settings.json", "{}")
        try (Data(secret.utf8) + [0xFF]).write(to: folder.file("bytes"))
        let wrong: [([String: String], String)] = [
            (["APP_PORT_FILE": folder.path("password")], "APP_PORT_FILE: cannot be used for the key \"port\": expected Int"),
            (
                variables.merging(["APP_PASSWORD": secret]) { $1 },
                "APP_PASSWORD: cannot be used for the key \"password\": APP_PASSWORD_FILE is"
            ),
            (["APP_PASSWORD_FILE": folder.path("bytes")], "APP_PASSWORD_FILE: cannot be used for the key \"password\": "),
            (["APP_PASSWORD_FILE": folder.path("missing")], "there is no such file"),
        ]
        for (variables, message) in wrong {
            let ended = try await run([], variables)
            #expect(ended.status == 78 && ended.text.isEmpty && ended.errors.contains(message), "\(variables): \(ended.errors)")
            #expect(!ended.errors.contains(secret))
        }
    }

    @Test("It does not start with what cannot be used, exits with 78, and tells all of it: variable, key, type and what would fit")
    func refused() async throws {
        try write("settings.json", "{ \"prot\": 80 }")
        let ended = try await run(["--minimum-workers=few"], ["APP_PORT": "https"])
        #expect(ended.status == 78 && ended.text.isEmpty)
        let limits = "Int (a whole number from \(Int.min) to \(Int.max))"
        let messages = [
            "APP_PORT: cannot be used for the key \"port\": expected \(limits), found the text \"https\"; correct it, or remove it",
            "--minimum-workers: cannot be used for the key \"minimumWorkers\": expected \(limits), found the text \"few\"",
            "key \"prot\": no key of Configuration has this name",
        ]
        for message in messages { #expect(ended.errors.contains(message), "\(ended.errors)") }
        #expect(!FileManager.default.fileExists(atPath: folder.path("state.plist")))
        try write("settings.json", "{ \"port\": 80 ")
        let malformed = try await run()
        #expect(malformed.status == 78 && malformed.errors.contains("settings.json: not a readable property list (line 1, column "))
    }

    @Test("It exits with 64 for an argument or a variable that belongs to nothing")
    func unknown() async throws {
        let argument = try await run(["--prot", "80"])
        #expect(argument.status == 64 && argument.errors == "Daemon: --prot is not a part of the configuration\n")
        let variable = try await run([], ["APP_PROT": "80"])
        #expect(variable.status == 64 && variable.errors == "Daemon: APP_PROT is not a part of the configuration\n")
        let file = try await run(["third.json"])
        #expect(file.status == 64 && file.errors == "usage: Daemon CONFIGURATION STATE\n")
    }
}
