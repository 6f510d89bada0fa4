/// A field of a request or response; names that begin with a colon are those of pseudo-header fields.
struct HTTPField: Hashable, Sendable {
    /// The name in lower case.
    let name: String
    /// The value without surrounding spaces.
    let value: String
}

extension HTTPField: CustomStringConvertible, CustomReflectable {
    /// Fields whose values are credentials.
    static let secretNames: Set = ["authorization", "token"]

    /// The name, and the value unless it is secret.
    var description: String { Self.secretNames.contains(name) ? name : "\(name): \(value)" }

    /// An empty mirror, so that no secret is printed.
    var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .struct) }
}

extension [HTTPField] {
    /// The value of the first field with a name in lower case.
    subscript(name: String) -> String? {
        first { $0.name == name }?.value
    }
}

/// A request, whose body may be continued.
struct HTTPRequest: Sendable {
    /// The percent-encoded path.
    var path: String
    /// The fields other than the method, the path, the scheme and the authority.
    var fields: [HTTPField] = []
    /// The body, or its first bytes.
    var body: [UInt8] = []

    /// All fields that are sent; nil if one contains characters that are not allowed.
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
    /// The path, without the body, which may contain a password.
    var description: String { "POST \(path), \(body.count) bytes" }

    var customMirror: Mirror { Mirror(self, children: ["path": path, "fields": fields], displayStyle: .struct) }
}
