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
        ) async throws -> HTTPConnection {
            let endpoint = HTTPEndpoint(host: host, port: UInt16(cluster.ports[0]))
            let context = try TLSContext(configuration)
            return try await .open(endpoint, deadline: .now + .seconds(30)) {
                try TLSSession(context, host: endpoint.host, port: endpoint.port)
            }
        }

        private func request(_ path: String, _ json: String) -> HTTPRequest {
            HTTPRequest(path: path, body: .complete(Array(json.utf8)))
        }

        @Test("A client with a certificate sends requests on one connection, and large ones")
        func requests() async throws {
            let cluster = try await cluster()
            let connection = try await connection(to: cluster, configuration(as: .chain))
            let value = String(repeating: "abcd", count: 250_000)
            let put = try await connection.send(
                request("/v3/kv/put", #"{"key":"YQ==","value":"\#(value)"}"#), deadline: .now + .seconds(30))
            #expect(put.status == 200)
            for _ in 0..<3 {
                let range = try await connection.send(request("/v3/kv/range", #"{"key":"YQ=="}"#), deadline: .now + .seconds(30))
                let isWhole = String(decoding: range.body, as: UTF8.self).contains(value)
                #expect(range.status == 200 && isWhole)
                #expect(connection.isReusable)
            }
        }

        @Test("A watch receives events while its request stays open")
        func watch() async throws {
            let cluster = try await cluster()
            let configuration = configuration(as: .client)
            let watcher = try await connection(to: cluster, configuration)
            let create = #"{"create_request":{"key":"YQ=="}}"#
            let stream = try await watcher.stream(
                HTTPRequest(path: "/v3/watch", body: .open(first: Array(create.utf8))), deadline: .now + .seconds(30))
            #expect(try await text(of: stream, until: #""created":true"#))
            let writer = try await connection(to: cluster, host: "127.0.0.1", configuration)
            _ = try await writer.send(request("/v3/kv/put", #"{"key":"YQ==","value":"Yg=="}"#), deadline: .now + .seconds(30))
            #expect(try await text(of: stream, until: #""value":"Yg==""#))
            try await stream.write(Array(#"{"progress_request":{}}"#.utf8))
            #expect(try await text(of: stream, until: #""watch_id":"-1""#))
            stream.close()
        }

        @Test(
            "The server refuses a client without its authority's certificate, and the error says what to do", arguments: [nil, "stranger"])
        func refused(name: String?) async throws {
            let cluster = try await cluster()
            let configuration = configuration(as: name.flatMap(TestCertificates.Name.init))
            let error = await #expect(throws: HTTPError.self) {
                // In TLS 1.3 the server refuses after the client's handshake, when it may have received the request.
                let connection = try await connection(to: cluster, configuration)
                _ = try await connection.send(request("/v3/kv/range", #"{"key":"YQ=="}"#), deadline: .now + .seconds(30))
            }
            #expect(error?.description.contains("set the configuration's identity") == true, "\(String(describing: error))")
        }

        @Test("A client refuses a server by another name before it sends a request")
        func otherName() async throws {
            let cluster = try await cluster()
            var configuration = configuration(as: .client)
            configuration.serverName = "example.org"
            let error = await #expect(throws: HTTPError.self) { _ = try await connection(to: cluster, configuration) }
            #expect(error?.delivery == .nothingSent)
            #expect(error?.description.contains("hostname mismatch") == true, "\(String(describing: error))")
        }

        @Test("A killed server is noticed")
        func killed() async throws {
            let cluster = try await cluster()
            let configuration = configuration(as: .client)
            let connection = try await connection(to: cluster, configuration)
            let stream = try await connection.stream(
                HTTPRequest(path: "/v3/watch", body: .open(first: Array(#"{"create_request":{"key":"YQ=="}}"#.utf8))),
                deadline: .now + .seconds(30))
            try await cluster.kill(0)
            await #expect(throws: HTTPError.self) {
                while try await stream.next(deadline: .now + .seconds(30)) != nil {}
            }
        }

        private func text(of stream: HTTPStream, until part: String) async throws -> Bool {
            var text = ""
            while !text.contains(part), let bytes = try await stream.next(deadline: .now + .seconds(30)) {
                text += String(decoding: bytes, as: UTF8.self)
            }
            return text.contains(part)
        }
    }
#endif
