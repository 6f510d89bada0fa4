import Foundation
import PropertyListCoding
import TestSupport

/// An XML property list with random comments, white space, line endings and spellings of text, which every reader accepts.
struct HandwrittenDocument {
    /// An entry of the root, and the text before it.
    struct Entry {
        let key: String
        let value: PropertyListValue
        let before: String
        let keyText: String
        var valueText: String

        /// The elements of the entry.
        var text: String { keyText + valueText }
    }

    private let start: String
    var entries: [Entry]
    private let end: String

    /// The document.
    var data: Data {
        Data((start + entries.map { $0.before + $0.text }.joined() + end).utf8)
    }

    /// The values by key.
    var values: [String: PropertyListValue] {
        Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) })
    }

    static func random(using generator: inout SeededGenerator) -> HandwrittenDocument {
        guard case .dictionary(let values) = PropertyListValue.dictionary(using: &generator) else { preconditionFailure("a dictionary") }
        var writer = Writer(generator: generator)
        defer { generator = writer.generator }
        var start =
            writer.pick(["", "\u{FEFF}"]) + writer.pick(["<?xml version=\"1.0\"?>", "<?xml version='1.0' encoding='UTF-8' ?>\r\n"])
        start += writer.pick(["", "<!DOCTYPE plist>", "<!DOCTYPE plist [<!ELEMENT a ANY><!-- ]> -->]>"]) + writer.between()
        start += "<plist version=\"1.0\">" + writer.between() + "<dict>"
        let entries = values.sorted { $0.key < $1.key }.shuffled(using: &writer.generator).map { key, value in
            Entry(
                key: key, value: value, before: writer.between(), keyText: writer.element("key", writer.escaped(key)) + writer.between(),
                valueText: writer.text(of: value))
        }
        let end = writer.between() + "</dict>" + writer.between() + "</plist>" + writer.between()
        return HandwrittenDocument(start: start, entries: entries, end: end)
    }
}

extension PropertyListValue {
    fileprivate static func dictionary(using generator: inout SeededGenerator) -> PropertyListValue {
        var entries: [String: PropertyListValue] = [:]
        for _ in 0..<Int.random(in: 0...6, using: &generator) { entries[.random(using: &generator)] = .random(depth: 2, using: &generator) }
        return .dictionary(entries)
    }
}

/// Writes elements with random spellings.
private struct Writer {
    var generator: SeededGenerator

    mutating func pick(_ texts: [String]) -> String {
        texts[Int.random(in: 0..<texts.count, using: &generator)]
    }

    /// Random white space and comments between tags.
    mutating func between() -> String {
        pick([
            "", "", " ", "\n", "\r\n", "\r", "\n\t", "\n    ", "\r\n\t\t", " \n\n  ", "<!-- <key>a</key> -->", " <!-- b -->\n",
            "\n<?c </dict>?>\n  ",
        ])
    }

    mutating func element(_ name: String, _ text: String) -> String {
        "<\(name)\(pick(["", "", " ", " a=\"b\"", "\n"]))>\(text)</\(name)\(pick(["", "", " ", "\n"]))>"
    }

    mutating func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            let reference = "&#\(pick(["", "x0"]) == "" ? String(scalar.value) : "x" + String(scalar.value, radix: 16));"
            switch scalar {
            case "&", "<", ">", "\r", "]": return reference
            case _ where Int.random(in: 0..<8, using: &generator) > 0: return String(scalar)
            default: return pick([reference, "<![CDATA[\(scalar)]]>", "<!-- d -->\(scalar)"])
            }
        }.joined()
    }

    /// The text that the library writes in an element.
    private static func plainText(of leaf: PropertyListValue) -> String {
        let document = (try? leaf.encoded(as: .xml)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        return document.split(separator: "\n").dropFirst(3).first?.split { "<>".contains($0) }.dropFirst().first.map(String.init) ?? ""
    }

    mutating func text(of value: PropertyListValue) -> String {
        switch value {
        case .string(let text): text.isEmpty ? "<string/>" : element("string", escaped(text))
        case .integer(let integer): element("integer", integer.description)
        case .real(let real): element("real", real.isInfinite ? (real < 0 ? "-inf" : "inf") : "\(real)")
        case .boolean(let boolean): pick(["<\(boolean)/>", "<\(boolean) />", "<\(boolean)></\(boolean)>"])
        case .date: element("date", Self.plainText(of: value))
        case .data(let data): element("data", between().filter(\.isWhitespace) + data.base64EncodedString())
        case .array(let elements):
            element("array", elements.map { between() + text(of: $0) }.joined() + between())
        case .dictionary(let entries):
            element(
                "dict",
                entries.sorted { $0.key < $1.key }.map { key, value in
                    between() + element("key", escaped(key)) + between() + text(of: value)
                }.joined() + between())
        case .uid(let uid): "<dict><key>CF$UID</key><integer>\(uid)</integer></dict>"
        }
    }
}
