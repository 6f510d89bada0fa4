import EtcdStorage
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// The server of a row or table: one member, which ends with this process at the latest.
extension EtcdCluster {
    /// What has to be installed before any row can be measured; nil if nothing is missing.
    static let missing: String? = ["etcd", "etcdctl"].allSatisfy(isInstalled) ? nil : "needs etcd and etcdctl: etcd-server, etcd-client"

    /// Starts a server with etcd's usual intervals, and connects a writer.
    static func started() async throws -> (EtcdCluster, GRPCConnection) {
        let arguments = ["--heartbeat-interval", "100", "--election-timeout", "1000", "--log-level", "error"]
        let cluster = try await ServerPermit.$isHeld.withValue(true) { try await start(arguments: arguments) }
        return (cluster, try cluster.connection())
    }

    /// The address for clients.
    var endpoint: String { endpoints[0] }

    /// Opens a store for the keys under a prefix, on connections of its own.
    func store(_ prefix: String) async throws -> ObservableStore {
        try await ObservableStore.open(EtcdBackend(EtcdConfiguration(endpoints: endpoints, prefix: prefix)))
    }

    /// Opens a connection without any of the library's code.
    func connection() throws -> GRPCConnection {
        try GRPCConnection(port: ports[0])
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
