/// The compression of header blocks (RFC 7541), without the dynamic table: its announced size is 0.
enum HPACK {
    /// Encodes fields, whose names have to be in lower case, as literals without Huffman codes: requests have few and short fields.
    static func encode(_ fields: [HTTPField]) -> [UInt8] {
        var block: [UInt8] = []
        for field in fields {
            // A proxy must not add credentials to a table, where they could be guessed.
            block.append(HTTPField.secretNames.contains(field.name) ? 0x10 : 0)
            append(field.name, to: &block)
            append(field.value, to: &block)
        }
        return block
    }

    /// Appends a string after its length, an HPACK integer whose prefix is the low 7 bits of the first byte.
    private static func append(_ string: String, to block: inout [UInt8]) {
        let (length, largest) = (string.utf8.count, 0x7F)
        block.append(UInt8(min(length, largest)))
        if length >= largest {
            var rest = length - largest
            while rest >= 0x80 {
                block.append(0x80 | UInt8(truncatingIfNeeded: rest))
                rest >>= 7
            }
            block.append(UInt8(rest))
        }
        block += string.utf8
    }

    // MARK: The static table

    /// The field with an index in the static table, from 1 on.
    static func field(at index: Int) throws(HTTP2Violation) -> HTTPField {
        guard 1...fields.count ~= index else { throw .headerIndex }
        return fields[index - 1]
    }

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
