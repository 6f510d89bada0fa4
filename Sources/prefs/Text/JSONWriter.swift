import Foundation
import PropertyListCoding

/// Writes property-list values as JSON, each value always as the same text, on a single line.
///
/// Keys are sorted by their UTF-8 bytes. Integers are exact, and a real is the shortest text that parses to the same real, never to an
/// integer.
enum JSONWriter {
    /// The text of a value, without spaces.
    static func text(of value: PropertyListValue) -> String {
        var text: [UInt8] = []
        append(value, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// A string in quotes, with line breaks and control characters escaped.
    static func quoted(_ string: String) -> String {
        var text: [UInt8] = []
        appendQuoted(string, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// The text of a whole property list, with one entry a line.
    static func object(_ entries: [String: PropertyListValue], style: Style = .plain) -> [UInt8] {
        var text = Array("{".utf8)
        var separator = "\n  "
        for (key, value) in sorted(entries) {
            text += separator.utf8
            text += style.key(quoted(key)).utf8
            text += ": ".utf8
            append(value, to: &text)
            separator = ",\n  "
        }
        text += (entries.isEmpty ? "}\n" : "\n}\n").utf8
        return text
    }

    /// Returns whether a key is sorted before another one.
    static func precedes(_ left: String, _ right: String) -> Bool {
        var (left, right) = (left, right)
        return left.withUTF8 { left in right.withUTF8 { right in left.lexicographicallyPrecedes(right) } }
    }

    private static func sorted(_ entries: [String: PropertyListValue]) -> [(key: String, value: PropertyListValue)] {
        entries.sorted { precedes($0.key, $1.key) }
    }

    private static func append(_ value: PropertyListValue, to text: inout [UInt8]) {
        switch value {
        case .string(let string): appendQuoted(string, to: &text)
        case .integer(let integer): text += integer.description.utf8
        case .real(let real): text += self.text(of: real).utf8
        case .boolean(let boolean): text += (boolean ? "true" : "false").utf8
        case .date(let date): appendQuoted(ISO8601Date.text(of: date), to: &text)
        case .data(let data): append(data, to: &text)
        case .uid(let uid): text += "{\"CF$UID\":\(uid)}".utf8
        case .array(let array): append(array, to: &text)
        case .dictionary(let dictionary): append(dictionary, to: &text)
        }
    }

    private static func append(_ array: [PropertyListValue], to text: inout [UInt8]) {
        var separator = UInt8(ascii: "[")
        for element in array {
            text.append(separator)
            append(element, to: &text)
            separator = UInt8(ascii: ",")
        }
        text += (array.isEmpty ? "[]" : "]").utf8
    }

    private static func append(_ dictionary: [String: PropertyListValue], to text: inout [UInt8]) {
        var separator = UInt8(ascii: "{")
        for (key, value) in sorted(dictionary) {
            text.append(separator)
            appendQuoted(key, to: &text)
            text.append(UInt8(ascii: ":"))
            append(value, to: &text)
            separator = UInt8(ascii: ",")
        }
        text += (dictionary.isEmpty ? "{}" : "}").utf8
    }

    /// Appends base64 in chunks, so that the encoded text is not held twice.
    private static func append(_ data: Data, to text: inout [UInt8]) {
        let chunkSize = 3 << 14
        text.append(UInt8(ascii: "\""))
        for start in stride(from: data.startIndex, to: data.endIndex, by: chunkSize) {
            text += data[start..<min(start + chunkSize, data.endIndex)].base64EncodedData()
        }
        text.append(UInt8(ascii: "\""))
    }

    private static func text(of real: Double) -> String {
        if real.isNaN { return "\"nan\"" }
        if real.isInfinite { return real < 0 ? "\"-inf\"" : "\"inf\"" }
        return real.description
    }

    private static func appendQuoted(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        var string = string
        string.withUTF8 { bytes in
            // Most of a text needs no escaping: it is copied in runs from one escape to the next.
            var start = 0
            var index = 0
            while index < bytes.count {
                let length = escapedLength(bytes, at: index)
                if length > 0 {
                    text += bytes[start..<index]
                    appendEscape(of: bytes[index..<index + length], to: &text)
                    start = index + length
                }
                index += max(length, 1)
            }
            text += bytes[start...]
        }
        text.append(UInt8(ascii: "\""))
    }

    /// The number of bytes of the character at an index if it has to be escaped, and otherwise 0.
    private static func escapedLength(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Int {
        switch bytes[index] {
        case ..<0x20, 0x22, 0x5C, 0x7F: 1
        // U+0080 to U+009F.
        case 0xC2: bytes[index + 1] < 0xA0 ? 2 : 0
        // U+2028 and U+2029, which are line breaks.
        case 0xE2: bytes[index + 1] == 0x80 && bytes[index + 2] & 0xFE == 0xA8 ? 3 : 0
        default: 0
        }
    }

    private static func appendEscape(of character: Slice<UnsafeBufferPointer<UInt8>>, to text: inout [UInt8]) {
        let last = character[character.endIndex - 1]
        text.append(UInt8(ascii: "\\"))
        switch (character.count, last) {
        case (1, UInt8(ascii: "\"")), (1, UInt8(ascii: "\\")): text.append(last)
        case (1, 0x0A): text.append(UInt8(ascii: "n"))
        case (1, 0x0D): text.append(UInt8(ascii: "r"))
        case (1, 0x09): text.append(UInt8(ascii: "t"))
        // The last hexadecimal digits of these scalars are those of their last UTF-8 byte.
        case (3, _): text += "u202\(String(last & 0xF, radix: 16))".utf8
        case (_, ..<0x10): text += "u000\(String(last, radix: 16))".utf8
        default: text += "u00\(String(last, radix: 16))".utf8
        }
    }
}
