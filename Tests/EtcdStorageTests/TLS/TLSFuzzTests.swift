#if os(Linux)
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs the command openssl: apt-get install openssl.
    @Suite("TLS sessions with changed bytes", .needsTLS, .timeLimit(.minutes(10)))
    struct TLSFuzzTests {
        private static let seeds = (0..<4).map { firstSeed + UInt64($0) }
        private static let count = isLong ? 2500 : 100

        private let context: TLSContext
        private let servers: [TLSTestServer.Context]
        private let content = (0..<100).map { UInt8($0) }

        init() async throws {
            let certificates = try await TestCertificates.shared()
            context = try TLSContext(TLSConfiguration(authorities: .certificates(.bytes(certificates.bytes(.authority)))))
            servers = try [0x0303, 0x0304].map {
                try TLSTestServer.Context(certificates, TLSTestServer.Options(version: $0))
            }
        }

        /// Changes a byte, or removes, repeats, exchanges or adds some.
        private func changed(_ bytes: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
            var bytes = bytes
            let start = Int.random(in: 0..<bytes.count, using: &generator)
            let range = start..<min(bytes.count, start + Int.random(in: 1...40, using: &generator))
            let noise = (0..<Int.random(in: 1...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[start] ^= UInt8.random(in: 1...255, using: &generator)
            case 1: bytes.removeSubrange(range)
            case 2: bytes.insert(contentsOf: bytes[range], at: start)
            case 3: bytes.replaceSubrange(range, with: noise)
            default: bytes.insert(contentsOf: noise, at: start)
            }
            return bytes
        }

        @Test("A changed handshake fails, or leads to a session that works", arguments: seeds)
        func handshakes(seed: UInt64) async throws {
            var generator = SeededGenerator(seed: seed)
            for round in 0..<Self.count {
                // Other tests have deadlines.
                await Task.yield()
                let client = try TLSSession(context, host: "localhost", port: 1)
                let server = TLSTestServer(servers[round % 2])
                _ = try server.received(client.takePendingOutput())
                let flight = changed(server.takeOutput(), &generator)
                do {
                    _ = try client.received(flight)
                    try client.exchange(with: server)
                } catch {
                    #expect(error is TLSError && !client.isReady)
                    continue
                }
                guard client.isReady else { continue }
                #expect(try client.received(server.send(content)) == content)
            }
        }

        @Test("Changed records give no other content", arguments: seeds)
        func records(seed: UInt64) async throws {
            var generator = SeededGenerator(seed: seed)
            for round in 0..<Self.count {
                // Other tests have deadlines.
                await Task.yield()
                let client = try TLSSession(context, host: "localhost", port: 1)
                let server = TLSTestServer(servers[round % 2])
                try client.exchange(with: server)
                let wire = server.send(content) + server.send(content)
                do {
                    let received = try client.received(changed(wire, &generator))
                    #expect((content + content).starts(with: received))
                } catch {
                    #expect(!client.isReady)
                }
            }
        }
    }
#endif
