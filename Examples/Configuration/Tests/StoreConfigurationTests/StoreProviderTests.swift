import Configuration
import Foundation
import ObservableStorage
import ServiceLifecycle
import StoreConfiguration
import Testing

@Suite("A store as a provider of configuration", .timeLimit(.minutes(2)))
struct StoreProviderTests {
    private let backend = InMemoryBackend([
        "port": 80, "ratio": 0.5, "name": "a", "isOn": true, "key": .data(Data([1, 2])), "names": ["a", "b"], "ports": [1, 2],
        "ratios": [0.5, 1], "flags": [true, false], "chunks": [.data(Data([1]))],
        "server": ["port": 81, "tls": ["version": 3, "key": ["size": 256]]], "server/host": "localhost",
    ])
    private let store: ObservableStore
    private let provider: StoreProvider

    init() throws {
        store = try ObservableStore(backend: backend)
        provider = StoreProvider(store, isSecret: { $0.hasSuffix("key") })
    }

    private func content(_ key: AbsoluteConfigKey, _ type: ConfigType) throws -> ConfigContent? {
        try provider.value(forKey: key, type: type).value?.content
    }

    @Test("Each type is read, in every way")
    func types() async throws {
        let expected: [(AbsoluteConfigKey, ConfigType, ConfigContent)] = [
            (["port"], .int, .int(80)), (["ratio"], .double, .double(0.5)), (["port"], .double, .double(80)),
            (["name"], .string, .string("a")),
            (["isOn"], .bool, .bool(true)), (["key"], .bytes, .bytes([1, 2])), (["names"], .stringArray, .stringArray(["a", "b"])),
            (["ports"], .intArray, .intArray([1, 2])), (["ratios"], .doubleArray, .doubleArray([0.5, 1])),
            (["flags"], .boolArray, .boolArray([true, false])), (["chunks"], .byteChunkArray, .byteChunkArray([[1]])),
        ]
        for (key, type, content) in expected {
            #expect(try self.content(key, type) == content)
            #expect(try await provider.fetchValue(forKey: key, type: type).value?.content == content)
            #expect(try provider.snapshot().value(forKey: key, type: type).value?.content == content)
        }
    }

    @Test("A key of several components is the entry of a group, or inside dictionaries")
    func paths() throws {
        #expect(try content(["server", "host"], .string) == .string("localhost"))
        #expect(try content(["server", "port"], .int) == .int(81))
        #expect(try content(["server", "tls", "version"], .int) == .int(3))
        #expect(try content(["server", "tls", "key", "size"], .int) == .int(256))
        #expect(try content(["server", "missing"], .int) == nil)
        #expect(try content(["missing", "a", "b", "c", "d", "e"], .int) == nil)
        #expect(try provider.value(forKey: ["server", "port"], type: .int).encodedKey == "server/port")
        store[StorageKey<Int?>("server/port")] = 82
        #expect(try content(["server", "port"], .int) == .int(82))
    }

    @Test("A value of another type is an error, which does not have the value")
    func mismatch() async throws {
        let error = #expect(throws: StoreProviderError.self) { try content(["key"], .string) }
        #expect(error?.description == "key \"key\": expected string, found data")
        #expect(throws: StoreProviderError.self) { try content(["ratio"], .int) }
        #expect(throws: StoreProviderError.self) { try content(["isOn"], .int) }
        #expect(throws: StoreProviderError.self) { try content(["ports"], .stringArray) }
    }

    @Test("A value can be a secret, and registered values are seen")
    func secretsAndLayers() throws {
        #expect(try provider.value(forKey: ["key"], type: .bytes).value?.isSecret == true)
        #expect(try provider.value(forKey: ["port"], type: .int).value?.isSecret == false)
        try store.register(5, for: StorageKey("retries", default: 0))
        #expect(try content(["retries"], .int) == .int(5))
    }

    @Test("A watched value is the present one, and then each newer one, errors among them")
    func watchValue() async throws {
        try await provider.watchValue(forKey: ["server", "port"], type: .int) { updates in
            var iterator = updates.makeAsyncIterator()
            #expect(try await iterator.next()?.get().value?.content == .int(81))
            let other = try ObservableStore(backend: backend)
            try await other.update { $0[StorageKey<Int?>("server", "port")] = 90 }
            #expect(try await iterator.next()?.get().value?.content == .int(90))
            try await other.update { $0[StorageKey<String?>("server", "port")] = "x" }
            let mismatch = await iterator.next()
            #expect(throws: StoreProviderError.self) { try mismatch?.get() }
            try await other.update { $0.remove(StorageKey<String?>("server", "port")) }
            let removed = await iterator.next()
            #expect(try removed?.get().value == nil)
            #expect(removed != nil)
        }
    }

    @Test("A watched snapshot is the present one, and then the newest after each change; it does not change itself")
    func watchSnapshot() async throws {
        try await provider.watchSnapshot { updates in
            var iterator = updates.makeAsyncIterator()
            let first = try #require(await iterator.next())
            store[StorageKey("port", default: 0)] = 81
            let second = try #require(await iterator.next())
            #expect(try first.value(forKey: ["port"], type: .int).value?.content == .int(80))
            #expect(try second.value(forKey: ["port"], type: .int).value?.content == .int(81))
            #expect(second.providerName == provider.providerName)
        }
    }

    @Test("As a service, it writes the edits and closes the store when it is stopped; watchers end")
    func service() async throws {
        let service = Task { [provider] in try await provider.run() }
        let watcher = Task { [provider] in
            try await provider.watchValue(forKey: ["port"], type: .int) { updates in await updates.reduce(0) { count, _ in count + 1 } }
        }
        store[StorageKey("port", default: 0)] = 7
        service.cancel()
        try await service.value
        #expect(backend.load()["port"] == 7)
        #expect(throws: StorageError.closed) { try store.set(8, for: StorageKey("port", default: 0)) }
        #expect(try await watcher.value >= 0)
    }
}
