import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private struct ToolKeys: KeyGroup {
    let verbose = StorageKey("verbose", default: false)
    let isQuiet = StorageKey<Bool?>("isQuiet")
    let port = StorageKey("server", "port", default: 80)
    let offset = StorageKey("offset", default: 0.0)
    let name = StorageKey("name", default: "").override(environment: "TOOL", argument: "--as")
    let nested = NestedKeys()
}

private struct NestedKeys: KeyGroup {
    let prefix: String? = "outputFormat"
    let width = StorageKey("width", default: 80)
}

@Suite("Names of overrides", .timeLimit(.minutes(10)))
struct OverrideNameTests {
    private func settings(_ arguments: [String], _ variables: [String: String] = [:]) throws -> KeyedStore<ToolKeys> {
        KeyedStore(
            try ObservableStore(
                backend: InMemoryBackend(), overrides: [.arguments(arguments), .environment(prefix: "MY_APP", variables)]))
    }

    @Test(
        "A name is made of the words of the key's name",
        arguments: [
            ("port", "PORT", "port"), ("launchCount", "LAUNCH_COUNT", "launch-count"), ("server/port", "SERVER_PORT", "server-port"),
            ("launch-count", "LAUNCH_COUNT", "launch-count"), ("LAUNCH_COUNT", "LAUNCH_COUNT", "launch-count"),
            ("URLCache", "URL_CACHE", "url-cache"), ("baseURL", "BASE_URL", "base-url"), ("http2Port", "HTTP2_PORT", "http2-port"),
            ("com.example.size", "COM_EXAMPLE_SIZE", "com-example-size"), ("a b", "A_B", "a-b"), ("A", "A", "a"), ("", "", ""),
            ("__x__", "X", "x"),
        ])
    func words(name: String, variable: String, argument: String) {
        #expect(EntryName(own: name).overrideWords == argument)
        #expect(OverrideSource.environment(prefix: "APP", [:]).names(of: EntryName(own: name)) == ["APP_\(variable)"])
        #expect(OverrideSource.environment(prefix: "", [:]).names(of: EntryName(own: name)) == [variable])
        #expect(OverrideSource.arguments([]).names(of: EntryName(own: name)) == ["--\(argument)"])
    }

    @Test("Values inside dictionaries, keys of groups, and keys with prefixes and names of their own are found")
    func places() throws {
        let variables = [
            "MY_APP_SERVER_PORT": "81", "MY_APP_OUTPUT_FORMAT_WIDTH": "100", "MY_APP_NAME": "not this", "TOOL": "t", "MY_APP_VERBOSE": "on",
        ]
        let settings = try settings([], variables)
        #expect((settings.port, settings.nested.width, settings.name, settings.verbose) == (81, 100, "t", true))
        #expect(settings.stored(\.name).source == .environment("TOOL"))
        #expect(settings.unknownOverrides == ["MY_APP_NAME"])
        let prefixed = KeyedStore<ToolKeys>(settings.store, prefix: "server")
        #expect(prefixed.verbose == false)
        // As the prefix may be written, and never with the values, which may be secrets.
        let source = OverrideSource.environment(prefix: "APP_", ["APP_NAME": "hunter2"])
        #expect(source.names(of: EntryName(own: "name")) == ["APP_NAME"])
        var dump = ""
        Swift.dump(source, to: &dump)
        #expect(!"\(source)\(dump)".contains("hunter2"))
        let arguments = ["--tools-output-format-width", "7", "--as=x"]
        let store = try ObservableStore(backend: InMemoryBackend(), overrides: [.arguments(arguments)])
        #expect(KeyedStore<ToolKeys>(store, prefix: "tools").nested.width == 7)
        #expect(KeyedStore<ToolKeys>(store, prefix: "tools") { $0.lowercased() }.name == "x")
    }

    /// Arguments, and what a tool has of them: its settings, the names without keys, and the rest.
    struct Case: Sendable, CustomTestStringConvertible {
        let arguments: String
        var verbose = false
        var isQuiet: Bool?
        var port = 80
        var offset = 0.0
        var name = ""
        var unknown: [String] = []
        var rest = ""
        var testDescription: String { arguments }
    }

    @Test(
        "Arguments are read as --key value, --key=value, -key value, --flag, --no-flag and --set key=value, and the rest is left",
        arguments: [
            Case(arguments: ""), Case(arguments: "tool in.txt - out.txt", rest: "tool in.txt - out.txt"),
            Case(arguments: "tool --server-port 81 in.txt", port: 81, rest: "tool in.txt"),
            Case(arguments: "--server-port=81 in.txt", port: 81, rest: "in.txt"),
            Case(arguments: "-serverPort 81 in.txt", port: 81, rest: "in.txt"), Case(arguments: "-server/port 81", port: 81),
            Case(arguments: "--set server.port=81 in.txt", port: 81, rest: "in.txt"), Case(arguments: "--set=serverPort=81", port: 81),
            Case(arguments: "--verbose in.txt", verbose: true, rest: "in.txt"), Case(arguments: "--no-verbose in.txt", rest: "in.txt"),
            Case(arguments: "--verbose=off"), Case(arguments: "--verbose=yes", verbose: true),
            Case(arguments: "-verbose YES in.txt", verbose: true, rest: "in.txt"),
            Case(arguments: "-verbose in.txt", verbose: true, rest: "in.txt"), Case(arguments: "-verbose 0 in.txt", rest: "in.txt"),
            Case(arguments: "-verbose --as x", verbose: true, name: "x"),
            Case(arguments: "--is-quiet", isQuiet: true), Case(arguments: "--no-is-quiet", isQuiet: false),
            Case(arguments: "--verbose --no-verbose"), Case(arguments: "--no-verbose --verbose", verbose: true),
            Case(arguments: "--server-port 81 --server-port 82 in.txt", port: 82, rest: "in.txt"),
            Case(arguments: "--offset -5 --as -", offset: -5, name: "-"), Case(arguments: "--offset=-1e3", offset: -1_000),
            Case(arguments: "--as=a=b", name: "a=b"), Case(arguments: "--as= x", rest: "x"),
            Case(arguments: "--name x", unknown: ["--name"], rest: "--name x"),
            Case(
                arguments: "--verbos -x --set sever.port=1", unknown: ["--verbos", "-x", "--set sever.port"],
                rest: "--verbos -x --set sever.port=1"),
            Case(arguments: "--verbose -- --server-port 81", verbose: true, rest: "-- --server-port 81"),
            Case(arguments: "--no-server-port", unknown: ["--no-server-port"], rest: "--no-server-port"),
            Case(arguments: "--as a,b", name: "a,b"), Case(arguments: "--set", rest: "--set"), Case(arguments: "--as"),
        ])
    func arguments(_ expected: Case) throws {
        let settings = try settings(expected.arguments.split(separator: " ").map(String.init))
        #expect(settings.verbose == expected.verbose)
        #expect(settings.isQuiet == expected.isQuiet)
        #expect(settings.port == expected.port)
        #expect(settings.offset == expected.offset)
        #expect(settings.name == expected.name)
        #expect(settings.unknownOverrides == expected.unknown)
        #expect(settings.remainingArguments.joined(separator: " ") == expected.rest)
    }

    @Test("Names without keys are listed for each source, and not without a prefix")
    func unknown() throws {
        let store = try ObservableStore(
            backend: InMemoryBackend(),
            overrides: [
                .texts(["verbose": "on", "colour": "red"]), .environment(prefix: "APP", ["APP_B": "", "APP_A": "", "APP": "", "HOME": ""]),
                .environment(prefix: "", ["HOME": "", "VERBOSE": "off"]),
            ])
        let settings = KeyedStore<ToolKeys>(store)
        #expect(settings.unknownOverrides == ["colour", "APP_A", "APP_B"])
        #expect(settings.verbose && settings.remainingArguments.isEmpty)
        let none = KeyedStore<ToolKeys>(try ObservableStore(backend: InMemoryBackend()))
        #expect(none.unknownOverrides.isEmpty && none.remainingArguments.isEmpty)
    }

    @Test("Overrides of the standard store are refused after it was opened")
    func tooLate() {
        _ = ObservableStore.standard
        #expect(throws: StorageError.self) { try ObservableStore.openStandard(overrides: [.arguments()]) }
    }
}
