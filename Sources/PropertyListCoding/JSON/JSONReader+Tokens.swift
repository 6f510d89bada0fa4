// Strings, numbers, and what is between them.

extension JSONReader {
    /// Reads a string or a key.
    mutating func string() throws(PropertyListError) -> String {
        guard skip(0x22) else { throw error("a string is missing") }
        let start = offset
        offset = bytes.endOfPlainText(from: offset)
        if next == 0x22 {
            offset += 1
            return text(from: start, to: offset - 1)
        }
        var text = Array(bytes[start..<offset])
        while let next {
            switch next {
            case 0x22:
                offset += 1
                return String(decoding: text, as: UTF8.self)
            case 0x5C:
                text.append(contentsOf: UTF8.encode(try escapedScalar()) ?? UTF8.encodedReplacementCharacter)
            case 0..<0x20:
                throw error("a control character in a string")
            default:
                let start = offset
                offset = bytes.endOfPlainText(from: offset)
                text.append(contentsOf: bytes[start..<offset])
            }
        }
        throw error("a string does not end")
    }

    private func text(from start: Int, to end: Int) -> String {
        if end - start <= 15, start + 15 <= bytes.count, let text = bytes.shortASCII(count: end - start, at: start) { return text }
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }

    private mutating func escapedScalar() throws(PropertyListError) -> Unicode.Scalar {
        offset += 1
        guard let next else { throw error("a string does not end") }
        let simple: Unicode.Scalar? =
            switch next {
            case UInt8(ascii: "\""): "\""
            case UInt8(ascii: "\\"): "\\"
            case UInt8(ascii: "/"): "/"
            case UInt8(ascii: "b"): "\u{8}"
            case UInt8(ascii: "f"): "\u{c}"
            case UInt8(ascii: "n"): "\n"
            case UInt8(ascii: "r"): "\r"
            case UInt8(ascii: "t"): "\t"
            default: nil
            }
        if let simple {
            offset += 1
            return simple
        }
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
        guard UTF16.isLeadSurrogate(unit), skip(0x5C) else { throw error("half a surrogate pair") }
        let trail = try codeUnit()
        guard UTF16.isTrailSurrogate(trail) else { throw error("half a surrogate pair") }
        return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
    }

    /// Parses the UTF-16 code unit of an escape, after its backslash.
    private mutating func codeUnit() throws(PropertyListError) -> UInt16 {
        guard skip(UInt8(ascii: "u")) else { throw error("an unknown escape") }
        var unit: UInt16 = 0
        for index in offset..<offset + 4 {
            guard index < bytes.count, let digit = bytes[index].digit(isHexadecimal: true) else {
                throw error("four hexadecimal digits are missing")
            }
            unit = unit << 4 | UInt16(digit)
        }
        offset += 4
        return unit
    }

    /// Parses a number: an integer if it has neither a fraction nor an exponent, and otherwise a real.
    mutating func number() throws(PropertyListError) -> PropertyListValue {
        let start = offset
        let isNegative = skip(0x2D)
        let magnitude = skip(UInt8(ascii: "0")) ? 0 : try digits()
        var isWhole = true
        if skip(UInt8(ascii: ".")) {
            isWhole = false
            _ = try digits()
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            isWhole = false
            if !skip(0x2D) { _ = skip(0x2B) }
            _ = try digits()
        }
        if isWhole {
            if let magnitude, let integer = PropertyListInteger(magnitude: magnitude, isNegative: isNegative) { return .integer(integer) }
        } else if let real = Double(text(from: start, to: offset)), real.isFinite {
            return .real(real)
        }
        let shown = String(decoding: bytes[start..<min(offset, start + 32)], as: UTF8.self)
        throw error("the number \(shown)\(offset - start > 32 ? "…" : "") is out of range", at: start)
    }

    /// Reads digits, and returns the number that they are, or nil if it is out of range.
    private mutating func digits() throws(PropertyListError) -> UInt64? {
        let start = offset
        var number: UInt64? = 0
        while let digit = next?.digit(isHexadecimal: false) {
            number = number?.appending(digit)
            offset += 1
        }
        guard offset > start else { throw error("a digit is missing") }
        return number
    }
}

// MARK: - White space, comments, and values that are not decoded

extension JSONReader {
    /// The next byte, or nil at the end.
    var next: UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    /// Skips white space, and comments in a document.
    mutating func skipSpace() throws(PropertyListError) {
        while let next, next <= 0x2F {
            if next.isXMLSpace {
                offset += 1
            } else {
                guard next == 0x2F, dialect == .document, try skipComment() else { return }
            }
        }
    }

    /// Skips a comment, and returns whether there is one.
    private mutating func skipComment() throws(PropertyListError) -> Bool {
        if bytes.has("//", at: offset) {
            offset = bytes.firstIndex(of: 0x0A, or: 0x0D, from: offset) ?? bytes.count
            return true
        }
        guard bytes.has("/*", at: offset) else { return false }
        var end = offset + 2
        while let star = bytes.firstIndex(of: 0x2A, from: end) {
            end = star + 1
            if bytes.has("/", at: end) {
                offset = end + 1
                return true
            }
        }
        throw error("a comment does not end")
    }

    /// Moves past a value that was read before, without decoding it.
    mutating func skipValue() throws(PropertyListError) {
        var depth = 0
        repeat {
            try skipSpace()
            guard let next else { throw error("a value is missing") }
            offset += 1
            switch next {
            case UInt8(ascii: "\""): skipRestOfString()
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ","), UInt8(ascii: ":"): break
            // A number or a name.
            default: while let next = self.next, next.isJSONWord { offset += 1 }
            }
        } while depth > 0
    }

    private mutating func skipRestOfString() {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += byte == 0x5C ? 2 : 1
            if byte == 0x22 { return }
        }
    }

    /// Consumes a byte if it comes next, and returns whether it does.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    /// Consumes a text if it comes next, and returns whether it does.
    mutating func skip(_ text: StaticString) -> Bool {
        guard bytes.has(text, at: offset) else { return false }
        offset += text.utf8CodeUnitCount
        return true
    }

    func error(_ reason: String, at offset: Int? = nil) -> PropertyListError {
        PropertyListError(offset: offset ?? self.offset, reason: Self.reason(reason))
    }

    static func reason(_ reason: String) -> String {
        "not JSON for a property list: \(reason)"
    }
}

extension UInt8 {
    /// Whether it may be part of a number, `true`, `false` or `null`.
    fileprivate var isJSONWord: Bool {
        self == 0x2B || self == 0x2D || self == 0x2E || 0x30...0x39 ~= self || 0x61...0x7A ~= self | 0x20
    }
}
