import Foundation
import TestSupport
import Testing

/// A tool whose settings are listed, set and completed by name, and are in a file that people edit, too.
@Suite("A tool with settings", .timeLimit(.minutes(10)))
struct ConfigToolTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: [String], _ variables: [String: String] = [:]) async throws -> Subprocess {
        let places = ["XDG_CONFIG_HOME": folder.url.path]
        return try await Subprocess.finished("ConfigTool", arguments, environment: places.merging(variables) { $1 })
    }

    /// What it prints, if it succeeds.
    private func output(_ arguments: [String], _ variables: [String: String] = [:]) async throws -> String {
        let ended = try await run(arguments, variables)
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(arguments): \(ended.errors)")
        return ended.text
    }

    private static let byHand = """
        {
          // The server of the office.
          "server": { "host": "office.example.org", "port": 8443 }, /* both */
            "timeout": "3s",
        }

        """

    @Test("Settings are listed with their sources, and read, set and removed by name")
    func config() async throws {
        let list = """
            .server.host = localhost    # default
            .server.port = 8080    # default
            timeout = 30s    # default
            token =     # default
            color = never    # TOOL_COLOR
            verbose = true    # --verbose

            """
        #expect(try await output(["config", "list", "--verbose"], ["TOOL_COLOR": "never"]) == list)
        #expect(try await output(["config", "set", ".server.port", "80"]) == "")
        #expect(try await output(["config", "get", ".server.port"]) == "80\n")
        #expect(try await output(["config", "set", "timeout", "1m30s"]) == "")
        #expect(try await output(["config", "get", "timeout"]) == "90s\n")
        #expect(try await output(["config", "unset", "timeout"]) == "")
        #expect(try await output(["config", "get", "timeout"]) == "30s\n")
        #expect(try folder.text("ConfigTool.json") == "{\n  \"server\": {\n    \"port\": 80\n  }\n}\n")
        #expect(try await output(["/status"], ["TOOL_SERVER_HOST": "a.org"]) == "would ask http://a.org:80/status within 30.0 seconds\n")
    }

    @Test("A setting is explained: its description, its values, its default, what is stored, and what is in effect instead")
    func explain() async throws {
        try folder.make("ConfigTool.json", Self.byHand)
        let timeout = """
            timeout = 1s
                about: how long to wait for an answer
                values: a duration such as 100ms, 1.5s or 1m
                default: 30s
                stored: 3s
                source: --timeout
                also as: --timeout, TOOL_TIMEOUT

            """
        #expect(try await output(["config", "explain", "timeout", "--timeout=1s"]) == timeout)
        let color = """
            color = auto
                about: when to print in color
                values: one of never, auto, always
                default: auto
                source: default
                also as: --color, TOOL_COLOR

            """
        #expect(try await output(["config", "explain", "color"]) == color)
        #expect(try await output(["config", "explain", ".server.port"]).contains("    values: a whole number, in 1...\n"))
    }

    @Test("An argument precedes a variable, which precedes the file, which precedes the default; none of them is stored")
    func precedence() async throws {
        try folder.make("ConfigTool.json", Self.byHand)
        let variables = ["TOOL_TIMEOUT": "2s"]
        #expect(try await output(["config", "get", "timeout", "--timeout", "1s"], variables) == "1s\n")
        #expect(try await output(["config", "get", "timeout"], variables) == "2s\n")
        #expect(try await output(["config", "get", "timeout"]) == "3s\n")
        #expect(try await output(["config", "set", "timeout", "4s"], variables) == "stored; TOOL_TIMEOUT is in effect\n")
        #expect(try await output(["config", "get", "timeout"]) == "4s\n")
        #expect(try await output(["config", "unset", "timeout"]) == "")
        #expect(try await output(["config", "get", "timeout"]) == "30s\n")
    }

    @Test("Setting a value changes nothing else in a file that a person has written")
    func byHand() async throws {
        try folder.make("ConfigTool.json", Self.byHand)
        #expect(try await output(["config", "set", ".server.port", "9000"]) == "")
        #expect(try await output(["config", "set", "timeout", "5s"]) == "")
        let edited = Self.byHand.replacingOccurrences(of: "8443", with: "9000").replacingOccurrences(of: "3s", with: "5s")
        #expect(try folder.text("ConfigTool.json") == edited)
    }

    @Test("A value that does not fit, or a file that cannot be read, is told, exits with 1, and is left as it is")
    func refused() async throws {
        let cases: [(arguments: [String], variables: [String: String], message: String)] = [
            (
                ["config", "set", "color", "pink"], [:],
                "key \"color\": expected Color (one of never, auto, always), found the text \"pink\""
            ),
            (["config", "set", ".server.port", "0"], [:], "key \".server.port\": expected UInt16"),
            (["config", "get", "colour"], [:], "key \"colour\": no key of Settings has this name"),
            (["config", "get", "token"], [:], "token has no value"),
            (
                ["/status"], ["TOOL_TIMEOUT": "soon"],
                """
                TOOL_TIMEOUT: cannot be used for the key "timeout": expected Duration (a duration such as 100ms, 1.5s or 1m), found the \
                text "soon"; correct it, or remove it
                """
            ),
            (["/status", "--server-port", "https"], [:], "--server-port: cannot be used for the key \".server.port\": expected UInt16"),
            (["/status"], ["TOOL_TOKEN_FILE": "/nowhere"], "TOOL_TOKEN_FILE: cannot be used for the key \"token\""),
        ]
        for (arguments, variables, message) in cases {
            let ended = try await run(arguments, variables)
            #expect(ended.status == 1 && ended.text.isEmpty, "\(arguments) \(variables)")
            #expect(ended.errors.contains("ConfigTool: " + message), "\(ended.errors)")
        }
        #expect(try !folder.names().contains("ConfigTool.json"))
        try folder.make("ConfigTool.json", "{\n  \"color\": pink\n}\n")
        for arguments in [["/status"], ["config", "set", "color", "never"]] {
            let ended = try await run(arguments)
            #expect(ended.status == 1 && ended.errors.contains("(line 2, column 12)"), "\(ended.errors)")
        }
        #expect(try folder.text("ConfigTool.json") == "{\n  \"color\": pink\n}\n")
    }

    @Test("A stored value that does not fit is listed as that, and can be replaced")
    func repaired() async throws {
        try folder.make("ConfigTool.json", "{ \"color\": \"pink\", \"timeout\": \"1s\" }\n")
        let list = try await run(["config", "list"])
        #expect(list.status == 0 && list.text.contains("timeout = 1s    # stored\n"))
        #expect(list.text.contains("key \"color\": expected Color (one of never, auto, always), found string \"pink\""))
        #expect(try await run(["/status"]).status == 1)
        #expect(try await output(["config", "set", "color", "never"]) == "")
        #expect(try await output(["/status"]) == "would ask http://localhost:8080/status within 1.0 seconds\n")
    }

    @Test("It exits with 64 and its usage for what is not a command, a setting or a variable of one")
    func usage() async throws {
        let wrong = [
            [], ["config"], ["config", "list", "x"], ["config", "set", "color"], ["config", "paint", "color"], ["status"],
            ["--colour", "never", "/x"], ["completions", "csh"],
        ]
        for arguments in wrong {
            let ended = try await run(arguments)
            #expect(ended.status == 64 && ended.text.isEmpty && ended.errors.contains("usage: ConfigTool "), "\(arguments)")
        }
        let ended = try await run(["/status"], ["TOOL_COLOUR": "never"])
        #expect(ended.status == 64 && ended.errors.hasPrefix("ConfigTool: TOOL_COLOUR is not a setting\n"))
        #expect(try await output(["config", "set", "token", "--", "-x"]) == "")
        #expect(try await output(["config", "get", "token"]) == "<redacted>\n")
        let help = try await output(["--help"])
        #expect(help.hasPrefix("usage: ConfigTool "))
        #expect(help.contains("  --color, TOOL_COLOR\n        when to print in color: one of never, auto, always\n"))
    }

    @Test("The completions are scripts of their shells", arguments: ["bash", "zsh", "fish"])
    func syntax(shell: String) async throws {
        let script = try await output(["completions", shell])
        let isInstalled = try await Subprocess.finished("sh", ["-c", "command -v \(shell)"]).status == 0
        #expect(isInstalled || shell != "bash")
        guard isInstalled else { return }
        let checked = try await Subprocess.finished(shell, ["-n", folder.make("script", script)])
        #expect(checked.status == 0, "\(checked.errors)")
    }

    @Test(
        "The completions are commands, names of settings, options, and values",
        arguments: [
            ("config ''", "list get set unset explain"), ("config s", "set"), ("config get .", ".server.host .server.port"),
            ("config set color ''", "never auto always"), ("config set color a", "auto always"), ("config set verbose ''", "true false"),
            ("config set timeout ''", ""), ("/status --color n", "never"), ("/status --verbose ''", ""),
            ("--server", "--server-host --server-port"),
        ])
    func completions(words: String, completed: String) async throws {
        let script = """
            \(try await output(["completions", "bash"]))
            COMP_WORDS=(ConfigTool \(words))
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            _ConfigTool
            echo "${COMPREPLY[*]}"
            """
        let ended = try await Subprocess.finished("bash", ["-c", script])
        #expect(ended.text == completed + "\n", "\(ended.errors)")
    }
}
