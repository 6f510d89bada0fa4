import FoundationSubset

/// The address of a server.
struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    let host: String
    /// The TCP port.
    let port: UInt16

    /// The host and port as in a URL, with brackets around an IPv6 address.
    var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// A numeric address and port for system calls.
struct SocketAddress: Hashable, Sendable {
    /// The address family, such as `AF_INET`.
    let family: Int32
    private let bytes: [UInt8]

    /// Calls a system function with the address.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        bytes.withUnsafeBytes { bytes in
            // A raw copy of the system's structure, in storage that is aligned for any address family.
            withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: MemoryLayout<sockaddr_storage>.alignment) { copy in
                copy.copyMemory(from: bytes)
                return copy.withMemoryRebound(to: sockaddr.self) { body(UnsafePointer($0.baseAddress!), socklen_t(bytes.count)) }
            }
        }
    }

    /// The addresses of an endpoint, in the order in which to try them.
    ///
    /// - Parameter isNumeric: whether the host has to be an address. Otherwise this blocks while a host name is resolved.
    static func all(of endpoint: Endpoint, isNumeric: Bool) -> Result<[SocketAddress], ConnectionError.Reason> {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICSERV | (isNumeric ? AI_NUMERICHOST : 0)
        hints.ai_socktype = Socket.stream
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(endpoint.host, String(endpoint.port), &hints, &list)
        guard code == 0 else { return .failure(.unknownHost(String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let info = next?.pointee {
            let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
            addresses.append(SocketAddress(family: info.ai_family, bytes: Array(bytes)))
            next = info.ai_next
        }
        return .success(addresses)
    }
}
