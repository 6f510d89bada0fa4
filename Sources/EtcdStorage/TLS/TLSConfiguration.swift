/// How connections to etcd are encrypted, which servers they trust, and how the client authenticates itself.
///
/// Servers need TLS 1.2 or later, HTTP/2 (ALPN), and a certificate for the host name or address of the endpoint. The files are read for
/// each connection, so that renewed certificates need no restart. Linux only: it uses the OpenSSL of the system, version 3 or 1.1.1.
public struct TLSConfiguration: Sendable, Hashable {
    /// Certificates or a private key in PEM format: base64 between lines `-----BEGIN` and `-----END`.
    public enum PEM: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// A file with this path.
        case file(String)
        /// The content of such a file.
        case bytes([UInt8])

        /// The path, or the number of bytes without their content, which may be a private key.
        public var description: String {
            switch self {
            case .file(let path): "file \(path)"
            case .bytes(let bytes): "\(bytes.count) bytes"
            }
        }

        /// An empty mirror, so that `dump(_:)` prints only the description.
        public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .enum) }
    }

    /// The trusted certificate authorities.
    public enum Authorities: Sendable, Hashable {
        /// Those that the system trusts.
        case system
        /// Only these, such as the cluster's own authority.
        case certificates(PEM)
    }

    /// A client certificate with its private key, which servers with `--client-cert-auth` require.
    public struct Identity: Sendable, Hashable {
        /// The certificate, followed by intermediate certificates if there are any.
        public var certificate: PEM
        /// The private key, without a password.
        public var key: PEM

        /// Combines a certificate with its key.
        public init(certificate: PEM, key: PEM) {
            (self.certificate, self.key) = (certificate, key)
        }
    }

    /// The trusted certificate authorities.
    public var authorities: Authorities
    /// The client certificate, if servers require one.
    public var identity: Identity?
    /// The host name or address in the servers' certificates; nil for that of each endpoint.
    public var serverName: String?

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - authorities: the trusted certificate authorities.
    ///   - identity: the client certificate, if servers require one.
    ///   - serverName: the host name or address in the servers' certificates, if it is not that of the endpoints.
    public init(authorities: Authorities = .system, identity: Identity? = nil, serverName: String? = nil) {
        (self.authorities, self.identity, self.serverName) = (authorities, identity, serverName)
    }
}
