import Foundation
import PropertyListCoding
import TestSupport

/// A JSON object with random comments, white space, line endings, commas and spellings of text.
struct HandwrittenJSON {
    /// A member of the root, and what is around it.
    struct Member {
        let key: String
        /// nil if it is null.
        let value: PropertyListValue?
        let before: String
        let keyText: String
        var valueText: String
        let after: String

        /// The key and the value.
        var text: String { keyText + valueText }
    }

    private let start: String
    var members: [Member]
    private let end: String

    /// The document.
    var data: Data {
        Data((start + members.map { $0.before + $0.text + $0.after }.joined() + end).utf8)
    }

    /// The values by key.
    var values: [String: PropertyListValue] {
        Dictionary(uniqueKeysWithValues: members.compactMap { member in member.value.map { (member.key, $0) } })
    }

    /// - Parameters:
    ///   - isStrict: whether it has neither comments, commas after the last element, nor null.
    ///   - isDense: whether there is little more than comments between tokens, so that line breaks are needed.
    static func random(isStrict: Bool = false, isDense: Bool = false, using generator: inout SeededGenerator) -> HandwrittenJSON {
        var entries: [String: PropertyListValue] = [:]
        for _ in 0..<Int.random(in: 0...6, using: &generator) {
            entries[.random(using: &generator)] = .random(depth: 2, using: &generator).asJSONValue
        }
        var writer = Writer(generator: generator, isStrict: isStrict, isDense: isDense)
        defer { generator = writer.generator }
        let start = (isStrict ? "" : writer.pick(["", "\u{FEFF}"])) + writer.between() + "{"
        let keys = entries.keys.sorted().shuffled(using: &writer.generator)
        let members = keys.enumerated().map { index, key in
            let isNull = !isStrict && writer.pick(["", "", "", "", "null"]) == "null"
            let (before, keyText) = (writer.between(), writer.text(of: .string(key)) + writer.between() + ":" + writer.between())
            return Member(
                key: key, value: isNull ? nil : entries[key], before: before, keyText: keyText,
                valueText: isNull ? "null" : writer.text(of: entries[key] ?? 0),
                after: writer.between() + (index < keys.count - 1 ? "," : writer.lastComma()))
        }
        return HandwrittenJSON(start: start, members: members, end: writer.between() + "}" + writer.between())
    }
}

/// Writes values with random spellings.
private struct Writer {
    var generator: SeededGenerator
    let isStrict: Bool
    let isDense: Bool

    mutating func pick(_ texts: [String]) -> String {
        texts[Int.random(in: 0..<texts.count, using: &generator)]
    }

    /// Random white space and comments between tokens.
    mutating func between() -> String {
        if isDense { return pick(["", "", "", "", " ", "\n", "//\n", " // a \n ", "/* b */", "/*\n*/"]) }
        let spaces = ["", "", " ", "\n", "\r\n", "\r", "\n\t", "\n    ", "\r\n\t\t", " \n\n  "]
        if isStrict { return pick(spaces) }
        return pick(
            spaces + ["/* \(generator.next() % 1_000) */", " // \(generator.next() % 1_000)\n", "\n  /* a \n \"b\": 1 */\n  ", " //\r\n"])
    }

    mutating func lastComma() -> String {
        isStrict ? "" : pick(["", "", ",", " ,"])
    }

    private mutating func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            let units = String(scalar).utf16.map { "\\u" + String(0x1_0000 + Int($0), radix: 16).dropFirst() }.joined()
            switch scalar {
            case "\"", "\\": return pick(["\\\(scalar)", units])
            case "/": return pick(["/", "\\/", units])
            case _ where scalar.value < 0x20: return units
            case _ where Int.random(in: 0..<8, using: &generator) > 0: return String(scalar)
            default: return units
            }
        }.joined()
    }

    mutating func text(of value: PropertyListValue) -> String {
        switch value {
        case .string(let text): return "\"\(escaped(text))\""
        case .integer(let integer): return integer.description
        case .real(let real): return pick(["\(real)", "\(real)".contains("e") ? "\(real)" : "\(real)000", "\(real)".uppercased()])
        case .boolean(let boolean): return boolean.description
        case .array(let elements):
            let texts = elements.map { between() + text(of: $0) + between() }
            return "[" + (texts.isEmpty ? between() : texts.joined(separator: ",") + lastComma() + between()) + "]"
        case .dictionary(let entries):
            let texts = entries.sorted { $0.key < $1.key }.map { key, value in
                between() + text(of: .string(key)) + between() + ":" + between() + text(of: value) + between()
            }
            return "{" + (texts.isEmpty ? between() : texts.joined(separator: ",") + lastComma() + between()) + "}"
        case .date, .data, .uid: return "0"
        }
    }
}
