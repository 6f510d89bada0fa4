import Foundation
import ObservableStorage

enum Color: String, Storable, CaseIterable { case never, auto, always }

/// The settings of the tool. Each can be stored, and be given as an argument or as a variable of the environment.
struct Settings: KeyGroup {
    let host = StorageKey("server", "host", default: "localhost").described("the name of the server")
    let port = StorageKey<UInt16>("server", "port", default: 8080).validated(in: 1...).described("the port of the server")
    let timeout = StorageKey("timeout", default: Duration.seconds(30)).described("how long to wait for an answer")
    let token = StorageKey<String?>("token").secret().described("what the server knows this user by")
    let color = StorageKey("color", default: Color.auto).described("when to print in color")
    let verbose = StorageKey("verbose", default: false).described("whether to print the settings, too")
}

/// A tool that asks a server for a page, whose settings are in a JSON file that people edit as well; the asking itself is left out.
///
/// ```
/// ConfigTool config set timeout 1m30s
/// ConfigTool --server-port 80 /status
/// source <(ConfigTool completions bash)
/// ```
///
/// It exits with 0, with 64 if it is not called as `--help` says, or else with 1.
@main
enum ConfigTool {
    struct WrongUse: Error {
        var reason = ""
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static func main() async throws {
        do {
            for line in try await run() { print(line) }
        } catch let error as WrongUse {
            try fail(64, ["ConfigTool: \(error.reason)"].filter { _ in !error.reason.isEmpty } + usage)
        } catch {
            try fail(1, ["ConfigTool: \(error)"])
        }
    }

    static func fail(_ status: Int32, _ lines: [String]) throws -> Never {
        try FileHandle.standardError.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        exit(status)
    }

    static var file: URL {
        let folder = ProcessInfo.processInfo.environment["XDG_CONFIG_HOME"].map { URL(filePath: $0) }
        return (folder ?? .homeDirectory.appending(path: ".config")).appending(path: "ConfigTool.json")
    }

    static func run() async throws -> [String] {
        let store = try ObservableStore(at: file, overrides: [.arguments(), .environment(prefix: "TOOL")])
        let settings = KeyedStore<Settings>(store)
        var arguments = Array(settings.remainingArguments.dropFirst())
        if arguments == ["--help"] { return help(settings.storedValues) }
        if let name = settings.unknownOverrides.first { throw WrongUse(reason: "\(name) is not a setting") }
        // What follows it may begin with a dash.
        if let end = arguments.firstIndex(of: "--") { arguments.remove(at: end) }
        switch (arguments.first, arguments.count) {
        case ("config", _): return try await config(Array(arguments.dropFirst()), settings)
        case ("completions", 2): return try completions(for: arguments[1], settings.storedValues)
        case (let page?, 1) where page.hasPrefix("/"): return try ask(for: page, settings)
        default: throw WrongUse()
        }
    }

    static func ask(for page: String, _ settings: KeyedStore<Settings>) throws -> [String] {
        try settings.check()
        let address = "http://\(settings.host):\(settings.port)\(page)"
        let isColored = settings.color == .always || settings.color == .auto && isatty(1) == 1
        let question = "\(isColored ? "\u{1B}[1m\(address)\u{1B}[0m" : address)\(settings.token == nil ? "" : " with a token")"
        return (settings.verbose ? settings.storedValues.map(line) : []) + ["would ask \(question) within \(settings.timeout)"]
    }
}

// The settings, by name.
extension ConfigTool {
    /// `config list`, `get NAME`, `set NAME VALUE`, `unset NAME` and `explain NAME`. Values that are wrong can be replaced as well.
    static func config(_ arguments: [String], _ settings: KeyedStore<Settings>) async throws -> [String] {
        switch (arguments.first, arguments.count) {
        case ("list", 1): return settings.storedValues.map(line)
        case ("get", 2): return [try value(of: settings.anyValue(named: arguments[1]))]
        case ("explain", 2): return try explain(settings.anyValue(named: arguments[1]))
        case ("set", 3): try settings.anyValue(named: arguments[1]).set(text: arguments[2])
        case ("unset", 2): try settings.anyValue(named: arguments[1]).remove()
        default: throw WrongUse()
        }
        try await settings.store.flush()
        let setting = try settings.anyValue(named: arguments[1])
        return setting.isSet && setting.source != .stored ? ["stored; \(setting.source) is in effect"] : []
    }

    static func line(_ setting: AnyStoredValue) -> String {
        do throws(StorageError) {
            return "\(setting.name) = \(try setting.text ?? "")    # \(setting.source)"
        } catch {
            return "\(error)"
        }
    }

    static func value(of setting: AnyStoredValue) throws -> String {
        guard let text = try setting.text else { throw Failure(description: "\(setting.name) has no value") }
        return text
    }

    static func explain(_ setting: AnyStoredValue) throws -> [String] {
        let facts: [(name: String, fact: String?)] = [
            ("about", setting.summary), ("values", setting.textForm ?? "any text"), ("default", try setting.defaultText),
            ("stored", try setting.storedText), ("source", "\(setting.source)"),
            ("also as", setting.overrideNames.joined(separator: ", ")),
        ]
        return ["\(setting.name) = \(try setting.text ?? "")"] + facts.compactMap { name, fact in fact.map { "    \(name): \($0)" } }
    }
}

// What is printed about all settings.
extension ConfigTool {
    static let usage = [
        "usage: ConfigTool [--SETTING VALUE ...] /PAGE",
        "       ConfigTool config list | get NAME | set NAME VALUE | unset NAME | explain NAME",
        "       ConfigTool completions bash | zsh | fish",
    ]

    static func help(_ settings: [AnyStoredValue]) -> [String] {
        let list = settings.flatMap { setting in
            [
                "  " + setting.overrideNames.joined(separator: ", "),
                "        \(setting.summary ?? ""): \(setting.textForm ?? "any text")",
            ]
        }
        return usage + ["", "settings, which are stored in \(file.path):"] + list
    }

    /// A script that completes the words of the tool in a shell.
    static func completions(for shell: String, _ settings: [AnyStoredValue]) throws -> [String] {
        // What may follow the words before, which are a pattern of the shell.
        var table = [
            ("", ["config", "completions", "--help"] + settings.flatMap(options)), ("completions", ["bash", "zsh", "fish"]),
            ("config", ["list", "get", "set", "unset", "explain"]),
        ]
        table += ["get", "set", "unset", "explain"].map { ("config \($0)", settings.map(\.name)) }
        for setting in settings where !setting.allowedTexts.isEmpty {
            table.append(("config set \(setting.name)", setting.allowedTexts))
            // An option without a value is true.
            if setting.typeName != "Bool" { table += options(of: setting).map { ("*\($0)", setting.allowedTexts) } }
        }
        let lines = table.map { before, words in (before: "'\(before)'", words: words.joined(separator: " ")) }
        switch shell {
        case "bash":
            return ["_ConfigTool() {", "    local words", #"    case "${COMP_WORDS[*]:1:COMP_CWORD-1}" in"#]
                + lines.map { "        \(unquotedStar($0.before))) words='\($0.words)' ;;" }
                + ["    esac", #"    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))"#, "}"]
                + ["complete -o default -F _ConfigTool ConfigTool"]
        case "zsh":
            return ["#compdef ConfigTool", #"case "${(j: :)words[2,CURRENT-1]}" in"#]
                + lines.map { "    \(unquotedStar($0.before))) compadd -- \($0.words) ;;" } + ["esac"]
        case "fish":
            return ["function __ConfigTool_words", "    switch (commandline -opc | tail -n +2 | string join ' ' | string collect -a)"]
                + lines.flatMap { ["        case \($0.before)", "            string split ' ' -- '\($0.words)'"] }
                + ["    end", "end", "complete -c ConfigTool -f -a '(__ConfigTool_words)'"]
        default: throw WrongUse(reason: "no completions for \(shell)")
        }
    }

    private static func options(of setting: AnyStoredValue) -> [String] {
        setting.overrideNames.filter { $0.hasPrefix("--") }
    }

    private static func unquotedStar(_ pattern: String) -> String {
        pattern.hasPrefix("'*") ? "*'" + pattern.dropFirst(2) : pattern
    }
}
