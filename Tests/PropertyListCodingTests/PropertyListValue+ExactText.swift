import Foundation
import PropertyListCoding

extension PropertyListValue {
    /// The value as one line of text that is unique to it. `FoundationOracle` has the same for Foundation's values.
    var exactText: String {
        text { Self.bits($0, "d") }
    }

    /// The same with dates to the millisecond: `plistlib` preserves only microseconds.
    var millisecondText: String {
        text { "d" + String(format: "%.0f", ($0 * 1_000).rounded()) }
    }

    private func text(date: (TimeInterval) -> String) -> String {
        switch self {
        case .string(let string): "s" + Self.hexadecimal(Data(string.utf8))
        case .integer(let integer): "i\(integer)"
        case .real(let real): Self.bits(real, "r")
        case .boolean(let boolean): "b\(boolean)"
        case .date(let moment): date(moment.timeIntervalSinceReferenceDate)
        case .data(let data): "D" + Self.hexadecimal(data)
        case .array(let elements): "[" + elements.map { $0.text(date: date) }.joined(separator: ",") + "]"
        case .dictionary(let entries):
            "{"
                + entries.map { (Self.hexadecimal(Data($0.utf8)), $1) }.sorted { $0.0 < $1.0 }
                .map { "\($0)=\($1.text(date: date))" }.joined(separator: ",") + "}"
        case .uid(let uid): "u\(uid)"
        }
    }

    private static func bits(_ real: Double, _ kind: String) -> String {
        kind + (real.isNaN ? "nan" : String(real.bitPattern, radix: 16))
    }

    private static func hexadecimal(_ bytes: Data) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] }, as: UTF8.self)
    }
}
