/// The compression of header blocks (RFC 7541), without the dynamic table: its announced size is 0.
enum HPACK {
    /// Encodes fields, whose names have to be in lower case, without Huffman codes: requests have few and short fields.
    static func encode(_ fields: [HTTPField]) -> [UInt8] {
        var block: [UInt8] = []
        for field in fields {
            // A proxy must not add credentials to a table, where they could be guessed.
            let isSecret = HTTPField.secretNames.contains(field.name)
            if !isSecret, let index = indices[field] {
                append(index, prefix: 7, pattern: 0x80, to: &block)
                continue
            }
            let index = nameIndices[field.name]
            append(index ?? 0, prefix: 4, pattern: isSecret ? 0x10 : 0, to: &block)
            if index == nil { append(field.name, to: &block) }
            append(field.value, to: &block)
        }
        return block
    }

    private static func append(_ string: String, to block: inout [UInt8]) {
        append(string.utf8.count, prefix: 7, pattern: 0, to: &block)
        block += string.utf8
    }

    /// Appends an HPACK integer whose prefix is the low `prefix` bits of the first byte.
    ///
    /// - Parameter pattern: the other bits of the first byte.
    private static func append(_ integer: Int, prefix: Int, pattern: UInt8, to block: inout [UInt8]) {
        let largest = 1 << prefix - 1
        block.append(pattern | UInt8(truncatingIfNeeded: min(integer, largest)))
        guard integer >= largest else { return }
        var rest = integer - largest
        while rest >= 0x80 {
            block.append(0x80 | UInt8(truncatingIfNeeded: rest))
            rest >>= 7
        }
        block.append(UInt8(rest))
    }

    // MARK: The static table

    /// The field with an index in the static table, from 1 on.
    static func field(at index: Int) throws(HTTP2Violation) -> HTTPField {
        guard 1...fields.count ~= index else { throw .headerIndex }
        return fields[index - 1]
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
