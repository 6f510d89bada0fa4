import EtcdStorage
import Foundation
import ObservableStorage
import TestSupport

/// An etcd server of one member on this machine, in memory if there is a file system in memory; it ends with this process at the latest.
final class EtcdServer: Sendable {
    /// What has to be installed before any row can be measured; nil if nothing is missing.
    static let missing: String? = ["etcd", "etcdctl"].allSatisfy(isInstalled) ? nil : "needs etcd and etcdctl: etcd-server, etcd-client"

    /// The port for clients.
    let port: Int
    // Released in this order.
    private let program: Companion
    private let folder: TemporaryFolder

    private init() throws {
        folder = try .inMemory()
        port = ServerPort.unused()
        let (client, peer) = ("http://127.0.0.1:\(port)", "http://127.0.0.1:\(ServerPort.unused())")
        let arguments = [
            "--data-dir", folder.path("data"), "--listen-client-urls", client, "--advertise-client-urls", client,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=\(peer)",
            "--log-level", "error",
        ]
        program = try Companion("etcd", arguments, folder: folder.url.path)
    }

    /// Starts a server, and waits until it serves.
    static func start() async throws -> EtcdServer {
        // Another program may have taken a port meanwhile.
        for _ in 0..<3 {
            let server = try EtcdServer()
            if try await server.isServing() { return server }
        }
        throw Failure("etcd does not start")
    }

    private func isServing() async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(30)
        while ContinuousClock.now < deadline, program.isRunning {
            do {
                try await connection().put("started", Array("yes".utf8))
                return true
            } catch is Failure {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        return false
    }

    /// The identifier of the server's process.
    var processIdentifier: Int32 { program.processIdentifier }

    /// The address for clients.
    var endpoint: String { "127.0.0.1:\(port)" }

    /// Opens a store for the keys under a prefix, on connections of its own.
    func store(_ prefix: String) async throws -> ObservableStore {
        try await ObservableStore.open(EtcdBackend(EtcdConfiguration(endpoints: [endpoint], prefix: prefix)))
    }

    /// Opens a connection without any of the library's code.
    func connection() throws -> GRPCConnection {
        try GRPCConnection(port: port)
    }

    /// Puts the given number of entries of ``SampleList`` under a prefix, one hundred in a transaction.
    ///
    /// - Parameter padding: bytes that each value has in addition, as a string beside it.
    func fill(_ prefix: String, _ count: Int, padding: Int = 0) async throws {
        let connection = try connection()
        let entries = SampleList.make(count)
        for start in stride(from: 0, to: count, by: 100) {
            let puts = try (start..<min(start + 100, count)).map { index in
                let name = SampleList.name(index)
                let value = entries[name] ?? 0
                let padded = padding == 0 ? value : .array([value, .string(String(repeating: "x", count: padding))])
                return (key: "\(prefix)/\(name)", value: Array(try padded.encoded(as: .binary)))
            }
            try await connection.put(all: puts)
        }
    }
}
