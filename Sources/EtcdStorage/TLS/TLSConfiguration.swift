/// How connections to etcd are encrypted, whom they trust, and how they identify themselves.
///
/// Servers need TLS 1.2 or later, HTTP/2 (ALPN), and a certificate for the host name or address of the endpoint. The files are read for
/// each connection, so that renewed certificates need no restart. Linux only: it uses the OpenSSL of the system, version 3 or 1.1.1.
public struct TLSConfiguration: Sendable, Hashable {
    /// Certificates or a private key in the PEM format: base64 between lines `-----BEGIN` and `-----END`.
    public enum PEM: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// A file with this path.
        case file(String)
        /// The content of such a file.
        case bytes([UInt8])

        /// The path, or the number of bytes, which may be those of a private key.
        public var description: String {
            switch self {
            case .file(let path): "file \(path)"
            case .bytes(let bytes): "\(bytes.count) bytes"
            }
        }

        /// Nothing but the description, as `dump(_:)` prints it.
        public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .enum) }
    }

    /// The authorities whose certificates are trusted.
    public enum Authorities: Sendable, Hashable {
        /// Those that the system trusts.
        case system
        /// Only these: mostly the one authority of the etcd cluster.
        case certificates(PEM)
    }

    /// A client's certificate with its private key, which servers with `--client-cert-auth` demand.
    public struct Identity: Sendable, Hashable {
        /// The certificate, followed by intermediate ones if there are any.
        public var certificate: PEM
        /// The private key, without a password.
        public var key: PEM

        /// Combines a certificate with its key.
        public init(certificate: PEM, key: PEM) {
            (self.certificate, self.key) = (certificate, key)
        }
    }

    /// The authorities whose certificates are trusted.
    public var authorities: Authorities
    /// The client's certificate, if servers demand one.
    public var identity: Identity?
    /// The host name or address that the servers' certificates have to be for; nil for that of each endpoint.
    public var serverName: String?

    /// Encrypts connections.
    ///
    /// - Parameters:
    ///   - authorities: the authorities whose certificates are trusted.
    ///   - identity: the client's certificate, if servers demand one.
    ///   - serverName: the name in the servers' certificates, where it is not that of the endpoints.
    public init(authorities: Authorities = .system, identity: Identity? = nil, serverName: String? = nil) {
        (self.authorities, self.identity, self.serverName) = (authorities, identity, serverName)
    }
}
