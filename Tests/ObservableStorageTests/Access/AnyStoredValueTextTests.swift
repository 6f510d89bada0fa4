import Foundation
import ObservableStorage
import TestSupport
import Testing

private enum Mode: String, Storable, CaseIterable { case never, auto, always }

private enum Level: Int, Storable, CaseIterable { case low, high }

private struct ToolKeys: KeyGroup {
    let mode = StorageKey("mode", default: Mode.auto)
    let level = StorageKey<Level?>("level").validated("too high") { $0 != .high }
    let isLoud = StorageKey("isLoud", default: false)
    let port = StorageKey<UInt16>("port", default: 80)
    let width = StorageKey("width", default: 100).validated(in: 40...200).validated(in: ..<150)
    let ratio = StorageKey<Double?>("ratio").validated(in: 0...1)
    let timeout = StorageKey("timeout", default: Duration.seconds(1))
    let host = StorageKey("server", "host", default: "localhost").renamed(from: "host").override(environment: "HOST")
    let file = StorageKey<String?>("file")
}

@Suite("What a program tells about a setting", .timeLimit(.minutes(10)))
struct AnyStoredValueTextTests {
    private func settings(
        _ values: [String: PropertyListValue] = [:], overrides: [OverrideSource] = []
    ) throws -> KeyedStore<ToolKeys> {
        KeyedStore(try ObservableStore(backend: InMemoryBackend(values), overrides: overrides))
    }

    @Test("A setting is found by its name, and an unknown name is an error that has it")
    func named() throws {
        #expect(try settings().anyValue(named: "port").typeName == "UInt16")
        #expect(try settings().anyValue(named: ".server.host").text == "localhost")
        let error = #expect(throws: StorageError.unknownName(key: "prot", group: "ToolKeys", nearest: "port")) {
            try settings().anyValue(named: "prot")
        }
        #expect("\(try #require(error))".hasPrefix("key \"prot\": no key of ToolKeys has this name"))
    }

    @Test(
        "The texts of a type are listed if they are few and valid",
        arguments: [("mode", ["never", "auto", "always"]), ("level", ["low"]), ("isLoud", ["true", "false"]), ("port", []), ("host", [])])
    func allowed(name: String, texts: [String]) throws {
        let setting = try settings().anyValue(named: name == "host" ? ".server.host" : name)
        #expect(setting.allowedTexts == texts)
        for text in texts {
            try setting.set(text: text)
            #expect(try setting.text == text)
        }
    }

    @Test(
        "What would fit is told with the ranges of the key",
        arguments: [
            ("mode", "one of never, auto, always"), ("isLoud", "true, yes, on, 1, false, no, off or 0"),
            ("port", "a whole number from 0 to 65535"), ("width", "a whole number, in 40...200, in ..<150"),
            ("ratio", "a number such as 1.5, in 0.0...1.0"), ("timeout", "a duration such as 100ms, 1.5s or 1m"), ("file", nil),
        ])
    func form(name: String, form: String?) throws {
        #expect(try settings().anyValue(named: name).textForm == form)
    }

    @Test("The default and the stored value are texts as well, and the stored one also if something hides it")
    func texts() throws {
        let store = try ObservableStore(
            backend: InMemoryBackend(["timeout": "2s", "mode": "never", "width": 50, "host": "old.org"]),
            defaults: [InMemoryBackend(["port": 443])], mandatory: [InMemoryBackend(["width": 60])],
            overrides: [.arguments(["--timeout", "3s", "--mode", "always"])])
        let settings = KeyedStore<ToolKeys>(store)
        func texts(_ name: String) throws -> [String?] {
            let setting = try settings.anyValue(named: name)
            return [try setting.text, try setting.storedText, try setting.defaultText, "\(setting.source)"]
        }
        #expect(try texts("timeout") == ["3s", "2s", "1s", "--timeout"])
        #expect(try texts("mode") == ["always", "never", "auto", "--mode"])
        #expect(try texts("width") == ["60", "50", "100", "mandatory in memory"])
        #expect(try texts("port") == ["443", nil, "80", "default in memory"])
        #expect(try texts(".server.host") == ["old.org", "old.org", "localhost", "stored"])
        #expect(try texts("file") == [nil, nil, nil, "default"])
    }

    @Test("A stored value that cannot be decoded is an error, although the setting has a value of another source")
    func undecodable() throws {
        let setting = try settings(["mode": "pink"], overrides: [.texts(["mode": "never"])]).anyValue(named: "mode")
        #expect(try setting.text == "never")
        let error = StorageError.undecodable(
            key: "mode", expected: "Mode (one of never, auto, always)", found: "string \"pink\"")
        #expect(throws: error) { try setting.storedText }
        #expect("\(setting.source)" == "mode")
    }

    @Test("The arguments and variables of a setting are those of the store's sources")
    func names() throws {
        let overrides: [OverrideSource] = [.arguments(["--no-is-loud"]), .environment(prefix: "APP", [:])]
        let settings = try settings(overrides: overrides)
        #expect(try settings.anyValue(named: "timeout").overrideNames == ["--timeout", "APP_TIMEOUT"])
        #expect(try settings.anyValue(named: ".server.host").overrideNames == ["--server-host", "HOST"])
        #expect(try settings.anyValue(named: "isLoud").overrideNames.contains("--is-loud"))
        #expect(try self.settings().anyValue(named: "timeout").overrideNames == [])
    }
}
