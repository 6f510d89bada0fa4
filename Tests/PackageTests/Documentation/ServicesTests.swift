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
