import FoundationSubset
package import ObservableStorage

/// Where an etcd cluster is, how to connect to it, and which of its keys belong to a store.
public struct EtcdConfiguration: Sendable, Hashable {
    /// The name and password of a user of etcd.
    public struct Credentials: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The name of the user.
        public var user: String
        /// The password of the user.
        public var password: String

        /// Combines a name with its password.
        public init(user: String, password: String) {
            (self.user, self.password) = (user, password)
        }

        /// The name of the user, without the password.
        public var description: String { "user \(user)" }

        /// The name of the user, without the password, as `dump(_:)` prints it.
        public var customMirror: Mirror { Mirror(self, children: ["user": user], displayStyle: .struct) }
    }

    /// The client addresses of one or more members of the cluster.
    ///
    /// Each is `host:port`, `http://host:port` or `https://host:port`, where the host is a name, an IPv4 address, or an IPv6 address in
    /// brackets. The default port is 2379. Name all members of the cluster, so that requests can go to the others if one fails.
    public var endpoints: [String]
    /// The prefix of the store's keys in etcd, which lets several stores share a cluster.
    public var prefix: String
    /// The user, if the cluster requires one; nil for none.
    public var credentials: Credentials?
    /// How connections are encrypted; nil if they are not.
    public var tls: TLSConfiguration?
    /// The time in which a member has to respond before another one is tried. Five seconds by default.
    ///
    /// It includes the time to send the request: increase it for large values on a slow network.
    public var requestTimeout: Duration
    /// The time in which a connection has to be established, with the TLS handshake; at most ``requestTimeout``. Two seconds by default.
    public var connectTimeout: Duration
    /// The maximum memory in bytes for the keys under the prefix with their stored values; 1 GB by default.
    ///
    /// It protects against a response that never ends, from a broken member or another server. Beyond the limit, reading fails with an
    /// error, and earlier commits are treated as compacted.
    public var memoryLimit = 1 << 30

    /// Creates a configuration. The endpoints are checked when it is used.
    public init(
        endpoints: [String], prefix: String, credentials: Credentials? = nil, tls: TLSConfiguration? = nil,
        requestTimeout: Duration = .seconds(5), connectTimeout: Duration = .seconds(2)
    ) {
        self.endpoints = endpoints
        self.prefix = prefix
        self.credentials = credentials
        self.tls = tls
        self.requestTimeout = requestTimeout
        self.connectTimeout = connectTimeout
    }
}

// MARK: - Endpoints

extension EtcdConfiguration {
    /// The addresses of the members, without duplicates, in the order of the configuration.
    ///
    /// - Throws: `StorageError.invalidConfiguration` for the first endpoint that is not valid.
    package func parsedEndpoints() throws(StorageError) -> [Endpoint] {
        guard !endpoints.isEmpty else {
            throw .invalidConfiguration(
                item: "etcd", reason: "the configuration has no endpoints", remedy: "name at least one, such as localhost:2379")
        }
        var parsed: [Endpoint] = []
        for text in endpoints {
            let endpoint = try endpoint(text)
            if !parsed.contains(endpoint) { parsed.append(endpoint) }
        }
        return parsed
    }

    private func endpoint(_ text: String) throws(StorageError) -> Endpoint {
        func invalid(_ reason: String, _ remedy: String = "give a host and a port, such as localhost:2379") -> StorageError {
            // What is before the sign may be a password.
            let shown = text.lastIndex(of: "@").map { "…" + text[$0...] } ?? text
            return .invalidConfiguration(item: "endpoint \"\(shown)\"", reason: reason, remedy: remedy)
        }
        var rest = text[...]
        if let (scheme, address) = rest.divided(by: "://") {
            switch scheme.lowercased() {
            case "http" where tls == nil, "https" where tls != nil: rest = address
            case "http": throw invalid("it begins with http://, but tls is set", "begin it with https://, or omit the scheme")
            case "https": throw invalid("it begins with https://, but tls is not set", "set tls to a TLSConfiguration")
            default: throw invalid("\(scheme):// is not supported", "begin it with http:// or https://, or omit the scheme")
            }
        }
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let unexpected = rest.first(where: { "/?#@ \t\r\n".contains($0) }) {
            throw invalid("it has the character \"\(unexpected)\"")
        }
        var host = rest
        var port: Substring?
        if rest.hasPrefix("[") {
            guard let (address, end) = rest.dropFirst().divided(by: "]"), end.isEmpty || end.hasPrefix(":") else {
                throw invalid("its IPv6 address does not end with \"]\" before the port")
            }
            host = address
            port = end.isEmpty ? nil : end.dropFirst()
        } else if let (name, number) = rest.divided(by: ":") {
            guard !number.contains(":") else { throw invalid("its IPv6 address is not in brackets", "write it as [::1]:2379") }
            host = name
            port = number
        }
        guard !host.isEmpty else { throw invalid("it has no host") }
        guard let port else { return Endpoint(host: String(host), port: 2379) }
        guard let number = UInt16(port), number > 0, port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw invalid("its port is not a number from 1 to 65535")
        }
        return Endpoint(host: String(host), port: number)
    }
}

extension Substring {
    /// The parts before and after the first occurrence of a separator; nil if there is none.
    fileprivate func divided(by separator: String) -> (Substring, Substring)? {
        guard let range = firstRange(of: separator) else { return nil }
        return (self[..<range.lowerBound], self[range.upperBound...])
    }
}
