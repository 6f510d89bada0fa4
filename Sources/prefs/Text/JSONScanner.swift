import PropertyListCoding

/// Walks over the bytes of a JSON text and reads its strings and numbers.
struct JSONScanner {
    private let bytes: [UInt8]
    /// Where it stands.
    private(set) var offset = 0

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool {
        offset == bytes.count
    }

    /// The byte where it stands.
    var next: UInt8? {
        isAtEnd ? nil : bytes[offset]
    }

    func mistake(_ reason: String) -> JSONReader.Mistake {
        JSONReader.Mistake(offset: offset, reason: reason)
    }

    mutating func advance() {
        offset += 1
    }

    mutating func skipSpace() {
        while let next, [0x20, 0x09, 0x0a, 0x0d].contains(next) { offset += 1 }
    }

    /// Steps over a text if it stands here.
    mutating func skip(_ text: StaticString) -> Bool {
        let isHere = text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
        if isHere { offset += text.utf8CodeUnitCount }
        return isHere
    }

    /// The string that stands here.
    mutating func string() throws(JSONReader.Mistake) -> String {
        guard skip("\"") else { throw mistake("a string is missing") }
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                offset += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                text += Array(String(try escaped()).utf8)
            case 0..<0x20:
                throw mistake("a control character stands in a string")
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw mistake("a string does not end")
    }

    private mutating func escaped() throws(JSONReader.Mistake) -> Unicode.Scalar {
        offset += 1
        guard let byte = next else { throw mistake("a string does not end") }
        let simple: [UInt8: Unicode.Scalar] = [
            0x22: "\"", 0x5c: "\\", 0x2f: "/", 0x62: "\u{8}", 0x66: "\u{c}", 0x6e: "\n", 0x72: "\r", 0x74: "\t",
        ]
        if let scalar = simple[byte] {
            offset += 1
            return scalar
        }
        let unit = try unit()
        if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
        guard UTF16.isLeadSurrogate(unit), skip("\\") else { throw mistake("half a surrogate pair") }
        let trail = try self.unit()
        guard UTF16.isTrailSurrogate(trail) else { throw mistake("half a surrogate pair") }
        return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
    }

    private mutating func unit() throws(JSONReader.Mistake) -> UInt16 {
        guard skip("u") else { throw mistake("an unknown escape") }
        let digits = bytes[offset...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw mistake("four hexadecimal digits are missing") }
        offset += 4
        return unit
    }

    /// The number that stands here: an integer if it has neither a fraction nor an exponent, or else a real.
    mutating func number() throws(JSONReader.Mistake) -> PropertyListValue {
        let start = offset
        _ = skip("-")
        if !skip("0") { try digits() }
        var isWhole = true
        if skip(".") {
            isWhole = false
            try digits()
        }
        if skip("e") || skip("E") {
            isWhole = false
            if !skip("-") { _ = skip("+") }
            try digits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let integer = Int128(text).flatMap({ PropertyListInteger(exactly: $0) }) { return .integer(integer) }
        if !isWhole, let real = Double(text), real.isFinite { return .real(real) }
        throw JSONReader.Mistake(offset: start, reason: "the number \(text) is out of range")
    }

    private mutating func digits() throws(JSONReader.Mistake) {
        let start = offset
        while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
        guard offset > start else { throw mistake("a digit is missing") }
    }
}
