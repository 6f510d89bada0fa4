#if os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs etcd and the command openssl: apt-get install etcd-server openssl.
    @Suite("A client of etcd over TLS", .needsEtcd, .needsTLS, .servers(3), .timeLimit(.minutes(10)))
    struct EtcdClientTLSTests {
        private let certificates: TestCertificates
        private let keys = EntryKeys(prefix: "tls/")

        init() async throws {
            certificates = try await TestCertificates.shared()
        }

        private func cluster(members: Int) async throws -> EtcdCluster {
            try await EtcdCluster.start(
                members: members,
                certificates: EtcdCluster.Certificates(
                    certificate: certificates.certificate(.server), key: certificates.key(.server),
                    clientAuthority: certificates.certificate(.authority)))
        }

        private func tls(trusting authority: TestCertificates.Name = .authority) -> TLSConfiguration {
            TLSConfiguration(
                authorities: .certificates(.file(certificates.certificate(authority))),
                identity: .init(
                    certificate: .file(certificates.certificate(.client)), key: .file(certificates.key(.client))))
        }

        private func client(_ endpoints: [String], _ tls: TLSConfiguration) throws -> EtcdClient {
            try EtcdClient(
                EtcdConfiguration(
                    endpoints: endpoints, prefix: "", tls: tls, requestTimeout: .seconds(30), connectTimeout: .seconds(30)))
        }

        private func put(_ value: UInt8) throws -> PutRequest {
            PutRequest(key: try #require(keys.key(of: "a")), value: [value])
        }

        @Test("Requests and a watch go on at another member after the one that serves them is killed")
        func failOver() async throws {
            let cluster = try await cluster(members: 3)
            let client = try client(cluster.endpoints, tls())
            let watch = try RunningWatch(self.client(cluster.endpoints, tls()), keys: keys)
            await watch.untilConnected()
            for value in 0..<3 {
                if value == 1 { try await cluster.kill(0) }
                let revision = try await client.call(put(UInt8(value)), deadline: .now + .seconds(30)).header.revision
                // A repeated request may have been executed twice.
                var delivered: Int64 = 0
                while delivered < revision { delivered = try #require(await watch.nextEvents()).revision }
                #expect(delivered == revision)
            }
        }

        @Test("A request goes to another member if a server is not trusted")
        func untrusted() async throws {
            let cluster = try await cluster(members: 1)
            let port = try #require(cluster.ports.first)
            // No TLS there.
            let other = try LoopbackServer { _, peer in peer.send("HTTP/1.1 400 Bad Request\r\n\r\n") }
            let client = try client([other.endpoint.description, "localhost:\(port)"], tls())
            _ = try await client.call(put(1), deadline: .now + .seconds(30))
        }

        @Test("A member that is not trusted is refused with the reason and the remedy")
        func reason() async throws {
            let cluster = try await cluster(members: 1)
            let client = try client(cluster.endpoints, tls(trusting: .stranger))
            let error = await #expect(throws: ConnectionError.self) { try await openWatch(client) }
            let text = error?.description ?? ""
            #expect(text.contains("The certificate of \(cluster.endpoints[0]) is not trusted: "))
            #expect(text.contains("Name the authority that issued it in the configuration's authorities"))
        }

        /// One attempt to begin a watch, which is not repeated as that of a request.
        private func openWatch(_ client: EtcdClient) async throws {
            _ = try await client.watch(WatchRequest(key: [1]), deadline: .now + .seconds(30))
        }

        @Test("A client uses a certificate from the moment in which it is renewed")
        func renewed() async throws {
            let cluster = try await cluster(members: 1)
            let folder = try TemporaryFolder()
            let identity = TLSConfiguration.Identity(
                certificate: .file(folder.path("client.crt")), key: .file(folder.path("client.key")))
            var tls = tls()
            tls.identity = identity
            try install(.stranger, in: folder)
            let client = try client(cluster.endpoints, tls)
            await #expect(throws: ConnectionError.self) { try await openWatch(client) }
            try install(.client, in: folder)
            _ = try await client.call(put(2), deadline: .now + .seconds(30))
        }

        @Test("While the file of a certificate hangs, the client goes on, so that the time limits of its calls hold")
        func hangingFile() async throws {
            let cluster = try await cluster(members: 1)
            let reads = AsyncStream.makeStream(of: Void.self)
            let isHanging = Lock(false)
            let release = DispatchSemaphore(value: 0)
            let configuration = EtcdConfiguration(
                endpoints: cluster.endpoints, prefix: "", tls: tls(), requestTimeout: .seconds(300), connectTimeout: .seconds(300))
            let client = try EtcdClient(configuration) { path in
                if isHanging.exchange(false) {
                    reads.continuation.yield()
                    release.wait()
                }
                return try Data(contentsOf: URL(fileURLWithPath: path))
            }
            isHanging.exchange(true)
            let request = try put(3)
            let call = Task { try await client.call(request, deadline: .now + .seconds(300)) }
            var hanging = reads.stream.makeAsyncIterator()
            await hanging.next()
            #expect(await client.members.count == 1)
            release.signal()
            _ = try await call.value
        }

        private func install(_ name: TestCertificates.Name, in folder: TemporaryFolder) throws {
            for (source, target) in [(certificates.certificate(name), "client.crt"), (certificates.key(name), "client.key")] {
                try Data(contentsOf: URL(fileURLWithPath: source)).write(to: folder.file(target), options: .atomic)
            }
        }
    }
#endif
