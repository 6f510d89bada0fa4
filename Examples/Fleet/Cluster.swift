import Foundation

/// Three members of etcd on this machine, with empty data in a temporary folder; a real cluster has one on each of three machines.
final class Cluster: Sendable {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "Fleet-\(UUID())")
    private let members: [Process]
    /// The addresses of the members for clients.
    let endpoints: [String]

    /// Starts the members; returns nil if etcd is not installed.
    init?() throws {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let programs = path.split(separator: ":").map { "\($0)/etcd" }
        guard let program = programs.first(where: { FileManager.default.isExecutableFile(atPath: $0) }) else { return nil }
        // Below the ports that systems give to outgoing connections.
        var ports = 0..<0
        repeat {
            let port = Int.random(in: 10_000..<30_000)
            ports = port..<(port + 6)
        } while !ports.allSatisfy(Self.isFree)
        let addresses = ports.map { "127.0.0.1:\($0)" }
        let (clients, peers) = (Array(addresses[..<3]), Array(addresses[3...]))
        endpoints = clients
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        members = try (0..<3).map { [folder] number in
            let member = Process()
            member.executableURL = URL(filePath: program)
            member.arguments = [
                "--name", "member\(number)", "--data-dir", folder.appending(path: "member\(number)").path, "--logger", "zap",
                "--log-level", "error", "--listen-client-urls", "http://\(clients[number])", "--advertise-client-urls",
                "http://\(clients[number])", "--listen-peer-urls", "http://\(peers[number])", "--initial-advertise-peer-urls",
                "http://\(peers[number])", "--initial-cluster",
                peers.enumerated().map { "member\($0)=http://\($1)" }.joined(separator: ","),
            ]
            (member.standardOutput, member.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            try member.run()
            return member
        }
    }

    /// Whether no program has a port of this machine at this moment.
    private static func isFree(_ port: Int) -> Bool {
        // SOCK_STREAM, which is no integer on Linux.
        let descriptor = socket(AF_INET, 1, 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        (address.sin_family, address.sin_port) = (sa_family_t(AF_INET), in_port_t(port).bigEndian)
        return withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0 }
        }
    }

    /// Kills a member.
    func kill(_ number: Int) {
        Foundation.kill(members[number].processIdentifier, SIGKILL)
        members[number].waitUntilExit()
    }

    /// Ends all members, and removes their data.
    func end() throws {
        for number in members.indices { kill(number) }
        try FileManager.default.removeItem(at: folder)
    }
}
