import Foundation
import PropertyListCoding

/// Values that are easily damaged by writing and reading them.
enum Sample {
    static let longText = String(repeating: "0123456789 äöü 中文 🙂\n", count: 3_300)

    /// Texts that both formats can represent.
    static let texts = [
        "", "a", " ", " leading and trailing ", "\n", "\t tab", "line\nfeed", "carriage\rreturn", "both\r\n", "\r", "<&>\"'", "]]>",
        "&amp;", "é", "e\u{301}", "日本", "🙂", "👩‍👩‍👧‍👦", "\u{7F}\u{80}\u{85}\u{9F}\u{A0}", "\u{2028}\u{2029}", "\u{FFFD}", "\u{FEFE}", "\u{EFBF}",
        "\u{1FFFE}\u{10FFFF}", "a\u{FEFF}b", "true", "123", "CF$UID", String(repeating: "x", count: 14), String(repeating: "x", count: 15),
        String(repeating: "ü", count: 14), String(repeating: "x", count: 255), String(repeating: "x", count: 256), longText,
    ]

    /// Texts whose first character some readers treat as a byte order mark.
    static let markedTexts = ["\u{FEFF}", "\u{FEFF}marked", "\u{FEFF}\u{FEFF}twice"]

    /// Texts that XML cannot represent.
    static let binaryTexts = ["\0", "nul\0inside", "\u{1}", "\u{8}", "\u{B}", "\u{C}", "\u{E}", "\u{1F}", "\u{FFFE}", "a\u{FFFF}"]

    static let integers: [PropertyListInteger] =
        [0, 1, -1, 127, 128, 255, 256, 32_767, 65_535, 65_536, 2_147_483_647, 4_294_967_295, 4_294_967_296, -2_147_483_648, -4_294_967_296]
        + [
            PropertyListInteger(Int64.max), PropertyListInteger(Int64.min), PropertyListInteger(UInt64.max),
            PropertyListInteger(UInt64(1) << 63),
        ]

    static let reals: [Double] = [
        0, -0.0, 1, -1, 0.1, 1 / 3, 100_000, 1e16, 1e17, -1e22, 1.0e-7, .pi, .greatestFiniteMagnitude, .leastNormalMagnitude,
        .leastNonzeroMagnitude,
        .infinity, -.infinity, .nan, 9_007_199_254_740_992, 1.7976931348623157e308,
    ]

    /// Dates that both formats can represent.
    static let dates = [
        0, 1, -1, -978_307_200, 795_000_000, 63_113_904_000, -63_113_904_000, 252_423_993_599, -978_307_201, -12_219_292_800,
    ]
    .map { Date(timeIntervalSinceReferenceDate: $0) }

    static let fractionalDates = [0.5, -0.5, 0.1, 1e-9, 795_000_000.123456, -978_307_200.999]
        .map { Date(timeIntervalSinceReferenceDate: $0) }

    /// Data of every length around the ends of base64 lines.
    static let data = [0, 1, 2, 3, 4, 14, 15, 16, 50, 51, 52, 53, 54, 255, 256, 1000]
        .map { count in Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ 13) }) }

    static let keys = [
        "", "/", "a/b/c", ".", "com.example.key", "key with spaces", "é", "🙂", "<key>", "&", "a\u{FEFF}", " ", "\r\n", "10", "9",
    ]

    static let uids: [UInt64] = [0, 1, 255, 256, 65_535, 65_536, 4_294_967_295]

    /// A dictionary of all values that both formats can represent and Foundation, `plistlib` and `plutil` read equally.
    static var common: PropertyListValue {
        .dictionary([
            "texts": .array(texts.map { .string($0) }),
            "integers": .array(integers.map { .integer($0) }),
            "reals": .array(reals.map { .real($0) }),
            "booleans": [true, false],
            "dates": .array(dates.map { .date($0) }),
            "data": .array(data.map { .data($0) }),
            "keys": .dictionary(Dictionary(uniqueKeysWithValues: keys.map { ($0, .string($0)) })),
            "empty": [[], [:], [[]], ["": [:]]],
            "nested": ["a": [["b": ["c": [1, 2.5, true, "d", .data(Data([1, 2, 3]))]]]]],
        ])
    }
}

/// Nested arrays.
func nested(_ depth: Int, around core: PropertyListValue = "core") -> PropertyListValue {
    var value = core
    for level in 0..<depth { value = level % 2 == 0 ? .array([value]) : .dictionary(["k": value]) }
    return value
}

/// The error of decoding bytes.
func failure(of data: Data) -> PropertyListError? {
    do {
        _ = try PropertyListValue.decode(data)
        return nil
    } catch {
        return error
    }
}
