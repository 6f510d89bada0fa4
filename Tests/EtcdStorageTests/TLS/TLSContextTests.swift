#if os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport
    import Testing

    @testable import EtcdStorage

    // Needs the command openssl: apt-get install openssl.
    @Suite("TLS configurations", .needsTLS, .timeLimit(.minutes(10)))
    struct TLSContextTests {
        private let certificates: TestCertificates

        init() async throws {
            certificates = try await TestCertificates.shared()
        }

        private func description(_ configuration: TLSConfiguration) -> String? {
            #expect(throws: StorageError.self) { try TLSContext(configuration) }?.description
        }

        private func trusting(_ text: String) -> TLSConfiguration {
            TLSConfiguration(authorities: .certificates(.bytes(Array(text.utf8))))
        }

        private func identity(_ certificate: TestCertificates.Name, key: String) -> TLSConfiguration {
            TLSConfiguration(identity: .init(certificate: .file(certificates.certificate(certificate)), key: .file(key)))
        }

        @Test("Certificates are files or bytes, and several authorities may be in one")
        func forms() throws {
            let bytes = try certificates.bytes(.stranger) + certificates.bytes(.authority)
            let context = try TLSContext(TLSConfiguration(authorities: .certificates(.bytes(bytes))))
            let client = try TLSSession(context, host: "localhost", port: 1)
            try client.exchange(with: TLSTestServer(certificates))
            #expect(client.isReady)
        }

        @Test("Each connection reads the files again, so that renewed ones are used")
        func renewed() async throws {
            let folder = try TemporaryFolder()
            let file = folder.path("authority.crt")
            try write(.client, to: file)
            let context = try TLSContext(TLSConfiguration(authorities: .certificates(.file(file))))
            for (name, isTrusted) in [(TestCertificates.Name.stranger, false), (.authority, true)] {
                try write(name, to: file)
                let client = try TLSSession(await context.current(), host: "localhost", port: 1)
                let result = Result { try client.exchange(with: TLSTestServer(certificates)) }
                #expect(client.isReady == isTrusted, "\(result)")
            }
        }

        private func write(_ name: TestCertificates.Name, to file: String) throws {
            try certificates.bytes(name).withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: file)) }
        }

        @Test("A missing file is named")
        func missingFile() {
            let text = description(TLSConfiguration(authorities: .certificates(.file("/nowhere/ca.crt"))))
            #expect(text?.hasPrefix("/nowhere/ca.crt: cannot be read: ") == true)
            #expect(text?.hasSuffix("; check the path and its permissions") == true)
        }

        @Test("Bytes without a certificate are refused", arguments: ["", "certificate", "-----BEGIN CERTIFICATE-----\n"])
        func noCertificate(text: String) {
            #expect(description(trusting(text))?.hasSuffix("; give certificates in PEM format") == true)
        }

        @Test("A broken certificate is refused, also after a good one")
        func brokenCertificate() throws {
            let good = try String(contentsOfFile: certificates.certificate(.authority), encoding: .utf8)
            let broken = good.replacingOccurrences(of: "MI", with: "!!")
            #expect(description(trusting(broken)) == description(trusting(good + broken)))
        }

        @Test("A key that belongs to another certificate is refused, with the names of both")
        func mismatch() {
            let key = certificates.key(.server)
            #expect(
                description(identity(.client, key: key)) == """
                    \(key): cannot be used: key values mismatch; give the private key of \(certificates.certificate(.client))
                    """)
        }

        @Test("A key with a password is refused without asking for it on the terminal")
        func lockedKey() {
            let text = description(identity(.client, key: certificates.lockedKey))
            #expect(text?.hasSuffix("; give a private key in PEM format without a password") == true)
        }

        @Test("A certificate is no key")
        func noKey() {
            let text = description(identity(.client, key: certificates.certificate(.client)))
            #expect(text?.hasSuffix("; give a private key in PEM format without a password") == true)
        }
    }

    @Suite("Systems without OpenSSL", .timeLimit(.minutes(10)))
    struct OpenSSLLibraryTests {
        @Test("Where there is no OpenSSL, the error says what is missing and what to install")
        func missing() throws {
            let error = try #require(throws: StorageError.self) { try OpenSSL.open(["libssl-missing.so.9"]) }
            #expect(error.description.contains("libssl-missing.so.9"))
            #expect(error.description.contains("install its package openssl, version 3 or 1.1.1"))
        }

        @Test("A library that is no OpenSSL, or too old, is an error that names the function it lacks")
        func foreign() throws {
            let library = try OpenSSL.open(["libc.so.6"])
            let error = try #require(throws: StorageError.self) {
                let _: @convention(c) () -> Void = try OpenSSL.function("OPENSSL_init_ssl", in: library)
            }
            #expect(error.description.contains("OpenSSL: cannot be used: it has no function OPENSSL_init_ssl; install version 3 or 1.1.1"))
        }
    }
#endif
