import PropertyListCoding

/// The failure of a TLS session; its description contains the reason and the remedy.
enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's certificate could not be verified.
    case untrusted(peer: String, name: String, code: Int, reason: String)
    /// The server ended the session with an alert; `code` is that of RFC 8446.
    case refused(peer: String, code: Int, reason: String)
    /// The server's bytes are not TLS, were modified, or use something unsupported.
    case malformed(peer: String, reason: String)
    /// The server has not selected HTTP/2 in the handshake (ALPN), but another protocol or none; no request was sent to it.
    case noHTTP2(peer: String, selected: String?)
    /// The connection ended without a closing alert of TLS: data may be missing.
    case truncated(peer: String, isReady: Bool)

    var description: String {
        switch self {
        case .untrusted(let peer, let name, let code, let reason):
            "The certificate of \(peer) is not trusted: \(reason). \(Self.remedy(forVerification: code, name: name))."
        case .refused(let peer, let code, let reason):
            "\(peer) refused the TLS session: \(reason). \(Self.remedy(forAlert: code))."
        case .malformed(let peer, let reason):
            "The TLS session with \(peer) failed: \(reason). Check that the server uses TLS 1.2 or later on this port."
        case .noHTTP2(let peer, let selected):
            """
            \(peer) does not agree to speak HTTP/2 in the TLS handshake: it has selected \(selected?.quoted ?? "no protocol"). \
            Check that etcd serves its clients on this port, and that a proxy before it selects "h2" (ALPN).
            """
        case .truncated(let peer, true):
            "\(peer) ended the connection without ending the TLS session, so data may be missing. Look for a crash or a proxy's timeout."
        case .truncated(let peer, false):
            "\(peer) ended the connection during the TLS handshake. Check that the server uses TLS on this port, and its log."
        }
    }

    private static func remedy(forVerification code: Int, name: String) -> String {
        switch code {
        case 9, 10: "Renew the certificate, and check this machine's clock"
        case 62, 64: "Issue it for \(name), or set serverName to a name that is in it"
        case 2, 18, 19, 20, 21: "Name the authority that issued it in the configuration's authorities"
        default: "Replace the server's certificate"
        }
    }

    private static func remedy(forAlert code: Int) -> String {
        switch code {
        // Without a client certificate, most servers send bad_certificate before TLS 1.3, and certificate_required since.
        case 40, 42...46, 48, 116: "If it requires client certificates, set the configuration's identity to one that its authority issued"
        case 70, 71, 86: "Let it use TLS 1.2 or later"
        case 112: "Set serverName to a name that it knows"
        default: "See the server's log"
        }
    }
}
