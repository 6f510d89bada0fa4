#if os(Linux)
    import ObservableStorage
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs the command openssl: apt-get install openssl.
    @Suite("Trust between clients and servers", .needsTLS, .timeLimit(.minutes(10)))
    struct TLSTrustTests {
        private let certificates: TestCertificates

        init() async throws {
            certificates = try await TestCertificates.shared()
        }

        /// The result of a handshake.
        private func connect(
            to host: String = "localhost", name: String? = nil, trusting authority: TestCertificates.Name = .authority,
            as identity: TestCertificates.Name? = nil, _ options: TLSTestServer.Options = TLSTestServer.Options()
        ) throws -> TLSSession {
            var configuration = TLSConfiguration(
                authorities: .certificates(.file(certificates.certificate(authority))), serverName: name)
            if let identity {
                configuration.identity = .init(
                    certificate: .file(certificates.certificate(identity)), key: .file(certificates.key(identity)))
            }
            let client = try TLSSession(TLSContext(configuration), host: host, port: 2379)
            try client.exchange(with: TLSTestServer(certificates, options))
            return client
        }

        private func isUntrusted(_ error: any Error, code: Int) -> Bool {
            if case .untrusted(_, _, code, _)? = error as? TLSError { true } else { false }
        }

        @Test("A certificate is for its names and addresses", arguments: ["localhost", "a.etcd.test", "127.0.0.1", "::1"])
        func names(host: String) throws {
            #expect(try connect(to: host).isReady)
        }

        @Test(
            "A certificate is not for other names, nor for its subject",
            arguments: ["example.org", "subject.test", "a.b.etcd.test", "etcd.test", "www.partial.test", "localhost.example.org"])
        func otherNames(host: String) {
            let error = #expect(throws: TLSError.self) { try connect(to: host) }
            #expect(
                error?.description == """
                    The certificate of \(host):2379 is not trusted: hostname mismatch. Issue it for \(host), or set serverName to a name \
                    that is in it.
                    """)
        }

        @Test("A certificate without names is for none, although its subject is the name of the host")
        func subjectOnly() {
            #expect { try connect(TLSTestServer.Options(certificate: .subject)) } throws: { isUntrusted($0, code: 62) }
        }

        @Test("A certificate is not for other addresses", arguments: ["127.0.0.2", "::2"])
        func otherAddresses(host: String) {
            #expect { try connect(to: host) } throws: { isUntrusted($0, code: 64) }
        }

        @Test("A server's name replaces that of the endpoint")
        func serverName() throws {
            #expect(try connect(to: "10.0.0.1", name: "b.etcd.test").isReady)
            #expect { try connect(to: "localhost", name: "example.org") } throws: { isUntrusted($0, code: 62) }
        }

        @Test("What is no name is refused before anything is sent", arguments: ["", "localhost\0.example.org"])
        func invalidNames(name: String) {
            let error = #expect(throws: StorageError.self) { try connect(to: name) }
            #expect(error?.description.contains("it is not a host name") == true)
        }

        @Test("A server of an unknown authority is refused, also among the system's")
        func unknownAuthority() throws {
            let error = #expect(throws: TLSError.self) { try connect(trusting: .stranger) }
            #expect(error?.description.hasSuffix("Name the authority that issued it in the configuration's authorities.") == true)
            let client = try TLSSession(TLSContext(TLSConfiguration()), host: "localhost", port: 2379)
            #expect { try client.exchange(with: TLSTestServer(certificates)) } throws: { isUntrusted($0, code: 20) }
            // The server gets an alert, and no request.
            #expect(client.takePendingOutput().first == 21)
            #expect(!client.isReady)
        }

        @Test("An expired certificate is refused")
        func expired() {
            let error = #expect(throws: TLSError.self) { try connect(TLSTestServer.Options(certificate: .expired)) }
            #expect(
                error?.description == """
                    The certificate of localhost:2379 is not trusted: certificate has expired. Renew the certificate, and check this \
                    machine's clock.
                    """)
        }

        @Test("A client proves its identity, also by an intermediate certificate", arguments: [TestCertificates.Name.client, .chain])
        func identity(name: TestCertificates.Name) throws {
            #expect(try connect(as: name, TLSTestServer.Options(demandsClientCertificate: true)).isReady)
        }

        @Test("A server refuses a client without a certificate that it can verify, and the error says so", arguments: [0x0303, 0x0304])
        func refused(version: Int) {
            let demanding = TLSTestServer.Options(version: version, demandsClientCertificate: true)
            for identity in [nil, TestCertificates.Name.leaf, .stranger] {
                let error = #expect(throws: TLSError.self) { try connect(as: identity, demanding) }
                #expect(error?.description.contains("set the configuration's identity") == true, "\(String(describing: error))")
            }
        }

        @Test("A server that speaks only TLS 1.1, or none, is refused")
        func noTLS() throws {
            #expect(throws: TLSError.self) { try connect(TLSTestServer.Options(version: 0x0302)) }
            let context = try TLSContext(TLSConfiguration())
            let client = try TLSSession(context, host: "localhost", port: 2379)
            let error = #expect(throws: TLSError.self) { try client.received(Array("HTTP/1.0 400 Bad Request\r\n\r\n".utf8)) }
            #expect(error?.description.hasSuffix("Check that the server uses TLS 1.2 or later on this port.") == true)
        }
    }
#endif
