#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import EtcdStorage

    extension Trait where Self == ConditionTrait {
        /// Skips suites where OpenSSL or its command is not installed, and says so.
        static var needsTLS: Self {
            .enabled("OpenSSL's library or command is not installed: apt-get install openssl") {
                guard (try? OpenSSL.shared.get()) != nil else { return false }
                return isInstalled("openssl")
            }
        }
    }

    /// The server's side of a TLS connection in memory.
    final class TLSTestServer {
        /// A failed call, with OpenSSL's reason.
        struct Failed: Error {
            let reason: String
        }

        /// What a server does differently from the default.
        struct Options {
            var certificate = TestCertificates.Name.server
            /// The only version it speaks, such as 0x0303 for TLS 1.2.
            var version: Int?
            var demandsClientCertificate = false
            var selection = Selection.http2
        }

        /// Which protocol a server selects, whatever the client offers (ALPN).
        enum Selection {
            case http2, http1, nothing

            // The number of bytes and the name, as OpenSSL refers to it.
            nonisolated(unsafe) private static let names = ["h2", "http/1.1"].map { name in
                let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.utf8.count + 1)
                _ = bytes.initialize(from: [UInt8(name.utf8.count)] + name.utf8)
                return UnsafeMutableRawPointer(bytes.baseAddress!)
            }

            fileprivate var name: UnsafeMutableRawPointer? {
                switch self {
                case .http2: Self.names[0]
                case .http1: Self.names[1]
                case .nothing: nil
                }
            }
        }

        /// What several servers share: making it takes longer than a handshake.
        final class Context {
            fileprivate let openSSL: OpenSSL
            fileprivate let functions: Functions
            fileprivate let pointer: OpaquePointer?

            init(_ certificates: TestCertificates, _ options: Options = Options()) throws {
                openSSL = try OpenSSL.shared.get()
                functions = try Functions(openSSL)
                pointer = openSSL.contextNew(functions.serverMethod())
                if let version = options.version {
                    // SSL_CTRL_SET_MIN_PROTO_VERSION and SSL_CTRL_SET_MAX_PROTO_VERSION.
                    for control: Int32 in [123, 124] { _ = openSSL.contextControl(pointer, control, version, nil) }
                }
                guard functions.useCertificateFile(pointer, certificates.certificate(options.certificate)) == 1,
                    functions.useKeyFile(pointer, certificates.key(options.certificate), 1) == 1
                else { throw Failed(reason: openSSL.takeErrorReason().text) }
                if let name = options.selection.name {
                    functions.setProtocolSelection(
                        pointer,
                        { _, selected, count, _, _, name in
                            guard let name else { return 3 }
                            count.pointee = name.load(as: UInt8.self)
                            selected.pointee = UnsafeRawPointer(name + 1).assumingMemoryBound(to: UInt8.self)
                            return 0
                        }, name)
                }
                if options.demandsClientCertificate {
                    _ = functions.loadVerifyLocations(pointer, certificates.certificate(.authority), nil)
                    // SSL_VERIFY_PEER and SSL_VERIFY_FAIL_IF_NO_PEER_CERT.
                    openSSL.contextSetVerify(pointer, 3, nil)
                }
            }

            deinit {
                openSSL.contextFree(pointer)
            }
        }

        private let openSSL: OpenSSL
        private let functions: Functions
        private let session: OpaquePointer?
        private let input: OpaquePointer?
        private let output: OpaquePointer?

        init(_ context: Context) {
            (openSSL, functions) = (context.openSSL, context.functions)
            session = openSSL.sessionNew(context.pointer)
            (input, output) = (openSSL.bufferNew(openSSL.memoryMethod()), openSSL.bufferNew(openSSL.memoryMethod()))
            openSSL.sessionSetBuffers(session, input, output)
            functions.setAcceptState(session)
        }

        convenience init(_ certificates: TestCertificates, _ options: Options = Options()) throws {
            self.init(try Context(certificates, options))
        }

        deinit {
            openSSL.sessionFree(session)
        }

        /// The bytes for the client.
        func takeOutput() -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: openSSL.bufferCount(output))
            if !bytes.isEmpty { _ = openSSL.bufferRead(output, &bytes, Int32(bytes.count)) }
            return bytes
        }

        /// Receives bytes of the client, and returns the content in them.
        func received(_ bytes: [UInt8]) throws -> [UInt8] {
            openSSL.clearErrors()
            if !bytes.isEmpty { _ = openSSL.bufferWrite(input, bytes, Int32(bytes.count)) }
            var content: [UInt8] = []
            var record = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = openSSL.sessionRead(session, &record, Int32(record.count))
                guard count > 0 else {
                    // SSL_ERROR_SSL.
                    if openSSL.sessionError(session, count) == 1 { throw Failed(reason: openSSL.takeErrorReason().text) }
                    return content
                }
                content += record[..<Int(count)]
            }
        }

        /// The bytes for some content.
        func send(_ content: [UInt8]) -> [UInt8] {
            _ = openSSL.sessionWrite(session, content, Int32(content.count))
            return takeOutput()
        }

        /// The closing alert.
        func close() -> [UInt8] {
            _ = openSSL.sessionShutDown(session)
            return takeOutput()
        }

        /// A wish for new keys in both directions, in TLS 1.3.
        func updateKeys() -> [UInt8] {
            _ = functions.updateKeys(session, 1)
            _ = openSSL.sessionHandshake(session)
            return takeOutput()
        }

        /// A wish for a new handshake, in TLS 1.2.
        func renegotiate() -> [UInt8] {
            _ = functions.renegotiate(session)
            _ = openSSL.sessionHandshake(session)
            return takeOutput()
        }

        /// The name that the client asked for.
        var requestedName: String? {
            functions.getServerName(session, 0).map { String(cString: $0) }
        }

        /// Selects a protocol: of a session, with the name, its length, what the client offers, and the argument of the context.
        fileprivate typealias ProtocolSelection =
            @convention(c) (
                OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>?, UInt32,
                UnsafeMutableRawPointer?
            ) -> Int32

        fileprivate struct Functions {
            let serverMethod: @convention(c) () -> OpaquePointer?
            let useCertificateFile: @convention(c) (OpaquePointer?, UnsafePointer<CChar>) -> Int32
            let useKeyFile: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, Int32) -> Int32
            let loadVerifyLocations: @convention(c) (OpaquePointer?, UnsafePointer<CChar>, UnsafePointer<CChar>?) -> Int32
            let setProtocolSelection: @convention(c) (OpaquePointer?, ProtocolSelection, UnsafeMutableRawPointer?) -> Void
            let setAcceptState: @convention(c) (OpaquePointer?) -> Void
            let updateKeys: @convention(c) (OpaquePointer?, Int32) -> Int32
            let renegotiate: @convention(c) (OpaquePointer?) -> Int32
            let getServerName: @convention(c) (OpaquePointer?, Int32) -> UnsafePointer<CChar>?

            init(_ library: OpenSSL) throws {
                func function<Function>(_ name: String) throws -> Function { try OpenSSL.function(name, in: library.handle) }
                serverMethod = try function("TLS_server_method")
                useCertificateFile = try function("SSL_CTX_use_certificate_chain_file")
                useKeyFile = try function("SSL_CTX_use_PrivateKey_file")
                loadVerifyLocations = try function("SSL_CTX_load_verify_locations")
                setProtocolSelection = try function("SSL_CTX_set_alpn_select_cb")
                setAcceptState = try function("SSL_set_accept_state")
                updateKeys = try function("SSL_key_update")
                renegotiate = try function("SSL_renegotiate")
                getServerName = try function("SSL_get_servername")
            }
        }
    }

    extension TLSSession {
        /// Passes bytes between both sides until none of them has more to say, and returns what the client's side received.
        @discardableResult
        func exchange(with server: TLSTestServer) throws -> [UInt8] {
            var content: [UInt8] = []
            while true {
                let sent = takePendingOutput()
                do {
                    _ = try server.received(sent)
                } catch is TLSTestServer.Failed {
                    // The client learns of it by an alert.
                }
                let answer = server.takeOutput()
                if sent.isEmpty && answer.isEmpty { return content }
                content += try received(answer)
            }
        }
    }
#endif
