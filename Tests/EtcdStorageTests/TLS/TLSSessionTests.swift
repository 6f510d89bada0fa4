#if os(Linux)
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs the command openssl: apt-get install openssl.
    @Suite("TLS sessions", .needsTLS, .timeLimit(.minutes(10)))
    struct TLSSessionTests {
        private static let versions = [0x0303, 0x0304]
        private static let protocols = [TLSTestServer.Selection.http1, .nothing]

        private let certificates: TestCertificates
        private let context: TLSContext

        init() async throws {
            certificates = try await TestCertificates.shared()
            context = try TLSContext(TLSConfiguration(authorities: .certificates(.bytes(certificates.bytes(.authority)))))
        }

        private func server(_ version: Int? = nil) throws -> TLSTestServer {
            try TLSTestServer(certificates, TLSTestServer.Options(version: version))
        }

        private func client(_ host: String = "localhost") throws -> TLSSession {
            try TLSSession(context, host: host, port: 2379)
        }

        private func content(_ count: Int) -> [UInt8] {
            var bytes = (0..<251).map { UInt8($0) }
            while bytes.count < count { bytes += bytes }
            return Array(bytes[..<count])
        }

        @Test("After the handshake both sides exchange a megabyte unchanged", arguments: versions)
        func exchange(version: Int) throws {
            let (client, server) = try (client(), server(version))
            #expect(!client.isReady)
            try client.exchange(with: server)
            #expect(client.isReady)
            let content = content(1 << 20)
            // Compared here: an expectation describes its operands, which takes seconds for so many.
            let isSame = try [server.received(client.send(content)) == content, client.received(server.send(content)) == content]
            #expect(isSame == [true, true])
        }

        @Test("Bytes may arrive in parts of any size", arguments: versions)
        func splits(version: Int) async throws {
            let context = try TLSTestServer.Context(certificates, TLSTestServer.Options(version: version))
            var split = 0
            while true {
                // Other tests have deadlines.
                await Task.yield()
                let (client, server) = try (client(), TLSTestServer(context))
                _ = try server.received(client.takePendingOutput())
                let flight = server.takeOutput()
                guard split < flight.count else { break }
                _ = try client.received(Array(flight[..<split]))
                #expect(!client.isReady)
                _ = try client.received(Array(flight[split...]))
                try client.exchange(with: server)
                #expect(client.isReady)
                let wire = server.send(Array("content".utf8))
                let index = split % wire.count
                let parts = try client.received(Array(wire[..<index])) + client.received(Array(wire[index...]))
                #expect(parts == Array("content".utf8))
                split += 1
            }
            #expect(split > 500)
        }

        @Test("Bytes may arrive one by one")
        func oneByOne() throws {
            let (client, server) = try (client(), server())
            var received: [UInt8] = []
            for _ in 0..<3 {
                _ = try server.received(client.takePendingOutput())
                for byte in server.takeOutput() { received += try client.received([byte]) }
            }
            #expect(client.isReady)
            for byte in server.send(content(1000)) { received += try client.received([byte]) }
            #expect(received == content(1000))
        }

        @Test("The server learns the requested name, and that the client speaks HTTP/2")
        func requestedName() throws {
            let (client, server) = try (client(), server())
            let hello = client.takePendingOutput()
            #expect(String(decoding: hello, as: Unicode.ASCII.self).contains("\u{2}h2"))
            _ = try server.received(hello)
            _ = try client.received(server.takeOutput())
            try client.exchange(with: server)
            #expect(server.requestedName == "localhost")
        }

        @Test("A server that selects another protocol than HTTP/2, or none, is refused", arguments: versions, protocols)
        func otherProtocol(version: Int, selection: TLSTestServer.Selection) throws {
            let options = TLSTestServer.Options(version: version, selection: selection)
            let (client, server) = try (client(), TLSTestServer(certificates, options))
            let error = #expect(throws: TLSError.self) { try client.exchange(with: server) }
            #expect(!client.isReady)
            #expect(throws: TLSError.self) { try client.send([1]) }
            guard selection == .nothing else { return }
            #expect(error == .noHTTP2(peer: "localhost:2379", selected: nil))
            #expect(
                error?.description == """
                    localhost:2379 does not agree to speak HTTP/2 in the TLS handshake: it has selected no protocol. Check that etcd serves \
                    its clients on this port, and that a proxy before it selects "h2" (ALPN).
                    """)
        }

        @Test("Nothing of HTTP/2 is sent to a server that does not select it", arguments: versions, protocols)
        func noRequest(version: Int, selection: TLSTestServer.Selection) async throws {
            let options = TLSTestServer.Options(version: version, selection: selection)
            let contents = Recorder<[UInt8]>()
            let server = try LoopbackServer { [certificates] _, peer in
                guard let session = try? TLSTestServer(certificates, options) else { return }
                var content: [UInt8] = []
                while content.isEmpty, let bytes = peer.receive() {
                    content += (try? session.received(bytes)) ?? []
                    peer.send(session.takeOutput())
                }
                contents.record(content)
            }
            let error = await #expect(throws: ConnectionError.self) {
                _ = try await HTTP2Connection.open(server.endpoint, deadline: .distant) { [context] in
                    try TLSSession(context, host: "localhost", port: 2379)
                }
            }
            #expect(error?.mayHaveArrived == false)
            if case .filter? = error?.reason {} else { Issue.record("\(error as Any)") }
            #expect(try await contents.elements(count: 1) == [[]])
        }

        @Test("A server that closes the connection during the handshake, as a balancer without members, cannot be reached; others refuse")
        func closedDuringHandshake() async throws {
            for (answer, isRefusal) in [([], false), (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), true)] as [([UInt8], Bool)] {
                let server = try LoopbackServer { _, peer in
                    _ = peer.receive()
                    peer.send(answer)
                    peer.finish()
                    peer.receiveEnd()
                }
                let error = await #expect(throws: ConnectionError.self) {
                    _ = try await HTTP2Connection.open(server.endpoint, deadline: .distant) { [context] in
                        try TLSSession(context, host: "localhost", port: 2379)
                    }
                }
                #expect(error?.isRefusal == isRefusal)
                #expect(error?.description.contains("ended the connection during the TLS handshake") == !isRefusal)
            }
        }

        @Test("A connection whose TLS session the server has ended takes no request, although the server keeps it open")
        func endedSession() async throws {
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            let server = try LoopbackServer { [certificates] _, peer in
                guard let session = try? TLSTestServer(certificates) else { return }
                var content: [UInt8] = []
                while content.isEmpty, let bytes = peer.receive() {
                    content += (try? session.received(bytes)) ?? []
                    peer.send(session.takeOutput())
                }
                peer.send(session.send([HTTP2Frame.settings([:])].bytes))
                // The client has sent all of its beginning when it acknowledges them.
                if let bytes = peer.receive() { _ = try? session.received(bytes) }
                peer.send(session.close())
                end.yield()
                peer.receiveEnd()
            }
            let connection = try await HTTP2Connection.open(server.endpoint, deadline: .distant) { [context] in
                try TLSSession(context, host: "localhost", port: 2379)
            }
            for await _ in ends { break }
            let error = await #expect(throws: ConnectionError.self) {
                _ = try await connection.send(HTTPRequest(path: "/"), deadline: .now + .seconds(10))
            }
            #expect(error == ConnectionError(endpoint: server.endpoint, reason: .closedByPeer, mayHaveArrived: false))
        }

        @Test("No name is requested of an address")
        func noRequestedName() throws {
            let (client, server) = try (client("127.0.0.1"), server())
            try client.exchange(with: server)
            #expect(client.isReady)
            #expect(server.requestedName == nil)
        }

        @Test("The server's closing alert ends the session in order; what follows it is ignored", arguments: versions)
        func closedByPeer(version: Int) throws {
            let (client, server) = try (client(), server(version))
            try client.exchange(with: server)
            let last = server.send(content(10)) + server.close()
            #expect(try client.received(last + [1, 2, 3]) == content(10))
            #expect(client.isClosedByPeer)
            #expect(try client.received(content(10)) == [])
            try client.receivedEnd()
        }

        @Test("An end without a closing alert is an error")
        func truncated() throws {
            let (client, server) = try (client(), server())
            try client.exchange(with: server)
            #expect(throws: TLSError.truncated(peer: "localhost:2379", isReady: true)) { try client.receivedEnd() }
            #expect(throws: TLSError.truncated(peer: "localhost:2379", isReady: true)) { try client.received([1]) }
            let early = try self.client()
            #expect(throws: TLSError.truncated(peer: "localhost:2379", isReady: false)) { try early.receivedEnd() }
        }

        @Test("Closing sends an alert, after which nothing is sent or received", arguments: versions)
        func close(version: Int) throws {
            let (client, server) = try (client(), server(version))
            try client.exchange(with: server)
            let late = server.send(content(10))
            client.close()
            #expect(!client.takePendingOutput().isEmpty)
            #expect(!client.isReady)
            #expect(try client.send(content(10)) == [])
            #expect(try client.received(late) == [])
            try client.receivedEnd()
        }

        @Test("The server may change keys in the middle")
        func newKeys() throws {
            let (client, server) = try (client(), server(0x0304))
            try client.exchange(with: server)
            let wire = server.updateKeys() + server.send(content(10))
            #expect(try client.received(wire) == content(10))
            #expect(try server.received(client.send(content(20))) == content(20))
        }

        @Test("A new handshake in the same session is refused")
        func renegotiation() throws {
            let (client, server) = try (client(), server(0x0303))
            try client.exchange(with: server)
            let request = server.renegotiate()
            #expect(!request.isEmpty)
            _ = try client.received(request)
            // Records of the handshake have the type 22, alerts 21.
            #expect(client.takePendingOutput().first == 21)
        }
    }
#endif
