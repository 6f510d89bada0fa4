#if os(macOS) || os(Linux)
    import Synchronization
    import TestSupport
    import Testing

    @testable import EtcdStorage

    @Suite("A client of a cluster", .needsEtcd, .servers(3), .timeLimit(.minutes(10)))
    struct EtcdClientClusterTests {
        private func client(
            _ cluster: EtcdCluster, credentials: EtcdConfiguration.Credentials? = nil, requestTimeout: Duration = .seconds(60)
        ) throws -> EtcdClient {
            try EtcdClient(
                EtcdConfiguration(endpoints: cluster.endpoints, prefix: "", credentials: credentials, requestTimeout: requestTimeout))
        }

        private func put(_ number: Int) -> PutRequest {
            PutRequest(key: Array("key\(number)".utf8), value: Array("\(number)".utf8))
        }

        private final class Flag: Sendable {
            let value = Atomic(true)
        }

        /// The numbers of the keys that are there.
        private func numbers(_ client: EtcdClient) async throws -> Set<Int> {
            let range = RangeRequest(key: Array("key".utf8), rangeEnd: Array("kez".utf8))
            let keyValues = try await client.call(range, deadline: .distant).keyValues
            return Set(keyValues.compactMap { Int(String(decoding: $0.value, as: UTF8.self)) })
        }

        @Test("Requests go on while one member after the other is killed and comes back")
        func killedMembers() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let client = try client(cluster)
            for member in 0..<3 {
                for number in 0..<10 { _ = try await client.call(put(member * 20 + number), deadline: .distant) }
                try await cluster.kill(member)
                for number in 10..<20 { _ = try await client.call(put(member * 20 + number), deadline: .distant) }
                try await cluster.restart(member)
            }
            #expect(try await numbers(client) == Set(0..<60))
            withExtendedLifetime(cluster) {}
        }

        @Test("Requests go on while the leader is suspended, and after it is resumed")
        func suspendedLeader() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let client = try client(cluster, requestTimeout: .milliseconds(300))
            _ = try await client.call(put(0), deadline: .distant)
            let leader = try await cluster.leader()
            cluster.suspend(leader)
            for number in 1..<10 { _ = try await client.call(put(number), deadline: .distant) }
            cluster.resume(leader)
            for number in 10..<20 { _ = try await client.call(put(number), deadline: .distant) }
            #expect(try await numbers(client) == Set(0..<20))
            withExtendedLifetime(cluster) {}
        }

        @Test("The reported outcome of a request is true, whenever the leader is killed")
        func truth() async throws {
            let cluster = try await EtcdCluster.start(members: 3)
            let client = try client(cluster, requestTimeout: .seconds(2))
            let isKilling = Flag()
            async let killing: Void = {
                defer { isKilling.value.store(false, ordering: .relaxed) }
                for _ in 0..<2 {
                    let leader = try await cluster.leader()
                    try await cluster.kill(leader)
                    try await cluster.restart(leader)
                }
            }()
            var (done, undone) = (Set<Int>(), Set<Int>())
            var number = 0
            while isKilling.value.load(ordering: .relaxed) {
                number += 1
                do {
                    _ = try await client.call(put(number), deadline: .now + .seconds(2))
                    done.insert(number)
                } catch let unavailable as EtcdUnavailable {
                    // Otherwise it may be there or not.
                    if !unavailable.mayHaveArrived { undone.insert(number) }
                }
            }
            try await killing
            let found = try await numbers(client)
            #expect(done.isSubset(of: found))
            #expect(undone.isDisjoint(with: found))
            withExtendedLifetime(cluster) {}
        }

        @Test("A token that a restarted server does not know is renewed")
        func restartedServer() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            let client = try client(cluster, credentials: .init(user: "root", password: "secret"))
            for number in 0..<3 {
                _ = try await client.call(put(number), deadline: .distant)
                try await cluster.restart(0)
            }
            #expect(try await numbers(client) == [0, 1, 2])
            withExtendedLifetime(cluster) {}
        }

        @Test("A wrong password is reported with the error of etcd")
        func wrongPassword() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            let client = try client(cluster, credentials: .init(user: "root", password: "wrong"))
            let failure = try await #require(throws: EtcdFailure.self) {
                try await client.call(put(0), deadline: .distant)
            }
            #expect(failure.isAuthenticationFailed)
            withExtendedLifetime(cluster) {}
        }

        @Test("Credentials are not needed where etcd does not check them, and used from when it does")
        func laterAuthentication() async throws {
            let cluster = try await EtcdCluster.start()
            let client = try client(cluster, credentials: .init(user: "root", password: "secret"))
            _ = try await client.call(put(0), deadline: .distant)
            try await cluster.enableAuthentication(rootPassword: "secret")
            _ = try await client.call(put(1), deadline: .distant)
            #expect(try await numbers(client) == [0, 1])
            withExtendedLifetime(cluster) {}
        }

        @Test("A watch begins at a member that serves, with the token of the user")
        func watch() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            let credentials = EtcdConfiguration.Credentials(user: "root", password: "secret")
            let client = try EtcdClient(
                EtcdConfiguration(endpoints: ["127.0.0.1:1"] + cluster.endpoints, prefix: "", credentials: credentials))
            // The token has been fetched from the other member, which is the preferred one since.
            let (stream, member) = try await client.watch(WatchRequest(key: [1]), deadline: .distant)
            #expect(member == 1)
            var splitter = GRPCMessageSplitter()
            #expect(try await stream.next(&splitter, deadline: .distant)?.isCreated == true)
            withExtendedLifetime(cluster) {}
        }
    }
#endif
