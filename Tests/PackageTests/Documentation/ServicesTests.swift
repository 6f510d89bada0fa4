import Foundation
import ObservableStorage
import TestSupport
import Testing

/// The parts of swift-service-lifecycle that the article uses.
private protocol Service: Sendable {
    func run() async throws
}

private func cancelWhenGracefulShutdown(_ body: @escaping @Sendable () async throws -> Void) async throws {
    try await body()
}

@Suite("Services", .timeLimit(.minutes(10)))
struct ServicesTests {
    // snippet: Services
    struct Settings: Service {
        let store: ObservableStore

        func run() async throws {
            try await cancelWhenGracefulShutdown { try await store.run() }
        }
    }
    // end

    // snippet: Services
    struct ServiceKeys: KeyGroup {
        let port = StorageKey<UInt16>("server", "port", default: 80).override(environment: "PORT")
        let timeout = StorageKey("timeout", default: Duration.seconds(30))
        let password = StorageKey<String?>("database", "password")
    }
    // end

    private struct UnknownSettings: Error {
        let names: [String]
    }

    @Test("A service opens its store with arguments and environment, and refuses names that no key has")
    func overrides() throws {
        let folder = try TemporaryFolder()
        let url = folder.file("service.plist")
        // snippet: Services
        let store = try ObservableStore(at: url, overrides: [.arguments(), .environment(prefix: "APP")])
        let settings = try KeyedStore<ServiceKeys>(store).check()
        // end
        #expect(settings.stored(\.timeout).source == .keyDefault)
        func open(_ variables: [String: String]) throws -> KeyedStore<ServiceKeys> {
            let overrides = [OverrideSource.environment(prefix: "APP", variables)]
            let settings = try KeyedStore<ServiceKeys>(ObservableStore(at: url, overrides: overrides)).check()
            // snippet: Services
            guard settings.unknownOverrides.isEmpty else { throw UnknownSettings(names: settings.unknownOverrides) }
            // end
            return settings
        }
        let secret = folder.file("password")
        try Data("hunter2\n".utf8).write(to: secret)
        let given = try open(["PORT": "443", "APP_TIMEOUT": "1m30s", "APP_DATABASE_PASSWORD_FILE": secret.path])
        #expect((given.port, given.timeout, given.password) == (443, .seconds(90), "hunter2"))
        #expect(given.stored(\.port).source == .environment("PORT"))
        #expect(throws: UnknownSettings.self) { try open(["APP_TIMOUT": "1s"]) }
        let error = #expect(throws: StorageError.self) { try open(["APP_TIMEOUT": "soon"]) }
        let message = """
            APP_TIMEOUT: cannot be used for the key "timeout": expected Duration (a duration such as 100ms, 1.5s or 1m), found the text "soon"; \
            correct it, or remove it
            """
        #expect("\(try #require(error))" == message)
    }

    @Test("A service writes its edits when it is cancelled")
    func cancelled() async throws {
        let backend = InMemoryBackend()
        let store = try ObservableStore(backend: backend)
        let service = Task { try await Settings(store: store).run() }
        store[Keys.count] = 5
        service.cancel()
        try await service.value
        #expect(backend.load().values == ["count": 5])
        #expect(throws: StorageError.closed) { try store.set(6, for: Keys.count) }
    }
}
