// Values as JSON on one line, for people and for logs, and the characters that are escaped in any JSON.

extension PropertyListValue {
    /// JSON on one line, without spaces, in which dates, data and numbers such as NaN are strings.
    package var json: String { JSONWriter.line(self, .text) }

    /// JSON from which ``JSONReader`` reads the same value: types that JSON does not have are objects such as `{"$date":"…"}`.
    package var typedJSON: String { JSONWriter.line(self, .tagged) }
}

extension String {
    /// The JSON of the string, in which line breaks, control characters and bidirectional formatting characters are escaped.
    package var quoted: String { PropertyListValue.string(self).json }
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
