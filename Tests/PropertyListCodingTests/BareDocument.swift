import Foundation

/// An XML property list in UTF-8 without the parts that the reader ignores, so that stricter readers accept it.
///
/// Accepted here and rejected by others: UTF-16 and UTF-32 without a byte order mark or with another encoding in the declaration; anything
/// after the name in a tag; anything in declarations, comments and document types; anything after `</plist>`; no `<plist>`, or white space
/// before it (`plistlib` requires it, and first); white space around numbers (Foundation allows none); and years of other than four digits
/// (`plistlib` requires four).
struct BareDocument {
    private var text = "".unicodeScalars
    private let source: [Unicode.Scalar]
    private var position = 0

    init(_ bytes: Data) {
        source = Array(Self.text(of: bytes).unicodeScalars)
        while position < source.count, !String(text).hasSuffix("</plist>") { copy() }
    }

    /// The document.
    var data: Data {
        let number = /<(integer|real|date)>\s*([^<]*?)\s*<\//
        let trimmed = String(text).trimmingPrefix(while: \.isWhitespace).replacing(number) { "<\($0.output.1)>\($0.output.2)</" }
        return Data((trimmed.contains("<plist>") ? trimmed : "<plist>\(trimmed)</plist>").utf8)
    }

    private static func text(of bytes: Data) -> String {
        let start = [UInt8](bytes.prefix(4)) + [UInt8](repeating: 1, count: max(0, 4 - bytes.count))
        let encoding: String.Encoding =
            switch (start[0], start[1], start[2], start[3]) {
            case (0, 0, 0, _), (0, 0, 0xFE, 0xFF): .utf32BigEndian
            case (_, 0, 0, 0), (0xFF, 0xFE, 0, 0): .utf32LittleEndian
            case (0, _, _, _), (0xFE, 0xFF, _, _): .utf16BigEndian
            case (_, 0, _, _), (0xFF, 0xFE, _, _): .utf16LittleEndian
            default: isLatin1(bytes) ? .isoLatin1 : .utf8
            }
        return String(data: bytes, encoding: encoding) ?? String(data: bytes, encoding: .isoLatin1) ?? ""
    }

    /// Whether the declaration names Latin-1.
    private static func isLatin1(_ bytes: Data) -> Bool {
        guard bytes.starts(with: "<?xml".utf8), let end = bytes.firstIndex(of: UInt8(ascii: ">")) else { return false }
        let declaration = String(decoding: bytes[..<end], as: UTF8.self).uppercased()
        return declaration.contains("LATIN1") || declaration.contains("8859-1")
    }

    private mutating func copy() {
        if begins("<?") {
            skip(to: "?>", from: 2)
        } else if begins("<!--") {
            skip(to: "-->", from: 4)
        } else if begins("<!DOCTYPE") {
            skipDocumentType()
        } else if begins("<![CDATA[") {
            let start = position
            skip(to: "]]>", from: 9)
            text.append(contentsOf: source[start..<position])
        } else if begins("<") {
            copyTag()
        } else {
            text.append(source[position])
            position += 1
        }
    }

    private mutating func copyTag() {
        let start = position
        position += begins("</") ? 2 : 1
        while position < source.count, source[position] != ">", source[position] != "/", !source[position].properties.isWhitespace {
            position += 1
        }
        text.append(contentsOf: source[start..<position])
        skip(to: ">", from: 0)
        if !source[start...].starts(with: "</".unicodeScalars), source[position - 2] == "/" { text.append("/") }
        text.append(">")
    }

    private mutating func skipDocumentType() {
        while position < source.count, source[position] != ">", source[position] != "[" { position += 1 }
        if begins("[") {
            var quote: Unicode.Scalar?
            while position < source.count, quote != nil || source[position] != "]" {
                if quote == nil, begins("<!--") || begins("<?") {
                    skip(to: begins("<?") ? "?>" : "-->", from: 2)
                    continue
                }
                if source[position] == quote {
                    quote = nil
                } else if quote == nil, "\"'".unicodeScalars.contains(source[position]) {
                    quote = source[position]
                }
                position += 1
            }
        }
        skip(to: ">", from: 0)
    }

    private func begins(_ start: String) -> Bool {
        source[position...].starts(with: start.unicodeScalars)
    }

    private mutating func skip(to end: String, from offset: Int) {
        position += offset
        while position < source.count, !begins(end) { position += 1 }
        position = min(source.count, position + end.unicodeScalars.count)
    }
}
