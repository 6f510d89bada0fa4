/// The reason why bytes are not the JSON that was expected.
struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The offset of the first byte that does not fit.
    let offset: Int
    /// The reason, as a phrase that may follow a colon.
    let reason: String

    /// The reason with the offset.
    var description: String { "\(reason) (at byte \(offset))" }
}

/// Reads JSON from its beginning to its end, one value at each call, without building a tree.
///
/// The caller asks for what it expects next; whatever it does not know it skips. Takes linear time, and no memory for what is skipped.
///
///     try scanner.beginObject()
///     while let name = try scanner.nextMember() {
///         if name == "revision" { revision = try scanner.integer() } else { try scanner.skip() }
///     }
struct JSONScanner {
    /// The number of containers that may be nested: more is rejected, so that no input can exhaust the stack.
    static let maximumDepth = 64

    /// The text, in UTF-8.
    let bytes: [UInt8]
    /// The offset of what is read next, perhaps after white space.
    private(set) var offset = 0
    private var depth = 0
    // Whether the container that was begun last has had no value yet, so that no comma may stand before the next one.
    private var isAtFirst = false

    /// Creates a scanner at the beginning of the bytes.
    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    // MARK: - Containers

    /// Enters an object.
    mutating func beginObject() throws(JSONError) {
        try begin(with: UInt8(ascii: "{"), "an object")
    }

    /// Moves to the value of the next member, and returns its name; leaves the object and returns nil after the last one.
    ///
    /// A member whose value is null is passed over, as if it were absent.
    mutating func nextMember() throws(JSONError) -> String? {
        while try !end(with: UInt8(ascii: "}")) {
            let name = try string()
            try expect(UInt8(ascii: ":"), "a colon")
            guard try nextByte() == UInt8(ascii: "n") else { return name }
            try word("null")
        }
        return nil
    }

    /// Enters an array.
    mutating func beginArray() throws(JSONError) {
        try begin(with: UInt8(ascii: "["), "an array")
    }

    /// Moves to the next element and returns true; leaves the array and returns false after the last one.
    mutating func nextElement() throws(JSONError) -> Bool {
        try !end(with: UInt8(ascii: "]"))
    }

    private mutating func begin(with byte: UInt8, _ name: StaticString) throws(JSONError) {
        try expect(byte, name)
        depth += 1
        guard depth <= Self.maximumDepth else { throw error("containers are nested more than \(Self.maximumDepth) deep") }
        isAtFirst = true
    }

    /// Leaves the container if this is its end; otherwise passes the comma before the next value.
    private mutating func end(with byte: UInt8) throws(JSONError) -> Bool {
        if try nextByte() == byte {
            offset += 1
            depth -= 1
            isAtFirst = false
            return true
        }
        if !isAtFirst { try expect(UInt8(ascii: ","), "a comma") }
        isAtFirst = false
        return false
    }

    // MARK: - Values

    /// Reads true or false.
    mutating func boolean() throws(JSONError) -> Bool {
        let isTrue = try nextByte() == UInt8(ascii: "t")
        try word(isTrue ? "true" : "false")
        return isTrue
    }

    /// Reads an integer: a number, or a string with one, as 64-bit integers are written.
    mutating func integer<Number: FixedWidthInteger>(as type: Number.Type = Number.self) throws(JSONError) -> Number {
        let isQuoted = try nextByte() == UInt8(ascii: "\"")
        if isQuoted { offset += 1 }
        let start = offset
        let isNegative = byte == UInt8(ascii: "-")
        if isNegative { offset += 1 }
        var value: Number = 0
        let firstDigit = offset
        while let digit = byte.flatMap(Self.digit) {
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, secondOverflow) =
                isNegative
                ? product.subtractingReportingOverflow(Number(digit)) : product.addingReportingOverflow(Number(digit))
            guard !overflow, !secondOverflow else { throw JSONError(offset: start, reason: "an integer that is out of range") }
            value = sum
            offset += 1
        }
        guard offset > firstDigit else { throw error("an integer was expected") }
        if isQuoted {
            guard byte == UInt8(ascii: "\"") else { throw error("an integer was expected") }
            offset += 1
        } else if let byte, Self.continuesNumber(byte) {
            throw error("an integer was expected")
        }
        return value
    }

    /// Reads a string.
    mutating func string() throws(JSONError) -> String {
        let start = try nextOffset()
        let (content, isEscaped) = try stringContent()
        let text = isEscaped ? JSONEscape.decode(bytes[content])?[...] : bytes[content]
        guard let text, let string = String(validUTF8: text) else {
            throw JSONError(offset: start, reason: "a string that is not valid Unicode")
        }
        return string
    }

    /// Reads a string with bytes in base64.
    mutating func base64() throws(JSONError) -> [UInt8] {
        let start = try nextOffset()
        let (content, isEscaped) = try stringContent()
        let text = isEscaped ? JSONEscape.decode(bytes[content])?[...] : bytes[content]
        guard let decoded = text.flatMap(Base64.decode) else { throw JSONError(offset: start, reason: "a string that is not base64") }
        return decoded
    }

    /// Passes over a value of any type.
    mutating func skip() throws(JSONError) {
        switch try nextByte() {
        case UInt8(ascii: "{"):
            try beginObject()
            while try nextMember() != nil { try skip() }
        case UInt8(ascii: "["):
            try beginArray()
            while try nextElement() { try skip() }
        case UInt8(ascii: "\""): _ = try stringContent()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        default: try skipNumber()
        }
    }

    /// Checks that nothing but white space follows.
    mutating func finish() throws(JSONError) {
        skipSpace()
        guard offset == bytes.count else { throw error("something follows the value") }
    }

    /// The first byte of the next value, which tells its type.
    mutating func nextByte() throws(JSONError) -> UInt8 {
        bytes[try nextOffset()]
    }
}

// MARK: - Bytes

extension JSONScanner {
    private var byte: UInt8? {
        offset < bytes.count ? bytes[offset] : nil
    }

    private func error(_ reason: String) -> JSONError {
        JSONError(offset: offset, reason: offset < bytes.count ? reason : "the text ends too early")
    }

    private mutating func skipSpace() {
        while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
    }

    private mutating func nextOffset() throws(JSONError) -> Int {
        skipSpace()
        guard offset < bytes.count else { throw error("") }
        return offset
    }

    private mutating func expect(_ expected: UInt8, _ name: StaticString) throws(JSONError) {
        guard try nextByte() == expected else { throw error("\(name) was expected") }
        offset += 1
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount {
            guard byte == word.utf8Start[index] else { throw error("\(word) was expected") }
            offset += 1
        }
    }

    /// Passes over a string, and returns where its content stands, between the quotation marks.
    private mutating func stringContent() throws(JSONError) -> (content: Range<Int>, isEscaped: Bool) {
        try expect(UInt8(ascii: "\""), "a string")
        let start = offset
        var isEscaped = false
        while true {
            offset = endOfPlainText(from: offset)
            switch byte {
            case nil: throw error("")
            case UInt8(ascii: "\""):
                offset += 1
                return (start..<offset - 1, isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                offset = min(offset + 2, bytes.count)
            default: throw error("a control character in a string")
            }
        }
    }

    /// The offset of the next quotation mark, backslash or control character.
    private func endOfPlainText(from start: Int) -> Int {
        // For 10,000 keys with values of 180 bytes, this takes 2 ms, and a loop over the property 5.
        bytes.withUnsafeBufferPointer { bytes in
            var end = start
            while end < bytes.count, bytes[end] >= 0x20, bytes[end] != UInt8(ascii: "\""), bytes[end] != UInt8(ascii: "\\") { end += 1 }
            return end
        }
    }

    private mutating func skipNumber() throws(JSONError) {
        let start = offset
        while let byte, Self.continuesNumber(byte) { offset += 1 }
        guard JSONNumber.isValid(bytes[start..<offset]) else { throw JSONError(offset: start, reason: "a value was expected") }
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        byte >= 0x30 && byte <= 0x39 ? byte - 0x30 : nil
    }

    private static func continuesNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"): true
        default: false
        }
    }
}
