import FoundationSubset

// Canonical JSON on a single line: keys are sorted by their UTF-8 bytes, integers are exact, and a real is the shortest text that parses
// to the same real, never to an integer.

extension PropertyListValue {
    /// The JSON of the value, without spaces.
    package var json: String {
        var text = ""
        append(to: &text, isTyped: false)
        return text
    }

    /// JSON from which ``JSONReader`` reads the same value: types that JSON does not have are objects such as `{"$date":"…"}`.
    package var typedJSON: String {
        var text = ""
        append(to: &text, isTyped: true)
        return text
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
            let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            text += "{"
            for (index, entry) in sorted.enumerated() {
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

extension String {
    /// The JSON of the string, in which line breaks, control characters and bidirectional formatting characters are escaped.
    package var quoted: String {
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
}

extension Unicode.Scalar {
    /// Whether it controls a terminal or the direction of text; a tab and a line feed do not count.
    package var isUnprintable: Bool {
        switch value {
        case 0x09, 0x0A: false
        case ..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
