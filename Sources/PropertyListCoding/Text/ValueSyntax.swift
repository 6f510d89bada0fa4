import FoundationSubset

/// The syntax of a value as a person types it; the raw value names it in the options of `prefs`.
package enum ValueSyntax: String, CaseIterable {
    case string, int, real, bool, date, data, json

    /// Parses a value.
    ///
    /// - Throws: ``PropertyListError`` if the text has another syntax.
    package func value(_ text: String) throws(PropertyListError) -> PropertyListValue {
        let value: PropertyListValue? =
            switch self {
            case .string: .string(text)
            case .int: Int128(text).flatMap { PropertyListInteger(exactly: $0) }.map { .integer($0) }
            case .real: Self.real(text).map { .real($0) }
            case .bool: Self.boolean(text).map { .boolean($0) }
            case .date: Date(iso8601: text).map { .date($0) }
            case .data: Data(strictBase64: text).map { .data($0) }
            case .json: try JSONReader.value(of: text)
            }
        guard let value else { throw PropertyListError(offset: nil, reason: "\(expectation): \(text)") }
        return value
    }

    /// The values that a text of unknown syntax can denote, the string first. A number is not a boolean, and JSON only an array or a
    /// dictionary.
    package static func readings(of text: String) -> [PropertyListValue] {
        func reading(_ syntax: ValueSyntax) -> PropertyListValue? {
            do throws(PropertyListError) { return try syntax.value(text) } catch { return nil }
        }
        let number = reading(.int) ?? reading(.real)
        let boolean = number == nil ? reading(.bool) : nil
        let (typed, plain) = (container(in: text, isTyped: true), container(in: text, isTyped: false))
        return [.string(text), boolean, number, reading(.date), typed, plain == typed ? nil : plain, reading(.data)].compactMap { $0 }
    }

    /// The array, the dictionary or, in typed JSON, the value that a tagged object stands for.
    private static func container(in text: String, isTyped: Bool) -> PropertyListValue? {
        guard let first = text.first(where: { !$0.isWhitespace }), first == "[" || first == "{" else { return nil }
        do throws(PropertyListError) { return try JSONReader.value(of: text, isTyped: isTyped) } catch { return nil }
    }

    private var expectation: String {
        switch self {
        case .string: "not a string"
        case .int: "not a whole number from \(Int64.min) to \(UInt64.max)"
        case .real: "not a number in range"
        case .bool: "not true, yes, on, 1, false, no, off or 0"
        case .date: "not an ISO 8601 date with Z or an offset"
        case .data: "not base64"
        case .json: "not JSON"
        }
    }

    private static func real(_ text: String) -> Double? {
        guard let real = Double(text) else { return nil }
        // `Double` parses a number that is out of range as infinity.
        return real.isInfinite && !text.lowercased().unicodeScalars.contains("i") ? nil : real
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "on", "1": true
        case "false", "no", "off", "0": false
        default: nil
        }
    }
}

extension PropertyListValue {
    /// The text from which ``ValueSyntax`` reads the value: leaves are bare, containers are typed JSON. `prefs read` prints it, and
    /// `prefs write --type` parses it.
    package var bareText: String {
        switch self {
        case .string(let string): string
        case .real(let real): real.isNaN ? "nan" : real.description
        case .date(let date): date.iso8601
        case .data(let data): data.base64EncodedString()
        default: typedJSON
        }
    }
}

extension Data {
    /// Decodes base64, strictly: Foundation also accepts `====`, `AA=A` and nonzero padding bits.
    init?(strictBase64 text: String) {
        self.init(base64Encoded: text)
        guard base64EncodedString() == text else { return nil }
    }
}
