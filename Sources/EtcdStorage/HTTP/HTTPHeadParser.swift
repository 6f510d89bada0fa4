/// Collects the lines of the head of a response, and decides how its body is framed (RFC 9112, section 6.3).
struct HTTPHeadParser: Sendable {
    /// Where a body ends.
    enum Framing: Hashable, Sendable {
        /// There is none: another head follows.
        case interim
        /// After a number of bytes.
        case fixed(Int)
        /// After a chunk without content, and trailers.
        case chunked
        /// Where the connection ends.
        case untilClose
    }

    private var status = 0
    private var isLegacy = false
    private var fields: [HTTPField] = []
    private var contentLength: Int?
    private var isChunked = false
    private var closes = false
    private var keepsAlive = false

    /// Begins without a line.
    init() {}

    /// Begins with the line `HTTP/1.1 200 OK`; the text at its end may be missing.
    init(statusLine line: ArraySlice<UInt8>) throws(HTTPViolation) {
        let line = Array(line)
        let digits = line.dropFirst(9).prefix(3)
        guard line.starts(with: "HTTP/1.".utf8), line.count >= 12, line[7] == 0x30 || line[7] == 0x31, line[8] == 0x20,
            digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), line.count == 12 || line[12] == 0x20,
            let status = Int(String(decoding: digits, as: UTF8.self)), status >= 100,
            line.allSatisfy(HTTPSyntax.isFieldContent)
        else { throw .statusLine }
        self.status = status
        isLegacy = line[7] == 0x30
    }

    /// The head, after its last line.
    var head: HTTPResponseHead {
        let hasEnd = isChunked || contentLength != nil || hasNoBody
        return HTTPResponseHead(
            status: status, fields: fields, contentLength: hasNoBody ? 0 : contentLength,
            isPersistent: hasEnd && !closes && (!isLegacy || keepsAlive))
    }

    private var hasNoBody: Bool { status == 204 || status == 304 }

    /// Adds a line with a field.
    mutating func add(_ line: ArraySlice<UInt8>) throws(HTTPViolation) {
        let field = try Self.field(line)
        fields.append(field)
        let name = field.name.utf8
        if HTTPSyntax.isEqual(name, "content-length".utf8) {
            for length in field.value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
                try add(contentLength: HTTPSyntax.trimmed(Array(length)[...]))
            }
        } else if HTTPSyntax.isEqual(name, "transfer-encoding".utf8) {
            guard !isChunked, !isLegacy, HTTPSyntax.isEqual(field.value.utf8, "chunked".utf8) else { throw .transferEncoding }
            isChunked = true
        } else if HTTPSyntax.isEqual(name, "connection".utf8) {
            for option in field.value.utf8.split(separator: UInt8(ascii: ",")) {
                let option = HTTPSyntax.trimmed(Array(option)[...])
                closes = closes || HTTPSyntax.isEqual(option, "close".utf8)
                keepsAlive = keepsAlive || HTTPSyntax.isEqual(option, "keep-alive".utf8)
            }
        }
    }

    /// Decides where the body ends.
    func framing() throws(HTTPViolation) -> Framing {
        if isChunked && contentLength != nil { throw .transferEncoding }
        switch status {
        case 101: throw .upgrade
        case 100..<200: return .interim
        case 204, 304: return .fixed(0)
        default: return isChunked ? .chunked : contentLength.map { .fixed($0) } ?? .untilClose
        }
    }

    /// The field in a line.
    static func field(_ line: ArraySlice<UInt8>) throws(HTTPViolation) -> HTTPField {
        if line.first == 0x20 || line.first == 9 { throw .foldedField }
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), HTTPSyntax.isToken(line[..<colon]) else { throw .field }
        let value = HTTPSyntax.trimmed(line[(colon + 1)...])
        guard value.allSatisfy(HTTPSyntax.isFieldContent) else { throw .field }
        return HTTPField(name: String(decoding: line[..<colon], as: UTF8.self), value: String(decoding: value, as: UTF8.self))
    }

    /// The same length may be given several times.
    private mutating func add(contentLength digits: ArraySlice<UInt8>) throws(HTTPViolation) {
        guard digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), let length = Int(String(decoding: digits, as: UTF8.self)),
            contentLength == nil || contentLength == length
        else { throw .contentLength }
        contentLength = length
    }
}
