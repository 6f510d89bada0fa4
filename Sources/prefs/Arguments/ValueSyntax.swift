import FoundationSubset
import PropertyListCoding

/// The syntax of a value on the command line; the raw value is the name of the option that selects it.
enum ValueSyntax: String, CaseIterable {
    case string, int, real, bool, date, data, json

    /// The names of the types that `prefs type` prints, which `--type` takes.
    static let typeNames = ["string", "integer", "real", "boolean", "date", "data", "array", "dictionary", "uid"]

    /// Parses a value.
    func value(_ text: String) throws(CommandError) -> PropertyListValue {
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
        guard let value else { throw .usage("\(expectation): \(text)") }
        return value
    }

    /// Parses what `prefs read` prints for a value of a type.
    static func value(_ text: String, ofType type: String) throws(CommandError) -> PropertyListValue {
        switch type {
        case "string": return .string(text)
        case "integer": return try int.value(text)
        case "real": return try real.value(text)
        case "boolean": return try bool.value(text)
        case "date": return try date.value(text)
        case "data": return try data.value(text)
        default:
            let value = try JSONReader.value(of: text, isTyped: true)
            guard value.typeName == type else { throw .usage("the value is of type \(value.typeName), not \(type)") }
            return value
        }
    }

    private var expectation: String {
        switch self {
        case .string: "not a string"
        case .int: "not a whole number from \(Int64.min) to \(UInt64.max)"
        case .real: "not a number in range"
        case .bool: "not true, false, yes, no, 1 or 0"
        case .date: "not an ISO 8601 date with Z or an offset"
        case .data: "not base64"
        case .json: "not JSON"
        }
    }

    private static func real(_ text: String) -> Double? {
        guard let real = Double(text) else { return nil }
        // `Double` parses a number that is out of range as infinity.
        return real.isInfinite && !text.lowercased().contains("inf") ? nil : real
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "1": true
        case "false", "no", "0": false
        default: nil
        }
    }
}

extension Data {
    /// Decodes base64, strictly: Foundation also accepts `====`, `AA=A` and bits that belong to no byte.
    init?(strictBase64 text: String) {
        self.init(base64Encoded: text)
        guard base64EncodedString() == text else { return nil }
    }
}
