import Dispatch
import Foundation
import ObservableStorage

/// A service with an unwritten edit, which prints `ready` and waits for a signal.
struct Service {
    let path: String

    private static let count = StorageKey("count", default: 0)

    private struct UnknownRequest: Error {}

    func run(_ way: String) async throws {
        let backend = GatedBackend(PropertyListFile(at: URL(fileURLWithPath: path)))
        let store = try ObservableStore(backend: backend)
        switch way {
        case "flush":
            // The application's own source for the signal opens the gate: nothing is written before the signal.
            let own = receive(SIGTERM) { backend.gate.signal() }
            try await wait(ObservableStore.flushOnTermination(), store, own)
        case "stuck":
            ObservableStore.exitTimeout = .milliseconds(100)
            try await wait(ObservableStore.flushOnTermination(), store)
        case "handler":
            signal(SIGTERM) { _ in _exit(7) }
            backend.gate.signal()
            try await wait(ObservableStore.flushOnTermination(), store)
        case "ignored":
            signal(SIGTERM, SIG_IGN)
            let token = ObservableStore.flushOnTermination()
            raise(SIGTERM)
            try Peer.say("ignored")
            withExtendedLifetime(token) {}
            backend.gate.signal()
        case "undone":
            let token = ObservableStore.flushOnTermination()
            token.cancel()
            try await wait(token, store)
        case "run": try await runUntilTerminated(store, backend)
        default: throw UnknownRequest()
        }
    }

    private func wait(_ token: ObservationToken, _ store: ObservableStore, _ other: Any? = nil) async throws {
        store[Self.count] = 5
        try Peer.say("ready")
        let (endless, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in endless {}
        withExtendedLifetime(continuation) {}
        withExtendedLifetime((token, other)) {}
    }

    /// Receives a signal from when it returns: one that is sent before the source is registered would be lost, or end the process.
    private func receive(_ signal: Int32, _ handler: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        let source = DispatchSource.makeSignalSource(signal: signal)
        source.setEventHandler(handler: handler)
        let registered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { registered.signal() }
        source.activate()
        registered.wait()
        return source
    }

    /// Runs the store as a service group does: the signal cancels its task.
    private func runUntilTerminated(_ store: ObservableStore, _ backend: GatedBackend) async throws {
        signal(SIGTERM, SIG_IGN)
        let service = Task { try await store.run() }
        let source = receive(SIGTERM) {
            service.cancel()
            backend.gate.signal()
        }
        store[Self.count] = 5
        try Peer.say("ready")
        try await service.value
        source.cancel()
        try Peer.say("closed")
        // The exit writes nothing: the service has.
        _exit(0)
    }
}

/// A port that is checked when it is read.
private struct Port: RawRepresentable, Storable {
    let rawValue: Int

    init?(rawValue: Int) {
        guard (1...65_535).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }
}

extension Service {
    /// Prints each valid port, and each failure.
    static func watchPort(in path: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path))
        let failures = Task {
            for await failure in store.failures { try Peer.say("failure: \(failure)") }
        }
        for await port in store.values(of: StorageKey<Port?>("port")) { try Peer.say("port: \(port?.rawValue ?? 0)") }
        try await failures.value
    }
}

/// A file whose edits wait for a gate to be opened.
private final class GatedBackend: BlockingStorageBackend {
    let gate = DispatchSemaphore(value: 0)
    private let file: PropertyListFile

    var name: String { file.name }

    init(_ file: PropertyListFile) {
        self.file = file
    }

    func load() throws -> StorageEntries { try file.load() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        gate.wait()
        defer { gate.signal() }
        return try file.edit(body)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        file.watch(since: revision, on: queue, report)
    }
}
