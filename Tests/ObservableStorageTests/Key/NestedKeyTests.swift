import Dispatch
import ObservableStorage
import Synchronization
import TestSupport
import Testing

private struct ServerKeys: KeyGroup {
    let host = StorageKey("server", "host", default: "localhost")
    let port = StorageKey("server", "port", default: 80)
    let level = StorageKey<Int?>("server", "log", "level")
}

private let server = StorageKey<[String: PropertyListValue]>("server", default: [:])

@Suite("Keys into nested dictionaries", .timeLimit(.minutes(10)))
struct NestedKeyTests {
    @Test("A key into a dictionary reads, sets and removes one value of it", arguments: Fixture.allCases)
    func leaf(fixture: Fixture) async throws {
        let storage = try fixture.make(["server": ["port": 1, "unknown": "kept"]])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        #expect((settings.host, settings.port, settings.level) == ("localhost", 1, nil))
        #expect(settings.stored(\.port).isSet && !settings.stored(\.host).isSet)
        settings.host = "a"
        settings.port += 1
        settings.level = 3
        #expect(store[server] == ["host": "a", "port": 2, "unknown": "kept", "log": ["level": 3]])
        settings.level = nil
        #expect(store.entries["server"] == ["host": "a", "port": 2, "unknown": "kept"])
        settings.stored(\.port).remove()
        #expect(settings.port == 80 && !settings.stored(\.port).isSet)
        try await store.flush()
        #expect(try storage.entries == ["server": ["host": "a", "unknown": "kept"]])
        settings.reset()
        #expect(store.entries == ["server": ["unknown": "kept"]])
        #expect(settings.stored(\.level).key.name == ".server.log.level")
    }

    @Test("A value inside a dictionary and an entry with a dot in its name have two names: of keys, in changes, errors and lists")
    func dottedNames() async throws {
        struct DottedKeys: KeyGroup {
            let inside = StorageKey("a", "b", default: 1).validated(in: 0...9)
            let dotted = StorageKey("a.b", default: 1).validated(in: 0...9)
        }
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<DottedKeys>(store)
        #expect(settings.storedValues.map(\.name) == [".a.b", "a.b"])
        #expect((settings.stored(\.inside).key.name, settings.stored(\.dotted).key.name) == (".a.b", "a.b"))
        for (path, name) in [(\DottedKeys.inside, ".a.b"), (\.dotted, "a.b")] {
            let seen = Recorder<String>()
            let token = settings.addUpdateListener(for: path) { seen.record($0.key) }
            try settings.stored(path).set(2)
            #expect(seen.elements == [name])
            let error = #expect(throws: StorageError.self) { try settings.stored(path).set(10) }
            #expect("\(try #require(error))".hasPrefix("key \"\(name)\": "))
            withExtendedLifetime(token) {}
        }
        #expect(store.entries == ["a": ["b": 2], "a.b": 2])
    }

    @Test("A dot or a backslash in a name on the way to a value is escaped, so that two paths have two names")
    func escapedNames() {
        let keys = [
            StorageKey<Int?>("a", "b", "c"), StorageKey<Int?>("a.b", "c"), StorageKey<Int?>("a", "b.c"), StorageKey<Int?>("a\\", "b"),
            StorageKey<Int?>("a", "\u{301}.b"), StorageKey<Int?>("a.b"), StorageKey<Int?>("a\\.b"),
        ]
        #expect(keys.map(\.name) == [".a.b.c", #".a\.b.c"#, #".a.b\.c"#, #".a\\.b"#, ".a.\u{301}\\.b", "a.b", #"a\.b"#])
    }

    @Test("A missing dictionary is created, and removing from a missing one creates nothing", arguments: Fixture.allCases)
    func missing(fixture: Fixture) throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<ServerKeys>(store)
        settings.stored(\.port).remove()
        settings.level = nil
        #expect(store.entries.isEmpty)
        settings.level = 1
        #expect(store.entries == ["server": ["log": ["level": 1]]])
        settings.level = nil
        #expect(store.entries.isEmpty)
    }

    @Test("A value that is not a dictionary is not replaced by setting a key inside it", arguments: Fixture.allCases)
    func notADictionary(fixture: Fixture) async throws {
        let store = try fixture.make(["server": "a text"]).open()
        let settings = KeyedStore<ServerKeys>(store)
        #expect(settings.port == 80)
        let reason = "the value of \"server\" is string \"a text\", not a dictionary; remove it first"
        let refusal = StorageError.unencodable(key: ".server.port", reason: reason)
        #expect(throws: refusal) { try settings.stored(\.port).set(1) }
        settings.stored(\.port).remove()
        #expect(store.entries == ["server": "a text"])
        let port = settings.stored(\.port).key
        try await store.update { transaction in
            #expect(throws: refusal) { try transaction.set(1, for: port) }
            transaction.remove(port)
            transaction[Keys.count] = 1
        }
        await #expect(throws: refusal) {
            try await store.update { transaction in
                transaction[port] = 1
                transaction[Keys.count] = 2
            }
        }
        #expect(store.entries == ["server": "a text", "count": 1])
    }

    @Test("Edits of different values in one dictionary, by two stores, are all kept", arguments: Fixture.optimistic + [.thirdParty])
    func twoWriters(fixture: Fixture) async throws {
        let storage = try fixture.make(["server": ["host": "a"]])
        let (one, two) = (try storage.open(), try storage.open())
        let (first, second) = (KeyedStore<ServerKeys>(one), KeyedStore<ServerKeys>(two))
        let origins = Recorder<ChangeOrigin>()
        let token = second.addUpdateListener(for: \.port) { origins.record($0.origin) }
        // Neither knows of the other's edit when it makes its own.
        first.port = 1
        second.host = "b"
        first.edit { $0.level = 5 }
        try await one.flush()
        try await two.flush()
        #expect(try storage.entries == ["server": ["host": "b", "port": 1, "log": ["level": 5]]])
        // Its edit may have been stored before the other's.
        #expect(try await origins.elements(count: 1).first == .external)
        #expect(second.port == 1)
        token.cancel()
        try await first.update { $0.port += 1 }
        #expect((first.host, first.port) == ("b", 2))
    }

    @Test("An edit is kept when another writer changes another value before it is written")
    func externalWhilePending() async throws {
        let backend = ReadableBackend()
        let store = try ObservableStore(backend: backend)
        let settings = KeyedStore<ServerKeys>(store)
        backend.isReadOnly.store(true, ordering: .sequentiallyConsistent)
        settings.port = 1
        _ = try backend.storage.edit { $0["server"] = ["host": "b", "port": 7] }
        for await host in settings.values(of: \.host) where host == "b" { break }
        #expect((settings.host, settings.port) == ("b", 1))
        backend.isReadOnly.store(false, ordering: .sequentiallyConsistent)
        try await store.flush()
        #expect(try backend.load().values == ["server": ["host": "b", "port": 1]])
    }

    @Test("If another writer replaces the dictionary, the edit is refused and reported, and its text kept")
    func replacedDictionary() async throws {
        let backend = ReadableBackend()
        let store = try ObservableStore(backend: backend)
        let settings = KeyedStore<ServerKeys>(store)
        backend.isReadOnly.store(true, ordering: .sequentiallyConsistent)
        settings.port = 1
        _ = try backend.storage.edit { entries in
            entries["server"] = "text"
            entries["other"] = 1
        }
        backend.isReadOnly.store(false, ordering: .sequentiallyConsistent)
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(try backend.load().values == ["server": "text", "other": 1])
        #expect(settings.port == 80)
        try await store.flush()
    }

    @Test("Each value of a dictionary is observed by itself", arguments: Fixture.allCases)
    func observed(fixture: Fixture) async throws {
        let storage = try fixture.make(["server": ["host": "a", "port": 1]])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        let ports = Recorder<String>()
        let hosts = Recorder<String>()
        let tokens = [
            settings.addUpdateListener(for: \.port) { ports.record("\($0.key) \($0.oldValue) \($0.newValue) \($0.kind)") },
            settings.addUpdateListener(for: \.host) { hosts.record("\($0.oldValue) \($0.newValue)") },
        ]
        let changes = settings.changes(of: \.port)
        settings.host = "b"
        settings.port = 2
        store[server] = ["host": "b"]
        #expect(ports.elements == [".server.port 1 2 set", ".server.port 2 80 removed"])
        #expect(hosts.elements == ["a b"])
        try await store.flush()
        _ = try storage.edit { $0["server"] = ["host": "b", "port": 5] }
        var seen: [Int] = []
        for await change in changes {
            seen.append(change.newValue)
            if change.newValue == 5 { break }
        }
        #expect(seen == [2, 80, 5])
        withExtendedLifetime(tokens) {}
    }

    @Test("A value that cannot be decoded leaves the last valid one, and the rest of the dictionary", arguments: Fixture.allCases)
    func undecodable(fixture: Fixture) async throws {
        let storage = try fixture.make(["server": ["host": "a", "port": 1]])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        #expect(settings.port == 1)
        let hosts = settings.values(of: \.host)
        _ = try storage.edit { $0["server"] = ["host": "b", "port": "no number"] }
        for await host in hosts where host == "b" { break }
        #expect(settings.port == 1)
        #expect(throws: StorageError.undecodable(key: ".server.port", expected: "Int", found: "string")) {
            try settings.stored(\.port).get()
        }
        settings.host = "c"
        #expect(store[server] == ["host": "c", "port": "no number"])
    }

    @Test(
        "Each value of a dictionary that cannot be decoded is reported once, and leaves its own last valid one",
        arguments: Fixture.allCases)
    func severalUndecodable(fixture: Fixture) async throws {
        let storage = try fixture.make(["server": ["host": "a", "port": 1]])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        #expect((settings.host, settings.port, settings.level) == ("a", 1, nil))
        var changes = store.allChanges().makeAsyncIterator()
        let steps: [(server: PropertyListValue, host: String, port: Int, level: Int?)] = [
            (["host": "b", "port": 2, "log": ["level": 0]], "b", 2, 0),
            (["host": 7, "port": "no", "log": ["level": 1]], "b", 2, 1),
            // The first two are the same ones as before.
            (["host": 7, "port": "no", "log": ["level": 2]], "b", 2, 2),
            (["host": 7, "port": "none", "log": ["level": "debug"]], "b", 2, 2),
            (["host": "c", "port": 3, "log": ["level": 3]], "c", 3, 3),
            (["host": 7, "port": 4, "log": ["level": 4]], "c", 4, 4),
            // It was removed.
            (["port": 4, "log": ["level": 4]], "localhost", 4, 4),
            (["host": 8, "port": 4, "log": ["level": 4]], "localhost", 4, 4),
        ]
        for step in steps {
            _ = try storage.edit { $0["server"] = step.server }
            _ = await changes.next()
            for _ in 0..<2 {
                #expect((settings.host, settings.port, settings.level) == (step.host, step.port, step.level))
                #expect(KeyedStore<ServerKeys>(store).port == step.port)
                #expect(settings.snapshot.host == step.host)
            }
        }
        let failures = store.failures
        try await store.close()
        let reported = await failures.reduce(into: [String]()) { reported, error in
            guard case .undecodable(let key, _, _, _) = error else { return reported.append("\(error)") }
            reported.append(key)
        }
        #expect(
            reported == [
                ".server.host", ".server.port", ".server.port", ".server.log.level", ".server.host", ".server.host",
            ])
    }

    @Test("Observers of several values of a dictionary that cannot be decoded have the last valid ones, and each is reported")
    func observedUndecodable() async throws {
        let backend = InMemoryBackend(["server": ["host": "a", "port": 1]])
        let store = try ObservableStore(backend: backend)
        let settings = KeyedStore<ServerKeys>(store)
        let seen = Recorder<String>()
        let tokens = [
            settings.addUpdateListener(for: \.host) { seen.record("\($0.oldValue) \($0.newValue)") },
            settings.addUpdateListener(for: \.port) { seen.record("\($0.oldValue) \($0.newValue)") },
        ]
        let servers: [PropertyListValue] = [
            ["host": "b", "port": 2], ["host": 7, "port": "no"], ["host": 8, "port": "none"], ["host": 9, "port": 5],
        ]
        let revision = try #require(store.storageRevision)
        for (index, server) in servers.enumerated() {
            _ = try backend.edit { $0["server"] = server }
            _ = try await seen.elements(count: 2 * (index + 1))
        }
        let live = seen.elements
        #expect(Set(live.prefix(2)) == ["a b", "1 2"])
        #expect(Set(live[2..<4]) == ["b b", "2 2"])
        #expect(Set(live[4..<6]) == ["b b", "2 2"])
        #expect(Set(live.suffix(2)) == ["b b", "2 5"])
        var later: [Int] = []
        for await change in try #require(await settings.store.changes(of: StorageKey("server", "port", default: 80), since: revision)) {
            later.append(change.newValue)
            if change.newValue == 5 { break }
        }
        #expect(later == [2, 2, 2, 5])
        let failures = store.failures
        try await store.close()
        #expect(await failures.reduce(0) { count, _ in count + 1 } == 5)
        withExtendedLifetime(tokens) {}
    }

    @Test("A flat key moves into a dictionary, registered values and scenes apply", arguments: Fixture.allCases)
    func migration(fixture: Fixture) async throws {
        let storage = try fixture.make(["serverPort": 8_080, "server": ["host": "a"]])
        let store = try storage.open()
        let port = StorageKey("server", "port", default: 80).renamed(from: "serverPort")
        #expect(store[port] == 8_080)
        try store.migrateValue(of: port)
        #expect(store[port] == 8_080)
        #expect(store.entries == ["server": ["host": "a", "port": 8_080]])
        let level = StorageKey<Int?>("server", "log", "level")
        try store.register(4, for: level)
        #expect(store[level] == 4)
        let scene = SceneStore(sceneID: "one", base: store)
        #expect(scene[port] == 8_080)
        scene[port] = 1
        #expect((scene[port], store[port]) == (1, 8_080))
        scene.stored(port).remove()
        #expect(scene[port] == 8_080)
    }

    @Test("A default that reading stores concerns its own value of the dictionary", arguments: [0, 1, 2])
    func persistedDefault(order: Int) async throws {
        let port = StorageKey("server", "port", persistsDefault: .whenMissing, default: 80)
        let (host, user) = (StorageKey<String?>("server", "host"), StorageKey<String?>("server", "user"))
        let backend = InMemoryBackend()
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        await store.suspend()
        if order == 0 { #expect(store[port] == 80) }
        store[host] = "x"
        if order == 1 { #expect(store[port] == 80) }
        other[user] = "other"
        try await other.flush()
        store.resume()
        try await store.flush()
        // Not stored while an edit of the same entry was not: the next reading tries again.
        if order == 1 { #expect(backend.load()["server"] == ["host": "x", "user": "other"]) }
        #expect(store[port] == 80)
        try await store.flush()
        #expect(backend.load().values == ["server": ["host": "x", "port": 80, "user": "other"]])
    }

    @Test("Several defaults that reading stores in one dictionary are stored together")
    func persistedDefaults() async throws {
        let backend = InMemoryBackend(["server": ["user": "other"]])
        let store = try ObservableStore(backend: backend)
        await store.suspend()
        for name in ["a", "b"] { #expect(store[StorageKey("server", name, persistsDefault: .whenMissing, default: 1)] == 1) }
        store.resume()
        try await store.flush()
        #expect(backend.load().values == ["server": ["a": 1, "b": 1, "user": "other"]])
    }

    @Test("Migrating a value concerns its own value of the dictionary", arguments: [0, 1])
    func migratedValue(order: Int) async throws {
        let port = StorageKey("server", "port", default: 0).migrating(from: String.self) { Int($0) ?? 0 }
        let (host, user) = (StorageKey<String?>("server", "host"), StorageKey<String?>("server", "user"))
        let backend = InMemoryBackend(["server": ["port": "80"]])
        let (store, other) = (try ObservableStore(backend: backend), try ObservableStore(backend: backend))
        await store.suspend()
        if order == 0 { try store.migrateValue(of: port) }
        store[host] = "x"
        if order == 1 { try store.migrateValue(of: port) }
        other[user] = "other"
        try await other.flush()
        store.resume()
        try await store.flush()
        try store.migrateValue(of: port)
        try await store.flush()
        #expect(backend.load().values == ["server": ["host": "x", "port": 80, "user": "other"]])
    }
}

/// A backend in memory whose edits fail on demand, while it can be read.
private final class ReadableBackend: BlockingStorageBackend {
    let name = "readable"
    let storage = InMemoryBackend()
    let isReadOnly = Atomic(false)

    func load() throws -> StorageEntries {
        storage.load()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        if isReadOnly.load(ordering: .sequentiallyConsistent) { throw StorageError.unwritable(file: name, reason: "it is read-only") }
        return try storage.edit(body)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        storage.watch(since: revision, on: queue, report)
    }
}
