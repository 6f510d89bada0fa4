import Foundation
import PropertyListCoding

/// How a value is written on the command line; the raw value is the option's name.
enum ValueSyntax: String, CaseIterable {
    case string, int, real, bool, date, data, json

    /// The value that a text stands for.
    func value(_ text: String) throws(ArgumentParser.Mistake) -> PropertyListValue {
        let value: PropertyListValue? =
            switch self {
            case .string: .string(text)
            case .int: Int128(text).flatMap { PropertyListInteger(exactly: $0) }.map { .integer($0) }
            case .real: Self.real(text).map { .real($0) }
            case .bool: Self.boolean(text).map { .boolean($0) }
            case .date: DateText.date(text).map { .date($0) }
            case .data: Self.data(text).map { .data($0) }
            case .json: try Self.json(text)
            }
        guard let value else { throw ArgumentParser.Mistake(reason: "\(expectation): \(text)") }
        return value
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
        // A number too large to store is read as infinity, which nobody wrote.
        return real.isInfinite && !text.lowercased().contains("inf") ? nil : real
    }

    /// The data, if the text is what it is written as: Foundation takes other text too, such as `====`, `AA=A` and bits that no byte has.
    private static func data(_ text: String) -> Data? {
        Data(base64Encoded: text).flatMap { $0.base64EncodedString() == text ? $0 : nil }
    }

    private static func boolean(_ text: String) -> Bool? {
        switch text.lowercased() {
        case "true", "yes", "1": true
        case "false", "no", "0": false
        default: nil
        }
    }

    private static func json(_ text: String) throws(ArgumentParser.Mistake) -> PropertyListValue {
        do throws(JSONReader.Mistake) {
            return try JSONReader.value(of: text)
        } catch {
            throw ArgumentParser.Mistake(reason: "not JSON for a property list: \(error.reason) (at byte \(error.offset))")
        }
    }
}
