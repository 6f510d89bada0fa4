import Foundation
import ObservableStorage
import TestSupport
import Testing

private enum Level: String, Storable { case quiet, loud }

private enum Mode: Int, Storable, CaseIterable { case never, auto, always }

private enum Color: String, Storable, CaseIterable {
    case lightGray = "light-gray"
    case red
}

private enum Shape: Codable, CodableStorable, CaseIterable { case round, square }

private struct Account: CodableStorable, Equatable {
    var name: String
}

private struct ServerKeys: KeyGroup {
    let host = StorageKey("host", default: "localhost").described("The name of the server")
    let port = StorageKey<UInt16>("port", default: 80).described("The port of the server")
    let isSecure = StorageKey("isSecure", default: false)
    let ratio = StorageKey("ratio", default: 0.5)
    let level = StorageKey("level", default: Level.quiet)
    let names = StorageKey("names", default: ["a"])
    let limits = StorageKey<[String: Int]>("limits", default: [:])
    let account = StorageKey<Account?>("account")
    let coded = StorageKey<[Int]>("coded", codec: .json, default: [])
    let start = StorageKey<Date?>("start")
    let token = StorageKey<Data?>("token")
    let timeout = StorageKey("timeout", default: Duration.seconds(1))
    let mode = StorageKey("mode", default: Mode.auto)
    let color = StorageKey("color", default: Color.red)
    let shape = StorageKey<Shape?>("shape")
    let modes = StorageKey<[Mode]>("modes", default: [])
    let timeouts = StorageKey<[Duration]>("timeouts", default: [])
    let moments = StorageKey<[Date]>("moments", default: [])
    let blobs = StorageKey<[String: Data]>("blobs", default: [:])
    let anything = StorageKey<PropertyListValue?>("anything")
    let log = LogKeys()
    var ignored: StorageKey<Int> { .init(default: 0) }
}

private struct LogKeys: KeyGroup {
    let prefix: String? = "log"
    let file = StorageKey<String?>("file").renamed(from: "path")
}

/// The `config` command of a program, for all of its settings.
private func config(_ arguments: [String], _ settings: KeyedStore<ServerKeys>) throws -> [String] {
    switch arguments.first {
    case "list":
        return try settings.storedValues.map { setting in
            "\(setting.name) = \(try setting.value.map { "\($0)" } ?? "(none)")\(setting.summary.map { "  # \($0)" } ?? "")"
        }
    case "get": return try settings.storedValues.filter { $0.name == arguments[1] }.map { "\(try $0.value ?? "(none)")" }
    case "set": try settings.storedValues.first { $0.name == arguments[1] }?.set(text: arguments[2])
    default: settings.storedValues.first { $0.name == arguments[1] }?.remove()
    }
    return []
}

@Suite("Settings of any type", .timeLimit(.minutes(10)))
struct AnyStoredValueTests {
    private let store: ObservableStore
    private let settings: KeyedStore<ServerKeys>

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
        settings = KeyedStore(store)
    }

    private func setting(_ name: String) throws -> AnyStoredValue {
        try #require(settings.storedValues.first { $0.name == name })
    }

    @Test("All keys are listed in order, with those of nested groups, and their names in the store")
    func list() throws {
        #expect(
            settings.storedValues.map(\.name)
                == [
                    "host", "port", "isSecure", "ratio", "level", "names", "limits", "account", "coded", "start", "token", "timeout",
                    "mode",
                    "color", "shape", "modes", "timeouts", "moments", "blobs", "anything", "log/file",
                ])
        #expect(try setting("port").summary == "The port of the server")
        #expect(try setting("port").typeName == "UInt16")
        #expect(try setting("port").defaultValue == 80)
        #expect(try setting("port").value == 80)
        #expect(try setting("account").defaultValue == nil)
        #expect(try setting("ratio").summary == nil)
        let scene = KeyedStore<ServerKeys>(SceneStore(sceneID: "main", base: store), prefix: "server")
        #expect(scene.storedValues.first?.name == "server/host")
    }

    @Test("A command that lists and sets all settings is a few lines")
    func command() throws {
        _ = try config(["set", "port", "8080"], settings)
        _ = try config(["set", "log/file", "log.txt"], settings)
        #expect(settings.port == 8080 && settings.log.file == "log.txt")
        #expect(try config(["get", "port"], settings) == ["8080"])
        let lines = try config(["list"], settings)
        #expect(lines[1] == "port = 8080  # The port of the server")
        _ = try config(["reset", "port"], settings)
        #expect(settings.port == 80 && !settings.stored(\.port).isSet)
    }

    @Test(
        "Typed text is converted to the type of the key",
        arguments: [
            ("host", "8080", "8080"), ("host", "true", "true"), ("host", "[1]", "[1]"), ("port", "65535", 65535),
            ("isSecure", "true", true), ("isSecure", "on", true), ("isSecure", "1", true), ("isSecure", "off", false),
            ("isSecure", "0", false), ("isSecure", "No", false), ("ratio", "0.25", 0.25), ("ratio", "2", 2.0), ("level", "loud", "loud"),
            ("names", "[\"b\", \"c\"]", ["b", "c"]), ("limits", "{\"a\": 1}", ["a": 1]), ("account", "{\"name\": \"Jo\"}", ["name": "Jo"]),
            ("coded", "[1, 2]", .data(Data("[1,2]".utf8))),
            ("start", "2001-01-01T00:00:01Z", .date(Date(timeIntervalSinceReferenceDate: 1))),
            ("start", "2001-01-01T01:00:01.5+01:00", .date(Date(timeIntervalSinceReferenceDate: 1.5))),
            ("token", "AQI=", .data(Data([1, 2]))), ("timeout", "100ms", "0.1s"), ("timeout", "1m30s", "90s"),
            ("mode", "never", 0), ("mode", "2", 2), ("color", "light-gray", "light-gray"), ("color", "lightGray", "light-gray"),
            ("shape", "round", ["round": [:]]), ("modes", "never, always", [0, 2]), ("modes", "[0,1]", [0, 1]), ("modes", "", []),
            ("names", "b, c", ["b", "c"]), ("names", "b", ["b"]), ("coded", "1,2", .data(Data("[1,2]".utf8))),
            ("timeouts", "1s,2m", ["1s", "120s"]),
            ("moments", "[{\"$date\":\"2001-01-01T00:00:00Z\"}]", [.date(Date(timeIntervalSinceReferenceDate: 0))]),
            ("limits", "{\"$real\": 1}", ["$real": 1]),
        ] as [(String, String, PropertyListValue)])
    func text(name: String, text: String, stored: PropertyListValue) throws {
        try setting(name).set(text: text)
        #expect(store.entries == [name: stored])
        #expect(try setting(name).value == stored)
    }

    @Test(
        "Text that is not of the key's type changes nothing, and the error names key, type and text",
        arguments: [
            ("port", "65536", "UInt16 (a whole number from 0 to 65535)", "integer 65536, which is out of range"),
            ("port", "http", "UInt16 (a whole number from 0 to 65535)", "the text \"http\""),
            ("port", "", "UInt16 (a whole number from 0 to 65535)", "the text \"\""), ("level", "medium", "Level", "the text \"medium\""),
            ("isSecure", "maybe", "Bool (true, yes, on, 1, false, no, off or 0)", "the text \"maybe\""),
            ("isSecure", "2", "Bool (true, yes, on, 1, false, no, off or 0)", "integer"),
            ("ratio", "1e999", "Double (a number such as 1.5)", "the text \"1e999\""),
            ("token", "AA=A", "Optional<Data> (Base64)", "the text \"AA=A\""),
            ("names", "[1]", "String", "integer"),
            ("timeout", "soon", "Duration (a duration such as 100ms, 1.5s or 1m)", "the text \"soon\""),
            ("mode", "sometimes", "Mode (one of never, auto, always)", "the text \"sometimes\""),
            ("color", "pink", "Color (one of light-gray, red)", "the text \"pink\""),
            ("modes", "never,sometimes", "Int", "string"),
            ("start", "tomorrow", "Optional<Date> (a date such as 2026-11-20T10:00:00Z)", "the text \"tomorrow\""),
            ("limits", "a", "Dictionary<String, Int> (JSON)", "the text \"a\""),
        ])
    func refused(name: String, text: String, expected: String, found: String) throws {
        let key = name == "names" ? "names[0]" : name == "modes" ? "modes[1]" : name
        #expect(throws: StorageError.undecodable(key: key, expected: expected, found: found)) { try setting(name).set(text: text) }
        #expect(store.entries == [:])
    }

    @Test(
        "The text of a value is what a text is read from, whatever the type",
        arguments: [
            ("host", "\"a\" "), ("host", ""), ("port", "443"), ("isSecure", "true"), ("ratio", "1e-07"), ("ratio", "nan"),
            ("level", "loud"),
            ("names", "[\"a,b\",\"\"]"), ("limits", "{\"a\":1}"), ("account", "{\"name\":\"Jo\"}"), ("coded", "[1,2]"),
            ("start", "2001-01-01T00:00:01.5Z"), ("token", "AQI="), ("timeout", "0.1s"), ("mode", "always"), ("color", "light-gray"),
            ("shape", "round"), ("modes", "[0,2]"), ("timeouts", "[\"0.1s\",\"60s\"]"),
            ("moments", "[{\"$date\":\"2001-01-01T00:00:00Z\"}]"), ("blobs", "{\"a\":{\"$data\":\"AQI=\"}}"),
        ])
    func text(name: String, text: String) throws {
        try setting(name).set(text: text)
        #expect(try setting(name).text == text)
        #expect("\(try setting(name))" == text)
        let stored = store.entries
        try setting(name).remove()
        try setting(name).set(text: text)
        #expect(store.entries == stored)
    }

    @Test(
        "A value of any type is read as what it looks like, and a string that looks like something else is in quotes",
        arguments: [
            ("5", 5), ("5.0", .real(5)), ("true", true), ("\"5\"", "5"), ("word", "word"), ("AQI=", "AQI="), ("\"", "\""),
            ("[1,\"a\"]", [1, "a"]), ("{\"$data\":\"AQI=\"}", .data(Data([1, 2]))), ("{\"CF$UID\":1}", .uid(1)), ("", ""),
            ("\"true\"", "true"), ("2001-01-01T00:00:00Z", .date(Date(timeIntervalSinceReferenceDate: 0))), ("\"[]\"", "[]"),
        ] as [(String, PropertyListValue)])
    func anyType(text: String, value: PropertyListValue) throws {
        try setting("anything").set(text: text)
        #expect(store.entries == ["anything": value])
        #expect(try setting("anything").text == text)
    }

    @Test("A value that is nil or cannot be read has no text, and a stored enumeration that is none is told what would be one")
    func noText() async throws {
        #expect(try setting("account").text == nil)
        #expect(try "\(setting("account"))" == "")
        let store = try ObservableStore(backend: InMemoryBackend(["mode": 7, "timeout": "soon"]))
        let settings = KeyedStore<ServerKeys>(store)
        let error = StorageError.undecodable(key: "mode", expected: "Mode (one of never, auto, always)", found: "integer 7")
        #expect(throws: error) { try settings.storedValues.first { $0.name == "mode" }?.text }
        #expect(settings.storedValues.first { $0.name == "mode" }?.description == "")
        let timeout = StorageError.undecodable(
            key: "timeout", expected: "Duration (a duration such as 100ms, 1.5s or 1m)", found: "string \"soon\"")
        #expect(throws: timeout) { try settings.stored(\.timeout).get() }
    }

    @Test("A property-list value is set if it is of the key's type")
    func value() throws {
        try setting("port").set(443)
        #expect(settings.port == 443)
        #expect(throws: StorageError.self) { try setting("port").set("443") }
        #expect(throws: StorageError.self) { try setting("port").set(-1) }
        #expect(store.entries == ["port": 443])
    }

    @Test("Some keys are removed in one revision, under earlier names too")
    func removeSome() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["host": "h", "port": 1, "log/path": "p", "ratio": 1.5]))
        let settings = KeyedStore<ServerKeys>(store)
        let before = store.revision
        store.edit {
            $0.remove(settings.stored(\.host).key)
            $0.remove(settings.stored(\.port).key)
        }
        #expect(store.revision == before + 1)
        #expect(store.entries == ["log/path": "p", "ratio": 1.5])
        settings.log.stored(\.file).remove()
        #expect(store.entries == ["ratio": 1.5])
        store.edit {
            $0.remove(StorageKey("ratio", default: 0.0))
            $0.remove(Keys.count)
        }
        #expect(store.entries == [:])
    }

    @Test("Many values are registered by name, all or none")
    func register() throws {
        try store.register(["host": "example.org", "port": 8080])
        #expect(settings.host == "example.org" && settings.port == 8080)
        #expect(try setting("port").value == 8080)
        #expect(store.entries == [:])
        let tooDeep = (0..<600).reduce(PropertyListValue.array([])) { value, _ in [value] }
        #expect(throws: StorageError.self) { try store.register(["host": "other", "deep": tooDeep]) }
        #expect(settings.host == "example.org")
    }
}
