/// The escapes in a JSON string.
enum JSONEscape {
    /// The content of a string with its escapes replaced, as UTF-8; nil if an escape is unknown or a surrogate has no partner.
    static func decode(_ content: ArraySlice<UInt8>) -> [UInt8]? {
        var text: [UInt8] = []
        text.reserveCapacity(content.count)
        var rest = content
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                text.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
            case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
            case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
            case UInt8(ascii: "b"): text.append(0x08)
            case UInt8(ascii: "f"): text.append(0x0C)
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(from: &rest) else { return nil }
                text += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            default: return nil
            }
        }
        return text
    }

    /// Reads the digits of `\u`, and a second escape if the first is half of a pair of surrogates.
    private static func scalar(from rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(from: &rest) else { return nil }
        guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) }
        guard rest.popFirst() == UInt8(ascii: "\\"), rest.popFirst() == UInt8(ascii: "u") else { return nil }
        guard let second = unit(from: &rest), UTF16.isTrailSurrogate(second) else { return nil }
        return Unicode.Scalar(0x10000 + ((UInt32(first) & 0x3FF) << 10 | UInt32(second) & 0x3FF))
    }

    private static func unit(from rest: inout ArraySlice<UInt8>) -> UInt16? {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = rest.popFirst(), let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

/// The grammar of a JSON number.
enum JSONNumber {
    /// Whether the bytes are a number: an integer without leading zeros, then perhaps a fraction and an exponent.
    static func isValid(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        if rest.first == UInt8(ascii: "0") {
            rest.removeFirst()
        } else if !removeDigits(&rest) {
            return false
        }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard removeDigits(&rest) else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard removeDigits(&rest) else { return false }
        }
        return rest.isEmpty
    }

    private static func removeDigits(_ rest: inout ArraySlice<UInt8>) -> Bool {
        let digits = rest.prefix { $0 >= 0x30 && $0 <= 0x39 }
        rest.removeFirst(digits.count)
        return !digits.isEmpty
    }
}
