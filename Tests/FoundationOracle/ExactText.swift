import Foundation

/// The value that Foundation read, as one line of text that is unique to it. `PropertyListValue.exactText` of the tests is the same.
enum ExactText {
    /// The text of an object; nil if a property list cannot contain it.
    static func of(_ object: Any) -> String? {
        switch object {
        case let boolean where type(of: boolean) == Bool.self: "b\(boolean)"
        case let string as String: "s" + hexadecimal(Data(string.utf8))
        case let date as Date: real(date.timeIntervalSinceReferenceDate, "d")
        case let data as Data: "D" + hexadecimal(data)
        case let elements as [Any]: list(elements.map(of)).map { "[\($0)]" }
        case let entries as [String: Any]: list(sorted(entries)).map { "{\($0)}" }
        case let number as NSNumber:
            ["f", "d"].contains(String(cString: number.objCType)) ? real(number.doubleValue, "r") : "i\(number)"
        default: Mirror(reflecting: object).descendant("value").map { "u\($0)" }
        }
    }

    private static func sorted(_ entries: [String: Any]) -> [String?] {
        entries.map { (hexadecimal(Data($0.utf8)), $1) }.sorted { $0.0 < $1.0 }.map { key, value in of(value).map { "\(key)=\($0)" } }
    }

    private static func list(_ parts: [String?]) -> String? {
        parts.contains(nil) ? nil : parts.compactMap(\.self).joined(separator: ",")
    }

    private static func real(_ real: Double, _ kind: String) -> String {
        kind + (real.isNaN ? "nan" : String(real.bitPattern, radix: 16))
    }

    private static func hexadecimal(_ bytes: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }
}
