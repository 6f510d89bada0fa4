#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage

    /// Whether etcd is installed: without it, suites that need it are skipped.
    ///
    /// ``etcdMissing`` says how to install it.
    public let isEtcdAvailable = isInstalled("etcd")

    /// Why tests are skipped where it is not.
    public let etcdMissing = "etcd is not installed: apt-get install etcd-server, or brew install etcd"

    /// One etcd server, which may be killed and started again; it ends when the member is released, and with the process of the tests.
    final class EtcdMember: Sendable {
        /// Why a server does not serve.
        enum Failure: Error {
            /// Another program has one of its ports.
            case portTaken
            /// It exited, after these lines of standard error.
            case exited([String])
            /// It runs, but does not answer as it should.
            case silent([String])
        }

        /// The port for clients.
        let port = ServerPort.unused()
        /// The port for other members.
        let peerPort = ServerPort.unused()
        private let statusPort = ServerPort.unused()
        private let program = Lock<RunningProgram?>(nil)

        /// Starts the server in a folder, which is removed if the process of the tests is killed.
        func start(_ arguments: [String], folder: String) throws {
            let status = ["--listen-metrics-urls", "http://127.0.0.1:\(statusPort)"]
            let program = try RunningProgram(companion: "etcd", status + arguments, removing: folder)
            self.program.withLock { $0 = program }
        }

        /// Kills the server without a chance to write or to say farewell, and returns after its end.
        func kill() async throws {
            guard let program = program.withLock({ $0.take() }) else { return }
            program.end()
            _ = try await program.status
        }

        /// The identifier of its process; nil while it is killed.
        var processIdentifier: Int32? {
            program.withLock { $0?.processIdentifier }
        }

        /// Sends a signal to the server, if it runs.
        func signal(_ number: Int32) {
            program.withLock { $0 }?.signal(number)
        }

        /// Waits until the server answers linearizable reads, which means that its cluster has a leader.
        func untilHealthy() async throws {
            // Not in steps of a task: beside all other tests, each of them may wait for minutes for a thread of the pool.
            try await onThread { try self.waitUntilHealthy() }
        }

        private func waitUntilHealthy() throws {
            let deadline = ContinuousClock.now + .seconds(240)
            while true {
                do {
                    if try PlainRequest(path: "/health", timeout: .seconds(2)).sendBlocking(to: statusPort).status == 200 { return }
                } catch is LoopbackSocket.Failure, is PlainRequest.Malformed {
                    // It does not listen yet.
                }
                let program = program.withLock { $0 }
                // In this order: why it has exited is known when its lines were read.
                let hasEnded = program?.hasEnded ?? true
                let lines = program?.errors.elements ?? []
                if hasEnded {
                    let isTaken = lines.contains { $0.contains("address already in use") }
                    throw isTaken ? Failure.portTaken : Failure.exited(lines)
                }
                guard ContinuousClock.now < deadline else { throw Failure.silent(lines) }
                Thread.sleep(forTimeInterval: 0.02)
            }
        }

        /// Whether the server runs and believes to be its cluster's leader.
        func isLeader() async throws -> Bool {
            do {
                let metrics = try await PlainRequest(path: "/metrics", timeout: .seconds(2)).send(to: statusPort).body
                return metrics.contains("\netcd_server_is_leader 1\n")
            } catch is LoopbackSocket.Failure, is PlainRequest.Malformed {
                return false
            }
        }
    }
#endif
