#if os(Linux)
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs etcd and the command openssl: apt-get install etcd-server openssl.
    @Suite("etcd over TLS", .needsEtcd, .needsTLS, .servers(1), .timeLimit(.minutes(10)))
    struct EtcdTLSTests {
        private let certificates: TestCertificates

        init() async throws {
            certificates = try await TestCertificates.shared()
        }

        private func cluster() async throws -> EtcdCluster {
            try await EtcdCluster.start(
                certificates: EtcdCluster.Certificates(
                    certificate: certificates.certificate(.server), key: certificates.key(.server),
                    clientAuthority: certificates.certificate(.authority)))
        }

        private func configuration(as identity: TestCertificates.Name?) -> TLSConfiguration {
            var configuration = TLSConfiguration(authorities: .certificates(.file(certificates.certificate(.authority))))
            if let identity {
                configuration.identity = .init(
                    certificate: .file(certificates.certificate(identity)), key: .file(certificates.key(identity)))
            }
            return configuration
        }

        private func connection(
            to cluster: EtcdCluster, host: String = "localhost", _ configuration: TLSConfiguration
        ) async throws -> HTTP2Connection {
            let endpoint = Endpoint(host: host, port: UInt16(cluster.ports[0]))
            let context = try TLSContext(configuration)
            return try await .open(endpoint, deadline: .now + .seconds(30)) {
                try TLSSession(context, host: endpoint.host, port: endpoint.port)
            }
        }

        private func send<Request: EtcdRequest>(_ request: Request, on connection: HTTP2Connection) async throws -> Request.Response {
            let call = HTTPRequest(calling: request.path, request.message, token: nil)
            return try Request.Response(of: try await connection.send(call, deadline: .now + .seconds(30)))
        }

        private func watch(_ key: [UInt8], on connection: HTTP2Connection) async throws -> HTTP2Stream {
            let create = WatchRequest(key: key)
            let call = HTTPRequest(calling: WatchRequest.path, create.message, token: nil)
            return try await connection.stream(call, deadline: .now + .seconds(30))
        }

        @Test("A client with a certificate sends requests on one connection, and large ones")
        func requests() async throws {
            let cluster = try await cluster()
            let connection = try await connection(to: cluster, configuration(as: .chain))
            let value = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
            _ = try await send(PutRequest(key: [1], value: value), on: connection)
            for _ in 0..<3 {
                let isWhole = try await send(RangeRequest(key: [1]), on: connection).keyValues.map(\.value) == [value]
                #expect(isWhole)
                #expect(connection.isUsable)
            }
        }

        @Test("A watch receives events while its request stays open, and other requests are sent on its connection")
        func watch() async throws {
            let cluster = try await cluster()
            let connection = try await connection(to: cluster, configuration(as: .client))
            let stream = try await watch([1], on: connection)
            #expect(try await next(of: stream).isCreated)
            let other = try await self.connection(to: cluster, host: "127.0.0.1", configuration(as: .client))
            for writer in [other, connection] {
                _ = try await send(PutRequest(key: [1], value: [2]), on: writer)
                #expect(try await next(of: stream).events.map(\.keyValue.value) == [[2]])
            }
            try await stream.requestProgress()
            let progress = try await next(of: stream)
            #expect(progress.isProgress)
            stream.close()
        }

        @Test(
            "The server refuses a client without its authority's certificate, and the error says what to do", arguments: [nil, "stranger"])
        func refused(name: String?) async throws {
            let cluster = try await cluster()
            let configuration = configuration(as: name.flatMap(TestCertificates.Name.init))
            let error = await #expect(throws: ConnectionError.self) {
                // In TLS 1.3 the server refuses after the client's handshake, when it may have received the request.
                let connection = try await connection(to: cluster, configuration)
                _ = try await send(RangeRequest(key: [1]), on: connection)
            }
            #expect(error?.description.contains("set the configuration's identity") == true, "\(String(describing: error))")
        }

        @Test("A client refuses a server by another name before it sends a request")
        func otherName() async throws {
            let cluster = try await cluster()
            var configuration = configuration(as: .client)
            configuration.serverName = "example.org"
            let error = await #expect(throws: ConnectionError.self) { _ = try await connection(to: cluster, configuration) }
            #expect(error?.mayHaveArrived == false)
            #expect(error?.description.contains("hostname mismatch") == true, "\(String(describing: error))")
        }

        @Test("A killed server is noticed")
        func killed() async throws {
            let cluster = try await cluster()
            let stream = try await watch([1], on: connection(to: cluster, configuration(as: .client)))
            try await cluster.kill(0)
            await #expect(throws: ConnectionError.self) {
                while true { _ = try await next(of: stream) }
            }
        }

        /// The next message.
        private func next(of stream: HTTP2Stream) async throws -> WatchResponse {
            var splitter = GRPCMessageSplitter()
            while true {
                if let response = try await stream.next(&splitter, deadline: .now + .seconds(30)) { return response }
            }
        }
    }
#endif
