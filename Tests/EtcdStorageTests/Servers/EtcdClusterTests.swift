#if os(macOS) || os(Linux)
    import Foundation
    import TestSupport
    import Testing

    // Needs etcd: apt-get install etcd-server, or brew install etcd.
    @Suite("The servers of tests", .needsEtcd, .servers(3), .timeLimit(.minutes(10)))
    struct EtcdClusterTests {
        private let put = #"{"key":"YQ==","value":"Yg=="}"#
        private let range = #"{"key":"YQ=="}"#

        @Test("A server keeps its data when it is killed and started again")
        func restartKeepsData() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.call("/v3/kv/put", put)
            try await cluster.kill(0)
            await #expect(throws: LoopbackSocket.Failure.self) { try await cluster.call("/v3/kv/range", range) }
            try await cluster.restart(0)
            #expect(try await cluster.call("/v3/kv/range", range).contains(#""value":"Yg==""#))
        }

        @Test("Another member leads after the leader was killed, and after it was suspended")
        func newLeader() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let first = try await cluster.leader()
            try await cluster.kill(first)
            let second = try await cluster.leader()
            #expect(second != first)
            try await cluster.restart(first)
            cluster.suspend(second)
            let third = try await cluster.leader(ignoring: [second])
            #expect(third != second)
            cluster.resume(second)
            try await cluster.call("/v3/kv/put", put, member: second)
        }

        @Test("A server with authentication refuses requests without a token")
        func authentication() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            await #expect(throws: EtcdCluster.Refused.self) { try await cluster.call("/v3/kv/put", put) }
            let answer = try await cluster.call("/v3/auth/authenticate", #"{"name":"root","password":"secret"}"#)
            let token = try #require(answer.components(separatedBy: #""token":""#).last?.components(separatedBy: "\"").first)
            try await cluster.call("/v3/kv/put", put, token: token)
        }

        @Test("The servers of a released cluster end, and their data is removed")
        func released() async throws {
            let (port, folder) = try await portAndFolder()
            _ = try LoopbackSocket.listening(on: port)
            #expect(!FileManager.default.fileExists(atPath: folder))
        }

        private func portAndFolder() async throws -> (port: Int, folder: String) {
            let cluster = try await EtcdCluster.start()
            #expect(FileManager.default.fileExists(atPath: cluster.folder))
            return (cluster.ports[0], cluster.folder)
        }

        @Test("Tests get the same shared server")
        func shared() async throws {
            async let first = EtcdCluster.shared()
            async let second = EtcdCluster.shared()
            let (one, other) = try await (first, second)
            #expect(one === other)
            try await one.call("/v3/kv/put", put)
        }
    }
#endif
