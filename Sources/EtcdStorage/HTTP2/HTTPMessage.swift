/// A field of a request or response; those whose names begin with a colon are what HTTP/1.1 has in the first line.
struct HTTPField: Hashable, Sendable {
    /// The name in lower case.
    let name: String
    /// The value without the spaces around it.
    let value: String
}

extension HTTPField: CustomStringConvertible, CustomReflectable {
    // The fields whose values are secrets.
    private static let secretNames: Set = ["authorization", "token"]

    /// The name and the value, unless that is a secret.
    var description: String { Self.secretNames.contains(name) ? name : "\(name): \(value)" }

    /// Nothing but the description.
    var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}

extension [HTTPField] {
    /// The value of the first field of a name in lower case.
    subscript(name: String) -> String? {
        first { $0.name == name }?.value
    }
}

/// A request, whose body may be continued.
struct HTTPRequest: Sendable {
    /// The path, percent-encoded.
    var path: String
    /// The fields besides the method, the path, the scheme and the authority.
    var fields: [HTTPField] = []
    /// The body, or its first bytes.
    var body: [UInt8] = []

    /// All fields as they are sent; nil if one contains characters that are not allowed.
    func fields(for endpoint: Endpoint, scheme: String) -> [HTTPField]? {
        let isTarget: (UInt8) -> Bool = { $0 > 0x20 && $0 < 0x7F }
        let isName: (UInt8) -> Bool = { isTarget($0) && $0 != UInt8(ascii: ":") && !(0x41...0x5A).contains($0) }
        let isContent: (UInt8) -> Bool = { $0 >= 0x20 && $0 != 0x7F }
        let isValid =
            path.utf8.allSatisfy(isTarget)
            && fields.allSatisfy { !$0.name.isEmpty && $0.name.utf8.allSatisfy(isName) && $0.value.utf8.allSatisfy(isContent) }
        guard isValid else { return nil }
        let target = [(":method", "POST"), (":scheme", scheme), (":path", path), (":authority", endpoint.description)]
        return target.map { HTTPField(name: $0, value: $1) } + fields
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The path. The body may have a password.
    var description: String { "POST \(path), \(body.count) bytes" }

    /// The path and the fields.
    var customMirror: Mirror { Mirror(self, children: ["path": path, "fields": fields], displayStyle: .struct) }
}

/// A complete response.
struct HTTPResponse: Hashable, Sendable {
    /// The status, from 200 to 999.
    let status: Int
    /// The fields of the head.
    let fields: [HTTPField]
    /// The body.
    let body: [UInt8]
    /// The fields after the body; those of the head, if there is nothing but a head.
    let trailers: [HTTPField]
}
