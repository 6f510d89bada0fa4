#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport
    import Testing

    /// An etcd server on a port of this machine with empty, temporary data; it ends when it is released, and with the process of the tests.
    final class EtcdServer: Sendable {
        /// The server did not come up, after these lines of standard error.
        struct Failure: Error {
            let lines: [String]
        }

        /// One server for all tests that do it no harm, each with a prefix of its own.
        static let shared = Task { try await EtcdServer() }

        // Below the ports that systems give to outgoing connections, and apart from those of other tests.
        private static let ports = 30_000..<32_000
        private static let lastPort = Lock(Int(getpid()) * 7)

        /// The address for clients.
        let endpoint: String
        private let arguments: [String]
        private let folder: TemporaryFolder
        private let program = Lock<RunningProgram?>(nil)

        /// Chooses ports, without starting the server.
        init(stopped: Void) throws {
            let (client, peer) = (Self.nextPort(), Self.nextPort())
            endpoint = "127.0.0.1:\(client)"
            folder = try TemporaryFolder.inMemory()
            let (url, peerURL) = ("http://\(endpoint)", "http://127.0.0.1:\(peer)")
            arguments = [
                "--data-dir", folder.path("data"), "--logger", "zap", "--log-level", "warn", "--listen-client-urls", url,
                "--advertise-client-urls", url, "--listen-peer-urls", peerURL, "--initial-advertise-peer-urls", peerURL,
                "--initial-cluster", "default=\(peerURL)", "--heartbeat-interval", "50", "--election-timeout", "500",
            ]
        }

        /// Starts a server, on other ports if these are taken, and returns when it serves.
        convenience init() async throws {
            try self.init(stopped: ())
            try await start()
        }

        deinit {
            end()
        }

        /// Starts the server with the data that it has, and returns when it serves.
        func start() async throws {
            // The shell becomes etcd. The other one reads the end of its input when the process of the tests ends in any way; a line means
            // that the server has ended already, and that its number may be another process's.
            let script = """
                exec 3<&0
                { trap '' HUP INT TERM; read -r line || { kill -KILL $$; rm -rf "$0"; }; } <&3 >/dev/null 2>&1 &
                exec etcd "$@" </dev/null 3<&-
                """
            let started = try RunningProgram("/bin/sh", ["-c", script, folder.url.path] + arguments)
            program.withLock { $0 = started }
            // The tool tries for some seconds to connect.
            let listed = try await tool("list", "--etcd", "\(endpoint)/")
            let lines = started.errors.elements
            guard listed.status == 0, !lines.contains(where: { $0.contains("address already in use") }) else { throw Failure(lines: lines) }
        }

        /// Kills the server, and returns after its end.
        func kill() async throws {
            guard let program = end() else { return }
            _ = try await program.status
        }

        @discardableResult
        private func end() -> RunningProgram? {
            guard let program = program.withLock({ $0.take() }) else { return nil }
            program.signal(SIGKILL)
            // The other shell lives until it reads this: there is no broken pipe.
            _ = try? program.send("ended")
            return program
        }

        private static func nextPort() -> Int {
            lastPort.withLock { port in
                port += 1
                return ports.lowerBound + port % ports.count
            }
        }
    }

    extension Trait where Self == ConditionTrait {
        /// Skips tests where etcd is not installed.
        static var needsEtcd: Self {
            .enabled(if: isInstalled("etcd"), "etcd is not installed: apt-get install etcd-server, or brew install etcd")
        }
    }
#endif
