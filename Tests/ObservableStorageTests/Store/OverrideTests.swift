import Foundation
import ObservableStorage
import TestSupport
import Testing

private struct ServerKeys: KeyGroup {
    let prefix: String? = "server"
    let port = StorageKey<UInt16>("port", default: 80).validated(in: 1...)
    let isSecure = StorageKey("isSecure", default: false)
}

private struct AppKeys: KeyGroup {
    let launchCount = StorageKey("launchCount", default: 0)
    let name = StorageKey("name", default: "none")
    let level = StorageKey("log", "level", default: Level.info)
    let timeout = StorageKey("timeout", default: Duration.seconds(1))
    let hosts = StorageKey<[String]>("hosts", default: [])
    let account = StorageKey<Account?>("account", codec: .json)
    let server = ServerKeys()
}

private enum Level: String, Storable, CaseIterable { case debug, info, error }

private struct Account: Codable, Equatable {
    var user: String
}

private let name = StorageKey("name", default: "none")
private let count = StorageKey("count", default: 0)

/// Overrides of a store in memory.
private func settings(
    _ arguments: [String] = [], _ variables: [String: String] = [:], _ entries: [String: PropertyListValue] = [:]
) throws -> KeyedStore<AppKeys> {
    KeyedStore(
        try ObservableStore(
            backend: InMemoryBackend(entries), overrides: [.arguments(arguments), .environment(prefix: "APP", variables)]))
}

private func increment(_ key: StorageKey<Int>, by difference: Int, in store: ObservableStore) throws -> Int {
    try store.stored(key).modify { value in
        value += difference
        return value
    }
}

@Suite("Overrides", .timeLimit(.minutes(10)))
struct OverrideTests {
    @Test("Arguments precede the environment, that stored values, and mandatory ones precede all; the source of each is told")
    func precedence() throws {
        let store = try ObservableStore(
            backend: InMemoryBackend(["name": "stored", "launchCount": 1, "timeout": "9s"]),
            defaults: [InMemoryBackend(["hosts": ["default"]])], mandatory: [InMemoryBackend(["name": "mandatory"])],
            overrides: [
                .texts(["log.level": "error"]), .arguments(["tool", "--name=a", "--launch-count", "2"]),
                .environment(prefix: "APP", ["APP_NAME": "e", "APP_LAUNCH_COUNT": "3", "APP_SERVER_PORT": "443", "APP_HOSTS": "a,b"]),
            ])
        let settings = KeyedStore<AppKeys>(store)
        #expect((settings.name, settings.stored(\.name).source) == ("mandatory", .mandatory(file: "memory")))
        #expect((settings.launchCount, settings.stored(\.launchCount).source) == (2, .argument("--launch-count")))
        #expect((settings.server.port, settings.server.stored(\.port).source) == (443, .environment("APP_SERVER_PORT")))
        #expect((settings.level, settings.stored(\.level).source) == (.error, .override("log.level")))
        #expect((settings.hosts, settings.stored(\.hosts).source) == (["a", "b"], .environment("APP_HOSTS")))
        #expect((settings.timeout, settings.stored(\.timeout).source) == (.seconds(9), .stored))
        #expect(settings.stored(\.account).source == .keyDefault)
        #expect(settings.storedValues.first { $0.name == "launchCount" }?.source == .argument("--launch-count"))
        let snapshot = settings.snapshot
        #expect((snapshot.name, snapshot.launchCount, snapshot.server.port) == ("mandatory", 2, 443))
        #expect(throws: StorageError.mandatory(key: "name")) { try settings.stored(\.name).set("x") }
    }

    @Test("An override is never written, and a set is stored and takes effect where nothing hides it", arguments: Fixture.allCases)
    func neverWritten(fixture: Fixture) async throws {
        let storage = try fixture.make(["count": 5, "name": "stored"])
        let store = try ObservableStore(
            backend: storage.backend, overrides: [.texts(["count": "100", "name": "override", "fresh": "7"])])
        let other = try storage.open()
        #expect((store[count], store[name], store[StorageKey("fresh", default: 0)]) == (100, "override", 7))
        #expect(store.isSet(count) && !store.isSet(StorageKey("fresh", default: 0)))
        #expect(store.entries == ["count": 5, "name": "stored"])
        store[name] = "set"
        #expect(store[name] == "override")
        try await store.flush()
        for await value in other.values(of: name) where value == "set" { break }
        // Each is based on what is stored.
        store[count] += 1
        #expect(try increment(count, by: 10, in: store) == 16)
        store.edit { $0[count] += 100 }
        let sum = try await store.update { transaction in
            transaction[count] += 1_000
            return transaction[count]
        }
        #expect(sum == 1_116)
        #expect(store[count] == 100)
        #expect(try storage.entries == ["count": 1_116, "name": "set"])
        store.remove(name)
        #expect(!store.isSet(name) && store[name] == "override")
        try await store.close()
        #expect(try storage.entries == ["count": 1_116])
    }

    @Test("Observers have the override, and no changes of the stored value that it hides")
    func observers() async throws {
        let mandatory = InMemoryBackend()
        let storage = try Fixture.memory.make(["count": 5])
        let store = try ObservableStore(
            backend: storage.backend, defaults: [], mandatory: [mandatory],
            overrides: [.texts(["count": "100", "fresh": "1", "server": "{\"port\":1}"])])
        var values = store.values(of: count).makeAsyncIterator()
        var changes = store.changes(of: count).makeAsyncIterator()
        var both = store.values(of: count, name).makeAsyncIterator()
        var dictionary = store.changes(of: StorageKey<[String: Int]>("server", default: [:])).makeAsyncIterator()
        var inside = store.changes(of: StorageKey("server", "port", default: 0)).makeAsyncIterator()
        let initial = Recorder<Change<Int>>()
        let token = store.addUpdateListener(for: count, initial: true) { initial.record($0) }
        #expect(initial.elements.map(\.newValue) == [100])
        #expect(initial.elements.map(\.kind) == [.set])
        let fresh = Recorder<ChangeKind>()
        let freshToken = store.addUpdateListener(for: StorageKey("fresh", default: 0), initial: true) { fresh.record($0.kind) }
        #expect(fresh.elements == [.set])
        #expect(await values.next() == 100)
        #expect(try #require(await both.next()) == (100, "none"))
        store[count] = 6
        try await store.update { $0[count] = 7 }
        _ = try storage.edit { stored in
            stored["count"] = 8
            stored["name"] = "seen"
            stored["server"] = ["port": 2]
        }
        #expect(try #require(await both.next()) == (100, "seen"))
        // Of a value inside the dictionary, which has no override of its own.
        #expect(await inside.next()?.newValue == 2)
        #expect(initial.elements.count == 1)
        // A mandatory value hides the override, and its removal shows it again.
        _ = try mandatory.edit { $0["count"] = 3 }
        var change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.kind) == (100, 3, .set))
        #expect(await values.next() == 3)
        _ = try mandatory.edit { $0["count"] = nil }
        change = try #require(await changes.next())
        #expect((change.oldValue, change.newValue, change.kind) == (3, 100, .set))
        #expect(store[count] == 100)
        store[name] = "last"
        try await store.close()
        #expect(await dictionary.next() == nil)
        #expect(await changes.next() == nil)
        withExtendedLifetime((token, freshToken)) {}
    }

    @Test("A value with a codec is decoded apart from the override, whichever is read first", arguments: [true, false])
    func codec(readsOverrideFirst: Bool) async throws {
        let account = StorageKey<Account?>("account", codec: .json)
        let stored = PropertyListValue.data(Data(#"{"user":"stored"}"#.utf8))
        let store = try ObservableStore(
            backend: InMemoryBackend(["account": stored]), overrides: [.texts(["account": #"{"user":"override"}"#])])
        if readsOverrideFirst { #expect(store[account]?.user == "override") }
        let user = store.edit { $0[account]?.user }
        #expect(user == "stored")
        #expect(store[account]?.user == "override")
        #expect(store.snapshot[account]?.user == "override")
        #expect(try await store.update { $0[account]?.user } == "stored")
        try store.migrateValue(of: account)
        #expect(store[account]?.user == "override")
        store[account]?.user += " again"
        #expect(store.entries == ["account": .data(Data(#"{"user":"stored again"}"#.utf8))])
        #expect(store[account]?.user == "override")
    }

    @Test("A renamed key has the override of its name, and a modification is based on what is stored under the earlier one")
    func renamed() throws {
        let key = StorageKey("count", default: 0).renamed(from: "counter")
        let store = try ObservableStore(
            backend: InMemoryBackend(["counter": 5]), overrides: [.texts(["count": "100", "counter": "7"])])
        #expect(store[key] == 100)
        store[key] += 1
        #expect(store[key] == 100)
        #expect(store.entries == ["count": 6])
    }

    @Test("A key that stores its default stores that, not the override")
    func persistedDefault() throws {
        let key = StorageKey("count", persistsDefault: .whenMissing, default: 3)
        let store = try ObservableStore(backend: InMemoryBackend(), overrides: [.texts(["count": "100"])])
        #expect(store[key] == 100)
        #expect(store.entries == ["count": 3])
    }

    @Test("A scene has the override, whatever is set there")
    func scene() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 5]), overrides: [.arguments(["--count", "100"])])
        let scene = SceneStore(sceneID: "main", base: store)
        scene[count] = 6
        #expect(scene[count] == 100 && scene.stored(count).source == .argument("--count"))
        scene[count] += 1
        #expect(store.entries == ["count": 5, "scenes/main/count": 7])
        scene[name] = "scene"
        #expect(scene[name] == "scene" && store[name] == "none")
        let settings = KeyedStore<ServerKeys>(
            SceneStore(
                sceneID: "main",
                base: try ObservableStore(backend: InMemoryBackend(), overrides: [.environment(prefix: "APP", ["APP_SERVER_PORT": "0"])])))
        let error = #expect(throws: StorageError.self) { try settings.check() }
        #expect("\(try #require(error))".hasPrefix("APP_SERVER_PORT: cannot be used for the key \"server/port\""))
    }

    @Test("The history of an overridden key has no changes of what is stored", arguments: [Fixture.memory, .journal])
    func history(fixture: Fixture) async throws {
        let storage = try fixture.make(["count": 5])
        let store = try ObservableStore(backend: storage.backend, overrides: [.texts(["count": "100"])])
        try await store.update { $0[count] = 6 }
        let revision = try #require(store.storageRevision)
        try await store.update {
            $0[count] = 7
            $0[name] = "seen"
        }
        let changes = try #require(try await store.changes(of: count, since: revision))
        var names = try #require(try await store.changes(of: name, since: revision)).makeAsyncIterator()
        #expect(await names.next()?.newValue == "seen")
        try await store.close()
        #expect(await changes.reduce(0) { count, _ in count + 1 } == 0)
    }
}

@Suite("Checked overrides", .timeLimit(.minutes(10)))
struct OverrideCheckTests {
    @Test("An override that is not of the key's type is an error that names variable, key, type and what would fit")
    func messages() throws {
        let cases: [(arguments: [String], variables: [String: String], message: String)] = [
            (
                [], ["APP_SERVER_PORT": "http"],
                """
                APP_SERVER_PORT: cannot be used for the key "server/port": expected UInt16 (a whole number from 0 to 65535), found the text \
                "http"; correct it, or remove it
                """
            ),
            (
                ["--server-port", "0"], [:],
                """
                --server-port: cannot be used for the key "server/port": expected UInt16 (a whole number from 0 to 65535), found integer, \
                which was refused: 0 is not in 1...; correct it, or remove it
                """
            ),
            (
                ["--log-level=warn"], [:],
                """
                --log-level: cannot be used for the key ".log.level": expected Level (one of debug, info, error), found the text "warn"; \
                correct it, or remove it
                """
            ),
            (
                ["-timeout", "soon"], [:],
                """
                -timeout: cannot be used for the key "timeout": expected Duration (a duration such as 100ms, 1.5s or 1m), found the text \
                "soon"; correct it, or remove it
                """
            ),
            (
                ["--set", "server/isSecure=maybe"], [:],
                """
                --set server/isSecure: cannot be used for the key "server/isSecure": expected Bool (true, yes, on, 1, false, no, off or 0), \
                found the text "maybe"; correct it, or remove it
                """
            ),
            (
                ["--launch-count"], [:],
                "--launch-count: cannot be used for the key \"launchCount\": its value is missing; correct it, or remove it"
            ),
            (
                ["--launch-count", "--name", "x"], [:],
                "--launch-count: cannot be used for the key \"launchCount\": its value is missing; correct it, or remove it"
            ),
            (
                [], ["APP_NAME": "a", "APP_NAME_FILE": "/nowhere"],
                "APP_NAME: cannot be used for the key \"name\": APP_NAME_FILE is set as well; correct it, or remove it"
            ),
            (
                [], ["APP_NAME_FILE": "/nowhere"],
                "APP_NAME_FILE: cannot be used for the key \"name\": /nowhere: there is no such file; correct it, or remove it"
            ),
        ]
        for (arguments, variables, message) in cases {
            let store = try settings(arguments, variables).store
            let error = #expect(throws: StorageError.self) { try KeyedStore<AppKeys>(store).check() }
            #expect("\(try #require(error))" == message)
        }
    }

    @Test("All that is wrong is told at once, and nothing is wrong with values of the keys' types")
    func several() throws {
        let store = try settings(["--server-port=http"], ["APP_TIMEOUT": "soon", "APP_NAME": "fine"], ["launchCount": "x"]).store
        let error = #expect(throws: StorageError.self) { try KeyedStore<AppKeys>(store).check() }
        guard case .several(let errors)? = error else { throw try #require(error) }
        #expect(errors.count == 3)
        let good = try settings(
            ["--no-server-is-secure", "--server-port=1"], ["APP_TIMEOUT": "200ms", "APP_ACCOUNT": #"{"user":"Jo"}"#], ["launchCount": 3])
        let checked = try KeyedStore<AppKeys>(good.store).check()
        #expect((checked.server.port, checked.timeout, checked.account) == (1, .milliseconds(200), Account(user: "Jo")))
        // A value that an override hides is not in effect.
        _ = try KeyedStore<AppKeys>(settings(["--launch-count=1"], [:], ["launchCount": "x"]).store).check()
    }

    @Test("Without a check, an override that cannot be read gives the default, and is reported once")
    func unchecked() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["count": 5]), overrides: [.arguments(["--count=many"])])
        let error = StorageError.invalidOverride(
            name: "--count", key: "count",
            reason: "expected Int (a whole number from -9223372036854775808 to 9223372036854775807), found the text \"many\"")
        #expect(store[count] == 0)
        #expect(throws: error) { try store.value(for: count) }
        #expect(store.snapshot[count] == 0)
        #expect(throws: error) { try store.snapshot.value(for: count) }
        #expect(store.stored(count).source == .argument("--count"))
        var values = store.values(of: count).makeAsyncIterator()
        #expect(await values.next() == 0)
        store[count] += 1
        #expect(store.entries == ["count": 6])
        #expect(try increment(count, by: 1, in: store) == 7)
        try store.register(3, for: count)
        #expect(store[count] == 3)
        let failures = store.failures
        try await store.close()
        #expect(await failures.reduce(into: []) { $0.append($1) } == [error])
    }

    @Test("The error of a long text is short")
    func longText() throws {
        let store = try settings([], ["APP_COUNT": String(repeating: "x", count: 100_000)]).store
        let error = #expect(throws: StorageError.self) { try store.value(for: count) }
        #expect("\(try #require(error))".count < 300)
    }

    @Test("Two keys whose names have the same words are told, unless one has names of its own")
    func collisions() throws {
        struct Similar: KeyGroup {
            let first = StorageKey("launchCount", default: 0)
            let second = StorageKey("launch/count", default: 0)
        }
        struct Renamed: KeyGroup {
            let first = StorageKey("launchCount", default: 0)
            let second = StorageKey("launch/count", default: 0).override(environment: "COUNT", argument: "count")
        }
        struct Negated: KeyGroup {
            let first = StorageKey("cache", default: true)
            let second = StorageKey("noCache", default: false)
            let log = StorageKey("log", default: "")
            let logFile = StorageKey("logFile", default: "")
        }
        let store = try settings().store
        let error = StorageError.several([
            .invalidOverride(
                name: "--launch-count", key: "launch/count", reason: "the key \"launchCount\" has the same name; see StorageKey.override"),
            .invalidOverride(
                name: "APP_LAUNCH_COUNT", key: "launch/count", reason: "the key \"launchCount\" has the same name; see StorageKey.override"),
        ])
        #expect(throws: error) { try KeyedStore<Similar>(store).check() }
        _ = try KeyedStore<Renamed>(store).check()
        _ = try KeyedStore<Similar>(ObservableStore(backend: InMemoryBackend())).check()
        _ = try KeyedStore<Negated>(store).check()
        #expect(throws: StorageError.self) { try KeyedStore<Negated>(settings(["--no-cache"]).store).check() }
        #expect(throws: StorageError.self) { try KeyedStore<Negated>(settings([], ["APP_LOG_FILE": "/dev/null"]).store).check() }
    }

    @Test("A secret is read from the file that NAME_FILE names, once, without one line break, and never told")
    func files() async throws {
        let folder = try TemporaryFolder()
        let secret = folder.file("secret")
        func open(_ name: String = "NAME") throws -> KeyedStore<AppKeys> {
            try KeyedStore(settings([], ["APP_\(name)_FILE": secret.path]).store).check()
        }
        for (content, text) in [("s3cret\n", "s3cret"), ("s3cret\r\n", "s3cret"), ("s3cret", "s3cret"), ("a\n\n", "a\n"), ("", "")] {
            try Data(content.utf8).write(to: secret)
            let settings = try open()
            #expect((settings.name, settings.stored(\.name).source) == (text, .environment("APP_NAME_FILE")))
            try Data("other".utf8).write(to: secret)
            #expect(settings.name == text)
        }
        try folder.link("link", to: secret.path)
        #expect(try settings([], ["APP_NAME_FILE": folder.path("link")]).name == "other")
        try Data("hunter2".utf8).write(to: secret)
        let error = #expect(throws: StorageError.self) { try open("LAUNCH_COUNT") }
        let message = "\(try #require(error))"
        #expect(message.hasPrefix("APP_LAUNCH_COUNT_FILE: ") && !message.contains("hunter2"))
        let limits = StorageKey<[String: Int]>("limits", default: [:])
        try Data(#"{"hunter2": "x"}"#.utf8).write(to: secret)
        let store = try settings([], ["APP_LIMITS_FILE": secret.path]).store
        let nested = #expect(throws: StorageError.self) { try store.value(for: limits) }
        #expect(!"\(try #require(nested))".contains("hunter2"))
        for (content, reason) in [(Data(count: 65_537), "it has 65537 bytes; 65536 are read at most"), (Data([0xFF]), "it is not UTF-8")] {
            try content.write(to: secret)
            let error = #expect(throws: StorageError.self) { try open() }
            #expect("\(try #require(error))".contains("\(secret.path): \(reason)"))
        }
        try FileManager.default.removeItem(at: secret)
        // It has no writer, for which reading must not wait.
        try #require(mkfifo(secret.path, 0o600) == 0)
        #expect(throws: StorageError.self) { try open() }
        // Unless a key uses it, whatever the variable names.
        #expect(try settings([], ["APP_OTHER_FILE": secret.path]).name == "none")
    }

    private struct TimeoutKeys: KeyGroup {
        let read = StorageKey("timeouts", "read", default: Duration.seconds(10))
        let total = StorageKey("timeouts", "total", default: Duration.seconds(60))

        func validate(_ snapshot: KeyedSnapshot<TimeoutKeys>) throws {
            if snapshot.read > snapshot.total { throw TooLong() }
        }

        struct TooLong: Error {}
    }

    @Test("A group is valid or not with the overrides and the stored values together")
    func rule() async throws {
        let overrides = [OverrideSource.arguments(["--set", "timeouts.read=120s"])]
        let backend = InMemoryBackend(["timeouts": ["total": "300s"]])
        let settings = try KeyedStore<TimeoutKeys>(ObservableStore(backend: backend, overrides: overrides)).check()
        #expect((settings.read, settings.total) == (.seconds(120), .seconds(300)))
        #expect(throws: StorageError.self) {
            try KeyedStore<TimeoutKeys>(ObservableStore(backend: InMemoryBackend(), overrides: overrides)).check()
        }
        // What is stored has to be valid without them, for other processes, and does not depend on them.
        try settings.stored(\.read).set(.seconds(200))
        #expect(throws: StorageError.self) { try settings.stored(\.total).set(.seconds(150)) }
        await #expect(throws: StorageError.self) { try await settings.update { $0.total = .seconds(150) } }
        try await settings.update { $0.read = .seconds(5) }
        try settings.stored(\.total).set(.seconds(100))
        // 120 s are more than these: the last valid values are in effect here.
        #expect((settings.read, settings.total) == (.seconds(120), .seconds(300)))
        #expect(settings.snapshot.snapshot.groupFailure != nil)
        #expect(settings.store.entries == ["timeouts": ["read": "5s", "total": "100s"]])
    }
}
