import FoundationSubset

extension PropertyListValue: CustomStringConvertible {
    private static let longestData = 32

    /// The value as one line in the style of an old-style property list, for people to read: `{ hosts = ("a", "b"); port = 80; }`.
    ///
    /// Keys are sorted, strings are quoted and escaped, dates are in UTC, and long data is cut. Equal values have the same text; different
    /// ones can have the same too, because dates are cut to milliseconds.
    public var description: String {
        var text = ""
        append(to: &text, levels: DecodingLimits.depth)
        return text
    }

    /// Appends containers up to a depth, because deep recursion could exhaust the stack.
    private func append(to text: inout String, levels: Int) {
        switch self {
        case .string(let string): text += string.debugDescription
        case .integer(let integer): text += integer.description
        case .real(let real): text += real.description
        case .boolean(let boolean): text += boolean.description
        case .date(let date): text += Self.text(of: date)
        case .data(let data): text += Self.text(of: data)
        case .array(let elements):
            guard levels > 0 || elements.isEmpty else { return text += "(…)" }
            text += "("
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.append(to: &text, levels: levels - 1)
            }
            text += ")"
        case .dictionary(let entries):
            guard !entries.isEmpty else { return text += "{}" }
            guard levels > 0 else { return text += "{…}" }
            text += "{ "
            for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
                text += "\(Self.isPlain(key) ? key : key.debugDescription) = "
                value.append(to: &text, levels: levels - 1)
                text += "; "
            }
            text += "}"
        case .uid(let uid): text += "uid(\(uid))"
        }
    }

    /// Whether a key needs no quotes.
    private static func isPlain(_ key: String) -> Bool {
        !key.isEmpty && key.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || "_-.$".contains($0) }
    }

    private static func text(of data: Data) -> String {
        let bytes = data.prefix(longestData).map { Int($0).padded(to: 2, radix: 16) }.joined()
        return data.count > longestData ? "<\(bytes)… \(data.count) bytes>" : "<\(bytes)>"
    }

    /// The date in ISO 8601, with milliseconds if it has a fraction of a second.
    private static func text(of date: Date) -> String {
        let seconds = date.timeIntervalSinceReferenceDate
        let whole = seconds.rounded(.down)
        // Beyond the precision of seconds there is no time of day.
        guard whole.magnitude < 9e15 else { return "date(\(seconds))" }
        // The difference rounds to 1 for a date that is barely before a second.
        let fraction = seconds == whole ? "" : ".\(min(999, Int((seconds - whole) * 1_000)).padded(to: 3))"
        return "\(CalendarDate(secondsSinceReference: Int64(whole)).text)\(fraction)Z"
    }
}
