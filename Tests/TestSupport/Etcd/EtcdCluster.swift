#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage

    /// Real etcd servers on ports of this machine with empty, temporary data; they end when the test releases the cluster.
    public final class EtcdCluster: Sendable {
        /// The certificates that servers use towards clients: PEM files.
        public struct Certificates: Sendable {
            /// That of each server.
            let certificate: String
            /// Its private key.
            let key: String
            /// The authority of clients' certificates, which are demanded then.
            let clientAuthority: String?

            /// - Parameter clientAuthority: nil if clients need no certificate.
            public init(certificate: String, key: String, clientAuthority: String? = nil) {
                (self.certificate, self.key, self.clientAuthority) = (certificate, key, clientAuthority)
            }
        }

        /// An unexpected answer to a request of the test's own.
        public struct Refused: Error {
            /// What was asked.
            public let path: String
            /// The answer.
            public let answer: PlainRequest.Answer
        }

        private static let sharedCluster = Lock<Task<EtcdCluster, any Error>?>(nil)
        private let members: [EtcdMember]
        private let certificates: Certificates?
        private let arguments: [String]
        private let data: TemporaryFolder

        private init(members: Int, certificates: Certificates?, arguments: [String]) throws {
            self.members = (0..<members).map { _ in EtcdMember() }
            self.certificates = certificates
            self.arguments = arguments
            data = try TemporaryFolder.inMemory()
        }

        /// Starts a cluster, and returns when each member serves.
        ///
        /// The caller holds a ``ServerPermit``: a test has it by the trait `servers`.
        ///
        /// - Parameters:
        ///   - members: 1 or 3.
        ///   - certificates: for encryption between clients and servers.
        ///   - arguments: further arguments of etcd, which take precedence.
        public static func start(members: Int = 1, certificates: Certificates? = nil, arguments: [String] = []) async throws -> EtcdCluster
        {
            precondition(ServerPermit.isHeld, "a test that starts servers needs the trait servers")
            var attempts = 0
            while true {
                do {
                    let cluster = try EtcdCluster(members: members, certificates: certificates, arguments: arguments)
                    for member in 0..<members { try cluster.launch(member, isNew: true) }
                    for member in cluster.members { try await member.untilHealthy() }
                    return cluster
                } catch EtcdMember.Failure.portTaken where attempts < 5 {
                    attempts += 1
                }
            }
        }

        /// One server for all tests that do it no harm, each with a prefix of its own; it ends with the process.
        public static func shared() async throws -> EtcdCluster {
            let task = sharedCluster.withLock { cluster in
                if let cluster { return cluster }
                let task = Task { try await ServerPermit.$isHeld.withValue(true) { try await start() } }
                cluster = task
                atexit { EtcdCluster.sharedCluster.withLock { $0 = nil } }
                return task
            }
            return try await task.value
        }

        /// The addresses for clients, as `host:port`.
        public var endpoints: [String] {
            members.map { "127.0.0.1:\($0.port)" }
        }

        /// The ports for clients.
        public var ports: [Int] {
            members.map(\.port)
        }

        /// The processes of the members that run.
        public var processIdentifiers: [Int32] {
            members.compactMap(\.processIdentifier)
        }

        /// Where the members' data is.
        public var folder: String {
            data.url.path
        }

        /// Kills a member with SIGKILL, and returns after its end.
        public func kill(_ member: Int) async throws {
            try await members[member].kill()
        }

        /// Stops a member with SIGSTOP: its connections stay open, and nothing answers.
        public func suspend(_ member: Int) {
            members[member].signal(SIGSTOP)
        }

        /// Lets a suspended member go on; it may refuse requests until it follows the new leader.
        public func resume(_ member: Int) {
            members[member].signal(SIGCONT)
        }

        /// Starts a member again, on the same ports and with its data; kills it first if it runs.
        ///
        /// Returns when it serves, for which most of the members have to run.
        public func restart(_ member: Int) async throws {
            try await members[member].kill()
            try launch(member, isNew: false)
            try await members[member].untilHealthy()
        }

        /// Waits until a member that runs, and is not in `ignored`, leads; a suspended one believes for ever that it does.
        public func leader(ignoring ignored: Set<Int> = []) async throws -> Int {
            while true {
                for (index, member) in members.enumerated() where !ignored.contains(index) {
                    guard try await member.isLeader() else { continue }
                    try await member.untilHealthy()
                    return index
                }
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// Posts JSON to the gateway of a member without encryption, and returns the answer's JSON.
        ///
        /// It is posted again for a minute while the member answers that it is unavailable, as it does after an election.
        ///
        /// - Throws: ``Refused`` for every status but 200.
        @discardableResult
        public func call(_ path: String, _ json: String, token: String? = nil, member: Int = 0) async throws -> String {
            let deadline = ContinuousClock.now + .seconds(60)
            while true {
                let answer = try await PlainRequest(path: path, body: json, token: token).send(to: members[member].port)
                if answer.status == 200 { return answer.body }
                guard answer.status == 503, .now < deadline else { throw Refused(path: path, answer: answer) }
                try await Task.sleep(for: .milliseconds(20))
            }
        }

        /// Demands a password of clients from now on: that of the user `root`.
        public func enableAuthentication(rootPassword: String) async throws {
            try await call("/v3/auth/user/add", #"{"name":"root","password":"\#(rootPassword)"}"#)
            try await call("/v3/auth/role/add", #"{"name":"root"}"#)
            try await call("/v3/auth/user/grant", #"{"user":"root","role":"root"}"#)
            try await call("/v3/auth/enable", "{}")
        }

        private func launch(_ index: Int, isNew: Bool) throws {
            let member = members[index]
            let name = "member\(index)"
            let client = "\(certificates == nil ? "http" : "https")://127.0.0.1:\(member.port)"
            let peer = "http://127.0.0.1:\(member.peerPort)"
            let all = members.enumerated().map { "member\($0)=http://127.0.0.1:\($1.peerPort)" }.joined(separator: ",")
            var arguments = ["--name", name, "--data-dir", data.path(name), "--logger", "zap", "--log-level", "warn"]
            arguments += ["--listen-client-urls", client, "--advertise-client-urls", client]
            arguments += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
            arguments += ["--initial-cluster", all, "--initial-cluster-state", isNew ? "new" : "existing"]
            // A new leader in half of the usual time.
            arguments += ["--heartbeat-interval", "50", "--election-timeout", "500"]
            if let certificates {
                arguments += ["--cert-file", certificates.certificate, "--key-file", certificates.key]
                if let authority = certificates.clientAuthority { arguments += ["--trusted-ca-file", authority, "--client-cert-auth"] }
            }
            try member.start(arguments + self.arguments, folder: folder)
        }
    }
#endif
