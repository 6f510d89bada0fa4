/// HPACK's static table (RFC 7541, appendix A).
enum HPACKTable {
    /// The field with an index, from 1 on.
    static func field(at index: Int) throws(HTTP2Violation) -> HTTPField {
        guard 1...fields.count ~= index else { throw .headerIndex }
        return fields[index - 1]
    }

    /// The index of a field; nil if it is not in the table.
    static func index(of field: HTTPField) -> Int? {
        indices[field]
    }

    /// The first index of a field with a name; nil if there is none.
    static func index(ofName name: String) -> Int? {
        nameIndices[name]
    }

    private static let indices = [HTTPField: Int](
        fields.enumerated().map { ($1, $0 + 1) }, uniquingKeysWith: { first, _ in first })

    private static let nameIndices = [String: Int](
        fields.enumerated().map { ($1.name, $0 + 1) }, uniquingKeysWith: { first, _ in first })

    private static let fields = entries.map { HTTPField(name: $0, value: $1) }

    private static let entries: [(String, String)] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"), (":scheme", "http"),
        (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
        (":status", "404"), (":status", "500"), ("accept-charset", ""), ("accept-encoding", "gzip, deflate"), ("accept-language", ""),
        ("accept-ranges", ""), ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""),
        ("cache-control", ""), ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""), ("expect", ""),
        ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""), ("max-forwards", ""),
        ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""),
        ("server", ""), ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""),
        ("via", ""), ("www-authenticate", ""),
    ]
}
