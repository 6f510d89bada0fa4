import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Checks of all settings", .timeLimit(.minutes(10)))
struct CheckTests {
    private struct AppKeys: KeyGroup {
        let port = StorageKey("port", default: 80).validated(in: 1...65_535)
        let host = StorageKey("server", "host", default: "localhost").renamed(from: "serverHost")
        let level = StorageKey<Int?>("server", "log", "level")
        let window = WindowKeys()
        var computed: StorageKey<Int?> { StorageKey("computed") }
    }

    private struct WindowKeys: KeyGroup {
        let prefix: String? = "window"
        let minimum = StorageKey("minimum", default: 0)
        let maximum = StorageKey("maximum", default: 10)

        struct Reversed: Error {}

        func validate(_ snapshot: KeyedSnapshot<WindowKeys>) throws {
            if snapshot.minimum > snapshot.maximum { throw Reversed() }
        }
    }

    private struct DottedKeys: KeyGroup {
        let inside = StorageKey("server", "port", default: 1)
        let dotted = StorageKey("server.port", default: 2)
        let again = StorageKey("server.port", default: 3)
    }

    @Test("A value inside a dictionary has another name than an entry with a dot; of two keys with the same name, one is told")
    func repeatedNames() throws {
        let settings = KeyedStore<DottedKeys>(try ObservableStore(backend: InMemoryBackend()))
        #expect(throws: StorageError.repeatedName(key: "server.port", group: "DottedKeys")) { try settings.check() }
    }

    private func failures(
        _ entries: [String: PropertyListValue], allowing isAllowed: (String) -> Bool = { _ in false }
    ) throws -> [StorageError] {
        let settings = KeyedStore<AppKeys>(try ObservableStore(backend: InMemoryBackend(entries)))
        do {
            try settings.check(allowing: isAllowed)
            return []
        } catch .several(let errors) {
            return errors
        } catch {
            return [error]
        }
    }

    @Test("What is valid passes: values, earlier names, scenes, and names that are allowed")
    func valid() throws {
        #expect(try failures([:]) == [])
        let entries: [String: PropertyListValue] = [
            "port": 8080, "server": ["host": "a", "log": ["level": 1]], "serverHost": "b", "window/minimum": 1, "window/maximum": 1,
            "scenes/one/prot": 1, "ObservableStorage.version": 1,
        ]
        #expect(try failures(entries) == [])
        #expect(try failures(["computed": 1, "other/name": 1]) { $0 == "computed" || $0.hasPrefix("other/") } == [])
        #expect(try failures(["server": ["other": 1], "server.other": 1]) { $0 == ".server.other" }.count == 1)
    }

    @Test("The errors of a check are thrown, and not reported as well")
    func unreported() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["port": 0, "server": ["log": ["level": "debug"]]]))
        let failures = store.failures
        #expect(throws: StorageError.self) { try KeyedStore<AppKeys>(store).check() }
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
    }

    @Test("Every value, every group and every name that is not valid is found")
    func all() throws {
        let found = try failures([
            "port": 0, "prot": 1, "server": ["hots": "a", "log": ["level": "debug"]], "window/minimum": 11, "window/size": 1,
        ])
        let names = found.map { error in
            switch error {
            case .undecodable(let key, _, _, _): key
            case .unknownName(let key, "AppKeys", let nearest): "unknown \(key), \(nearest ?? "")"
            case .invalidGroup(let group, _): group
            default: "\(error)"
            }
        }
        #expect(
            names == [
                "port", ".server.log.level", "WindowKeys", "unknown prot, port", "unknown .server.hots, .server.host",
                "unknown window/size, ",
            ])
        #expect("\(StorageError.several(found))".split(separator: "\n").count == 6)
    }

    @Test(
        "An unknown name is told with the nearest key",
        arguments: [
            ("loglevel", "logLevel"), ("log-level", "logLevel"), ("LOG_LEVEL", "logLevel"), ("logLevl", "logLevel"),
            ("lgoLevel", "logLevel"), ("hots", "host"), ("Host", "host"), ("hosts", "host"), ("Servre", "server"), ("timeout", nil),
            ("a", nil), ("", nil),
        ])
    func nearest(name: String, nearest: String?) throws {
        struct LogKeys: KeyGroup {
            let logLevel = StorageKey("logLevel", default: 1)
            let host = StorageKey("host", default: "")
            let port = StorageKey("server", "port", default: 1)
        }
        let settings = KeyedStore<LogKeys>(try ObservableStore(backend: InMemoryBackend([name: 1])))
        let error = #expect(throws: StorageError.self) { try settings.check() }
        #expect(error == .unknownName(key: name, group: "LogKeys", nearest: nearest))
        if let nearest { #expect("\(try #require(error))".contains("but one has \"\(nearest)\"")) }
    }

    @Test("A name is compared with keys that are shorter or longer by as many letters as it may be wrong, and with no others")
    func lengths() {
        #expect("volumes".nearest(among: ["volum"]) == "volum")
        #expect("volum".nearest(among: ["volume"]) == "volume")
        #expect("volumes".nearest(among: ["volu", "volumesabc"]) == nil)
        #expect(String(repeating: "name", count: 1_000).nearest(among: ["name"]) == nil)
    }

    @Test("A value in the place of a dictionary of which keys have values is found")
    func noDictionary() throws {
        #expect(try failures(["server": "a:80"]) == [.undecodable(key: "server", expected: "dictionary", found: "string")])
    }

    @Test("Only the names of its own prefix or scene are checked")
    func prefixes() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["prot": 1, "scenes/one/window~1size": 1, "scenes/two/prot": 1]))
        try KeyedStore<WindowKeys>(store).check()
        try KeyedStore<AppKeys>(SceneStore(sceneID: "three", base: store)).check()
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(throws: StorageError.unknownName(key: "scenes/one/window~1size", group: "WindowKeys", nearest: nil)) {
            try KeyedStore<WindowKeys>(scene).check()
        }
    }
}
