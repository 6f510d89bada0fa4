/// The address of an HTTP server.
struct HTTPEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// A name, an IPv4 address, or an IPv6 address without brackets.
    let host: String
    /// The port of TCP.
    let port: UInt16

    /// The host and port as in a URL, with brackets around an IPv6 address.
    var description: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// A line of the head of a request or response.
struct HTTPField: Hashable, Sendable {
    /// The name, of which the case does not matter.
    let name: String
    /// The value without the spaces around it.
    let value: String
}

/// A request of HTTP/1.1.
struct HTTPRequest: Sendable {
    /// The body and how it is framed.
    enum Body: Sendable {
        /// All of the body, with its length in the head.
        case complete([UInt8])
        /// The first part of a body in chunks, to which the stream of the response adds others.
        ///
        /// The request asks the server to close the connection afterwards: otherwise etcd answers only when the whole body has arrived.
        case open(first: [UInt8])
    }

    /// The method in capitals.
    var method = "POST"
    /// The path and query, percent-encoded.
    var path: String
    /// Fields other than those of the host, the framing and the connection.
    var fields: [HTTPField] = []
    /// The body.
    var body = Body.complete([])

    /// The request as it is sent to an endpoint; nil if its method, path or fields contain characters that would end them.
    func encoded(for endpoint: HTTPEndpoint) -> [UInt8]? {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(endpoint)\r\n"
        for field in fields {
            head += "\(field.name): \(field.value)\r\n"
        }
        var bytes: [UInt8]
        switch body {
        case .complete(let content):
            head += "Content-Length: \(content.count)\r\n\r\n"
            bytes = Array(head.utf8)
            bytes += content
        case .open(let first):
            head += "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            bytes = Array(head.utf8)
            bytes += HTTPChunk.encoded(first)
        }
        let isTarget: (UInt8) -> Bool = { $0 > 0x20 && $0 < 0x7F }
        let isValid =
            method.utf8.allSatisfy(isTarget) && path.utf8.allSatisfy(isTarget)
            && fields.allSatisfy { HTTPSyntax.isToken($0.name.utf8) && $0.value.utf8.allSatisfy(HTTPSyntax.isFieldContent) }
        return isValid ? bytes : nil
    }
}

/// A part of a body of which the length is not known from the start.
enum HTTPChunk {
    /// What ends the body.
    static let last = Array("0\r\n\r\n".utf8)

    /// A part with its length; nothing for an empty part, which would end the body.
    static func encoded(_ content: [UInt8]) -> [UInt8] {
        content.isEmpty ? [] : Array("\(String(content.count, radix: 16))\r\n".utf8) + content + [13, 10]
    }
}

/// The head of a response.
struct HTTPResponseHead: Hashable, Sendable {
    /// The status, from 100 to 999.
    let status: Int
    /// The fields in their order.
    let fields: [HTTPField]
    /// The length of the body if the head tells it.
    let contentLength: Int?
    /// Whether the server accepts another request on the connection.
    let isPersistent: Bool

    /// The value of the first field of a name, of which the case does not matter.
    subscript(name: String) -> String? {
        fields.first { HTTPSyntax.isEqual($0.name.utf8, name.utf8) }?.value
    }
}

/// A complete response.
struct HTTPResponse: Hashable, Sendable {
    /// The head.
    let head: HTTPResponseHead
    /// The body.
    let body: [UInt8]

    /// The status, from 100 to 999.
    var status: Int { head.status }
}

/// Rules for the characters of a head (RFC 9110, section 5).
enum HTTPSyntax {
    /// Whether the bytes are a name.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    /// Whether a byte may stand in a value.
    static func isFieldContent(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 9
    }

    /// Whether two names are equal except for the case of their letters.
    static func isEqual(_ one: some Sequence<UInt8>, _ other: some Sequence<UInt8>) -> Bool {
        one.elementsEqual(other) { lowercased($0) == lowercased($1) }
    }

    /// A value without the spaces around it.
    static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 9 }
        let rest = value.drop(while: isBlank)
        return rest[..<(rest.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
