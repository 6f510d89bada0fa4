import Foundation
import PropertyListCoding

/// Writes property-list values as JSON: always the same text for the same value, and always on one line.
///
/// Keys stand in the order of their UTF-8 bytes. Integers are exact, and a real is the shortest text that reads as the same
/// real, never as an integer.
enum JSONText {
    /// A value, without any spaces.
    static func text(of value: PropertyListValue) -> String {
        var text = ""
        append(value, to: &text)
        return text
    }

    /// A string between quotes; what could end a line or drive a terminal is escaped.
    static func quoted(_ string: String) -> String {
        var text = ""
        appendQuoted(string, to: &text)
        return text
    }

    /// A whole property list, one entry a line.
    static func object(_ entries: [String: PropertyListValue], style: Style = .plain) -> Data {
        guard !entries.isEmpty else { return Data("{}\n".utf8) }
        let lines = entries.keys.sorted(by: precedes).map { key in
            "  \(style.key(quoted(key))): \(entries[key].map(text(of:)) ?? "null")"
        }
        return Data("{\n\(lines.joined(separator: ",\n"))\n}\n".utf8)
    }

    /// Whether a key stands before another one.
    static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    private static func append(_ value: PropertyListValue, to text: inout String) {
        switch value {
        case .string(let string): appendQuoted(string, to: &text)
        case .integer(let integer): text += integer.description
        case .real(let real): text += self.text(of: real)
        case .boolean(let boolean): text += boolean ? "true" : "false"
        case .date(let date): appendQuoted(DateText.text(of: date), to: &text)
        case .data(let data): appendQuoted(data.base64EncodedString(), to: &text)
        case .uid(let uid): text += "{\"CF$UID\":\(uid)}"
        case .array(let array): append(array, to: &text)
        case .dictionary(let dictionary): append(dictionary, to: &text)
        }
    }

    private static func append(_ array: [PropertyListValue], to text: inout String) {
        var separator = "["
        for element in array {
            text += separator
            append(element, to: &text)
            separator = ","
        }
        text += array.isEmpty ? "[]" : "]"
    }

    private static func append(_ dictionary: [String: PropertyListValue], to text: inout String) {
        var separator = "{"
        for (key, value) in dictionary.sorted(by: { precedes($0.key, $1.key) }) {
            text += separator
            appendQuoted(key, to: &text)
            text += ":"
            append(value, to: &text)
            separator = ","
        }
        text += dictionary.isEmpty ? "{}" : "}"
    }

    private static func text(of real: Double) -> String {
        if real.isNaN { return "\"nan\"" }
        if real.isInfinite { return real < 0 ? "\"-inf\"" : "\"inf\"" }
        return real.description
    }

    private static func appendQuoted(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\0"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
