import FoundationSubset
import ObservableStorage
import PropertyListCoding

// Canonical JSON on a single line: keys are sorted by their UTF-8 bytes, integers are exact, and a real is the shortest text that parses
// to the same real, never to an integer.

extension PropertyListValue {
    /// The JSON of the value, without spaces.
    var json: String {
        var text = ""
        append(to: &text, isTyped: false)
        return text
    }

    /// JSON from which ``JSONReader`` reads the same value: types that JSON does not have are objects such as `{"$date":"…"}`.
    var typedJSON: String {
        var text = ""
        append(to: &text, isTyped: true)
        return text
    }

    /// The text that `prefs read` prints and `prefs write --type` parses: leaves are bare, containers are typed JSON.
    var bareText: String {
        switch self {
        case .string(let string): string
        case .real(let real): real.isNaN ? "nan" : real.description
        case .date(let date): date.iso8601
        case .data(let data): data.base64EncodedString()
        default: typedJSON
        }
    }

    private func append(to text: inout String, isTyped: Bool) {
        let tag = isTyped ? tag : nil
        if let tag { text += "{\"\(tag)\":" }
        switch self {
        case .string(let string): text += string.quoted
        case .real(let real) where real.isFinite: text += real.description
        case .real, .date, .data: text += "\"\(bareText)\""
        case .integer(let integer): text += integer.description
        case .boolean(let boolean): text += boolean.description
        case .uid(let uid): text += "{\"CF$UID\":\(uid)}"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.append(to: &text, isTyped: isTyped)
            }
            text += "]"
        case .dictionary(let entries):
            text += "{"
            for (index, entry) in entries.sortedEntries.enumerated() {
                text += "\(index > 0 ? "," : "")\(entry.key.quoted):"
                entry.value.append(to: &text, isTyped: isTyped)
            }
            text += "}"
        }
        if tag != nil { text += "}" }
    }

    /// The only key of the object that stands for the value in typed JSON; nil if JSON has the type.
    private var tag: String? {
        switch self {
        case .real(let real): real.isFinite ? nil : "$real"
        case .date: "$date"
        case .data: "$data"
        // One that looks like the object of another value.
        case .dictionary(let entries):
            JSONReader.tag(of: entries) != nil || entries.count == 1 && entries["CF$UID"] != nil ? "$dictionary" : nil
        default: nil
        }
    }
}

extension [String: PropertyListValue] {
    /// The JSON of a whole property list, with one entry per line.
    ///
    /// - Parameter colour: returns the colored text of a quoted key.
    func json(key colour: (String) -> String = { $0 }) -> [UInt8] {
        let lines = sortedEntries.map { "\n  \(colour($0.key.quoted)): \($0.value.json)" }
        return Array("{\(lines.joined(separator: ","))\(isEmpty ? "" : "\n")}\n".utf8)
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
        var text = "\""
        for scalar in unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.isUnprintable: text += "\\u\(Int(scalar.value).padded(to: 4, radix: 16))"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }

    /// Returns whether the string, as a key, is sorted before another one.
    func precedes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
