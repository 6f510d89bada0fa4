import FoundationSubset

/// The address of a server.
package struct Endpoint: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    let host: String
    let port: UInt16

    /// The host and port as in a URL, with brackets around an IPv6 address.
    package var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// A numeric address and port for system calls.
struct SocketAddress: Sendable {
    // Aligned and large enough for the structure of any address family.
    private var storage = sockaddr_storage()
    private let size: socklen_t

    private init(_ info: addrinfo) {
        size = info.ai_addrlen
        let bytes = UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen))
        withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: bytes) }
    }

    var family: Int32 { Int32(storage.ss_family) }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) } }
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
            addresses.append(SocketAddress(info))
            next = info.ai_next
        }
        return .success(addresses)
    }
}
