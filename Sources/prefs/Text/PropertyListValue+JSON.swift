import FoundationSubset
import PropertyListCoding

// Canonical JSON on a single line: keys are sorted by their UTF-8 bytes, integers are exact, and a real is the shortest text that parses
// to the same real, never to an integer.

extension PropertyListValue {
    /// The JSON of the value, without spaces.
    var json: String {
        var text: [UInt8] = []
        text.append(json: self, isTyped: false)
        return String(decoding: text, as: UTF8.self)
    }

    /// JSON from which ``JSONReader`` reads the same value: types that JSON does not have are objects such as `{"$date":"…"}`.
    var typedJSON: String {
        var text: [UInt8] = []
        text.append(json: self, isTyped: true)
        return String(decoding: text, as: UTF8.self)
    }

    /// The text that `prefs read` prints and `prefs write --type` parses: leaves are bare, containers are typed JSON.
    var bareText: String {
        switch self {
        case .string(let string): string
        case .real(let real): [UInt8].bareText(of: real)
        case .date(let date): date.iso8601
        case .data(let data): data.base64EncodedString()
        default: typedJSON
        }
    }
}

extension [String: PropertyListValue] {
    /// The JSON of a whole property list, with one entry per line.
    ///
    /// - Parameter colour: returns the colored text of a quoted key.
    func json(key colour: (String) -> String = { $0 }) -> [UInt8] {
        var text = Array("{".utf8)
        var separator = "\n  "
        for (key, value) in sortedEntries {
            text += separator.utf8
            text += colour(key.quoted).utf8
            text += ": ".utf8
            text.append(json: value, isTyped: false)
            separator = ",\n  "
        }
        text += (isEmpty ? "}\n" : "\n}\n").utf8
        return text
    }

    /// The entries, sorted by the bytes of their names.
    var sortedEntries: [(key: String, value: PropertyListValue)] {
        sorted { $0.key.precedes($1.key) }
    }
}

extension String {
    /// The string, quoted unless it is unambiguous without quotes.
    var displayName: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_./$".unicodeScalars.contains($0)
        }
        return isPlain && !isEmpty ? self : quoted
    }

    /// The JSON of the string, in which line breaks, control characters and bidirectional formatting characters are escaped.
    var quoted: String {
        var text: [UInt8] = []
        text.append(quoted: self)
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns whether the string, as a key, is sorted before another one.
    func precedes(_ other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in right.withUTF8 { right in left.lexicographicallyPrecedes(right) } }
    }
}

extension [UInt8] {
    fileprivate mutating func append(json value: PropertyListValue, isTyped: Bool) {
        switch value {
        case .string(let string): append(quoted: string)
        case .integer(let integer): self += integer.description.utf8
        case .real(let real) where real.isFinite: self += real.description.utf8
        case .real(let real): append(tag: "$real", isTyped) { $0.append(quoted: Self.bareText(of: real)) }
        case .boolean(let boolean): self += (boolean ? "true" : "false").utf8
        case .date(let date): append(tag: "$date", isTyped) { $0.append(quoted: date.iso8601) }
        case .data(let data): append(tag: "$data", isTyped) { $0.append(base64: data) }
        case .uid(let uid): self += "{\"CF$UID\":\(uid)}".utf8
        case .array(let array): append(json: array, isTyped: isTyped)
        case .dictionary(let dictionary):
            let looksLikeUID = dictionary.count == 1 && dictionary["CF$UID"] != nil
            let isTagged = isTyped && (looksLikeUID || JSONReader.tag(of: dictionary) != nil)
            append(tag: "$dictionary", isTagged) { $0.append(json: dictionary, isTyped: isTyped) }
        }
    }

    private mutating func append(tag: StaticString, _ isTagged: Bool, _ value: (inout Self) -> Void) {
        if isTagged { self += "{\"\(tag)\":".utf8 }
        value(&self)
        if isTagged { append(UInt8(ascii: "}")) }
    }

    private mutating func append(json array: [PropertyListValue], isTyped: Bool) {
        var separator = UInt8(ascii: "[")
        for element in array {
            append(separator)
            append(json: element, isTyped: isTyped)
            separator = UInt8(ascii: ",")
        }
        self += (array.isEmpty ? "[]" : "]").utf8
    }

    private mutating func append(json dictionary: [String: PropertyListValue], isTyped: Bool) {
        var separator = UInt8(ascii: "{")
        for (key, value) in dictionary.sortedEntries {
            append(separator)
            append(quoted: key)
            append(UInt8(ascii: ":"))
            append(json: value, isTyped: isTyped)
            separator = UInt8(ascii: ",")
        }
        self += (dictionary.isEmpty ? "{}" : "}").utf8
    }

    /// Appends base64 in chunks, so that the encoded text is not held twice.
    private mutating func append(base64 data: Data) {
        let chunkSize = 3 << 14
        append(UInt8(ascii: "\""))
        for start in stride(from: data.startIndex, to: data.endIndex, by: chunkSize) {
            self += data[start..<Swift.min(start + chunkSize, data.endIndex)].base64EncodedData()
        }
        append(UInt8(ascii: "\""))
    }

    fileprivate static func bareText(of real: Double) -> String {
        if real.isNaN { return "nan" }
        if real.isInfinite { return real < 0 ? "-inf" : "inf" }
        return real.description
    }

    fileprivate mutating func append(quoted string: String) {
        append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { bytes in
            // Copies runs between escapes, because most text needs none.
            var start = 0
            var index = 0
            while index < bytes.count {
                let length = Self.escapedLength(bytes, at: index)
                if length > 0 {
                    self += bytes[start..<index]
                    appendEscape(of: bytes[index..<index + length])
                    start = index + length
                }
                index += Swift.max(length, 1)
            }
            self += bytes[start...]
        }
        append(UInt8(ascii: "\""))
    }

    /// The number of bytes of the character at an index if it has to be escaped, and otherwise 0.
    private static func escapedLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        switch bytes[index] {
        case ..<0x20, 0x22, 0x5C, 0x7F: 1
        // U+0080 to U+009F.
        case 0xC2: bytes[index + 1] < 0xA0 ? 2 : 0
        // Bidirectional: U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. Line breaks: U+2028, U+2029.
        case 0xD8: bytes[index + 1] == 0x9C ? 2 : 0
        case 0xE2:
            switch (bytes[index + 1], bytes[index + 2]) {
            case (0x80, 0x8E...0x8F), (0x80, 0xA8...0xAE), (0x81, 0xA6...0xA9): 3
            default: 0
            }
        default: 0
        }
    }

    private mutating func appendEscape(of character: Slice<UnsafeBufferPointer<UInt8>>) {
        let last = character[character.endIndex - 1]
        append(UInt8(ascii: "\\"))
        switch (character.count, last) {
        case (1, UInt8(ascii: "\"")), (1, UInt8(ascii: "\\")): append(last)
        case (1, 0x0A): append(UInt8(ascii: "n"))
        case (1, 0x0D): append(UInt8(ascii: "r"))
        case (1, 0x09): append(UInt8(ascii: "t"))
        default:
            for scalar in String(decoding: character, as: UTF8.self).unicodeScalars {
                let digits = String(scalar.value, radix: 16)
                self += "u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            }
        }
    }
}
