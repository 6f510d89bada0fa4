import FoundationSubset

/// Reads JSON as a property list, strictly: whole numbers are integers and others reals, and nesting is limited as in a property list.
///
/// An object whose only key is `CF$UID`, with a whole number, is a uid, as in XML property lists. In typed JSON, an object whose only key
/// is `$date`, `$data` or `$real` is a value of that type.
package struct JSONReader {
    private let bytes: [UInt8]
    private let isTyped: Bool
    private var offset = 0
    /// Whether the next value is the dictionary in a tagged object.
    private var isTagged = false

    private init(_ text: String, isTyped: Bool) {
        bytes = Array(text.utf8)
        self.isTyped = isTyped
    }

    /// Parses a text that contains a single value.
    package static func value(of text: String, isTyped: Bool = false) throws(PropertyListError) -> PropertyListValue {
        var reader = JSONReader(text, isTyped: isTyped)
        let value = try reader.value(depth: 1)
        reader.skipSpace()
        guard reader.next == nil else { throw reader.error("something follows the value") }
        return value
    }

    private mutating func value(depth: Int) throws(PropertyListError) -> PropertyListValue {
        let isTagged = isTagged
        self.isTagged = false
        skipSpace()
        guard let next else { throw error("a value is missing") }
        switch next {
        case UInt8(ascii: "{"): return try dictionary(depth: depth, isTagged: isTagged)
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
        case UInt8(ascii: "t") where skip("true"): return .boolean(true)
        case UInt8(ascii: "f") where skip("false"): return .boolean(false)
        case UInt8(ascii: "n") where skip("null"): throw error("a property list has no null")
        default: throw error("this is not a value")
        }
    }
}

// MARK: - Arrays and objects

extension JSONReader {
    private mutating func array(depth: Int) throws(PropertyListError) -> PropertyListValue {
        try enter(depth)
        var elements: [PropertyListValue] = []
        skipSpace()
        if skip("]") { return .array([]) }
        repeat {
            elements.append(try value(depth: depth + 1))
            skipSpace()
        } while skip(",")
        guard skip("]") else { throw error("a comma or ] is missing") }
        return .array(elements)
    }

    private mutating func dictionary(depth: Int, isTagged: Bool) throws(PropertyListError) -> PropertyListValue {
        try enter(depth)
        var entries: [String: PropertyListValue] = [:]
        let opening = offset - 1
        skipSpace()
        if skip("}") { return .dictionary([:]) }
        repeat {
            skipSpace()
            let start = offset
            let key = try string()
            skipSpace()
            guard skip(":") else { throw error("a colon is missing") }
            self.isTagged = isTyped && !isTagged && key == "$dictionary"
            // Keys that differ only in Unicode normalization are equal in Swift, and an error in a property list.
            guard entries.updateValue(try value(depth: depth + 1), forKey: key) == nil else {
                throw error("the key \(key.debugDescription) is given twice", at: start)
            }
            skipSpace()
        } while skip(",")
        guard skip("}") else { throw error("a comma or } is missing") }
        if isTyped, isTagged { return .dictionary(entries) }
        if let typed = try typedValue(entries, at: opening) { return typed }
        return entries.uid.map { .uid($0) } ?? .dictionary(entries)
    }

    /// Consumes an opening bracket.
    private mutating func enter(_ depth: Int) throws(PropertyListError) {
        // Each level of typed JSON may be a tagged object.
        guard depth <= (isTyped ? 2 : 1) * DecodingLimits.depth else {
            throw error("it is nested deeper than \(DecodingLimits.depth) levels")
        }
        offset += 1
    }

    /// The value that a tagged object stands for; nil if it has no tag.
    private func typedValue(_ entries: [String: PropertyListValue], at start: Int) throws(PropertyListError) -> PropertyListValue? {
        guard isTyped, let tag = Self.tag(of: entries) else { return nil }
        let value: PropertyListValue? =
            switch (tag, entries[tag]) {
            case ("$date", .string(let text)?): Date(iso8601: text).map { .date($0) }
            case ("$data", .string(let text)?): Data(strictBase64: text).map { .data($0) }
            case ("$real", .string(let text)?): Double(text).map { .real($0) }
            case ("$dictionary", .dictionary(let dictionary)?) where entries.count == 1: .dictionary(dictionary)
            default: nil
            }
        guard let value else { throw error("an invalid object with the key \(tag.debugDescription)", at: start) }
        return value
    }

    /// The key by which typed JSON marks an object as another value; `$dictionary` marks a dictionary that has such a key itself.
    package static func tag(of entries: [String: PropertyListValue]) -> String? {
        if entries["$dictionary"] != nil { return "$dictionary" }
        return entries.count == 1 ? ["$date", "$data", "$real"].first { entries[$0] != nil } : nil
    }
}

// MARK: - Strings

extension JSONReader {
    private mutating func string() throws(PropertyListError) -> String {
        guard skip("\"") else { throw error("a string is missing") }
        var text: [UInt8] = []
        while let next {
            switch next {
            case UInt8(ascii: "\""):
                offset += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                text += Array(String(try escapedScalar()).utf8)
            case 0..<0x20:
                throw error("a control character in a string")
            default:
                text.append(next)
                offset += 1
            }
        }
        throw error("a string does not end")
    }

    private mutating func escapedScalar() throws(PropertyListError) -> Unicode.Scalar {
        offset += 1
        guard let next else { throw error("a string does not end") }
        let simple: [UInt8: Unicode.Scalar] = [
            0x22: "\"", 0x5c: "\\", 0x2f: "/", 0x62: "\u{8}", 0x66: "\u{c}", 0x6e: "\n", 0x72: "\r", 0x74: "\t",
        ]
        if let scalar = simple[next] {
            offset += 1
            return scalar
        }
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(UInt32(unit)) { return scalar }
        guard UTF16.isLeadSurrogate(unit), skip("\\") else { throw error("half a surrogate pair") }
        let trail = try codeUnit()
        guard UTF16.isTrailSurrogate(trail) else { throw error("half a surrogate pair") }
        return UTF16.decode(UTF16.EncodedScalar([unit, trail]))
    }

    /// Parses the UTF-16 code unit of an escape, after its backslash.
    private mutating func codeUnit() throws(PropertyListError) -> UInt16 {
        guard skip("u") else { throw error("an unknown escape") }
        let digits = bytes[offset...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt16(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw error("four hexadecimal digits are missing") }
        offset += 4
        return unit
    }
}

// MARK: - Numbers

extension JSONReader {
    /// Parses a number: an integer if it has neither a fraction nor an exponent, and otherwise a real.
    private mutating func number() throws(PropertyListError) -> PropertyListValue {
        let start = offset
        _ = skip("-")
        if !skip("0") { try skipDigits() }
        var isWhole = true
        if skip(".") {
            isWhole = false
            try skipDigits()
        }
        if skip("e") || skip("E") {
            isWhole = false
            if !skip("-") { _ = skip("+") }
            try skipDigits()
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if isWhole, let integer = Int128(text).flatMap({ PropertyListInteger(exactly: $0) }) { return .integer(integer) }
        if !isWhole, let real = Double(text), real.isFinite { return .real(real) }
        throw error("the number \(text) is out of range", at: start)
    }

    private mutating func skipDigits() throws(PropertyListError) {
        let start = offset
        while let next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) { offset += 1 }
        guard offset > start else { throw error("a digit is missing") }
    }
}

// MARK: - Bytes

extension JSONReader {
    /// The next byte, or nil at the end.
    private var next: UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    private mutating func skipSpace() {
        while let next, [0x20, 0x09, 0x0a, 0x0d].contains(next) { offset += 1 }
    }

    /// Consumes a text if it comes next, and returns whether it does.
    private mutating func skip(_ text: StaticString) -> Bool {
        let isNext = text.withUTF8Buffer { bytes[offset...].starts(with: $0) }
        if isNext { offset += text.utf8CodeUnitCount }
        return isNext
    }

    private func error(_ reason: String, at offset: Int? = nil) -> PropertyListError {
        PropertyListError(offset: offset ?? self.offset, reason: "not JSON for a property list: \(reason)")
    }
}
