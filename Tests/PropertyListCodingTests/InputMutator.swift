import Foundation
import PropertyListCoding
import TestSupport

/// Creates bytes that are almost property lists, in an order determined by a seed.
struct InputMutator {
    private static let largest = 2_048
    private let files: [[UInt8]]
    private var generator: SeededGenerator

    /// Starts with random values, hand-written files, and the given files.
    init(seed: UInt64, files: [[UInt8]]) {
        generator = SeededGenerator(seed: seed)
        var own = Self.handmade
        for _ in 0..<40 {
            let value: PropertyListValue = ["v": .random(depth: 2, using: &generator), "u": .uid(7), "t": "tüxt"]
            for format in PropertyListFormat.allCases {
                if let bytes = try? value.encoded(as: format), bytes.count <= Self.largest { own.append([UInt8](bytes)) }
            }
        }
        self.files = own + files
    }

    /// A file with a few damaged parts.
    mutating func next() -> Data {
        var bytes = pick(files)
        for _ in 0..<pick([1, 1, 1, 1, 2, 4]) where !bytes.isEmpty { damage(&bytes) }
        return Data(bytes.prefix(Self.largest))
    }

    /// The bytes of another file, with a few damaged parts.
    mutating func damaged(_ file: Data) -> Data {
        var bytes = [UInt8](file)
        for _ in 0..<pick([0, 1, 1, 1, 2]) where !bytes.isEmpty { damage(&bytes) }
        return Data(bytes)
    }

    private mutating func damage(_ bytes: inout [UInt8]) {
        let offset = randomOffset(in: bytes)
        switch number(below: 12) {
        case 0: bytes[offset] ^= 1 << UInt8(number(below: 8))
        case 1: bytes[offset] = pick(Self.boundaryBytes)
        case 2: bytes[offset] = UInt8(number(below: 256))
        case 3: bytes.removeSubrange(offset..<min(bytes.count, offset + 1 + number(below: 8)))
        case 4: bytes.insert(contentsOf: bytes[offset..<min(bytes.count, offset + 16)], at: offset)
        case 5: bytes.insert(UInt8(number(below: 256)), at: offset)
        case 6: put(pick(Self.boundaryNumbers), in: &bytes, at: offset, size: pick([1, 2, 4, 8]))
        case 7: bytes.insert(contentsOf: pick(Self.words), at: offset)
        case 8: bytes.replaceSubrange(offset..<min(bytes.count, offset + 4), with: pick(Self.words))
        case 9:
            let other = pick(files)
            let start = number(below: max(other.count, 1))
            bytes.insert(contentsOf: other[start..<min(other.count, start + 40)], at: offset)
        case 10: bytes.removeSubrange(offset...)
        default: for index in offset..<min(bytes.count, offset + 1 + number(below: 64)) { bytes[index] = 0 }
        }
    }

    /// Anywhere, but equally often among the last bytes, where a binary list has its tables.
    private mutating func randomOffset(in bytes: [UInt8]) -> Int {
        let start = Bool.random(using: &generator) ? max(0, bytes.count - 60) : 0
        return start + number(below: bytes.count - start)
    }

    private func put(_ number: UInt64, in bytes: inout [UInt8], at offset: Int, size: Int) {
        for (index, byte) in zip(offset..<bytes.count, BinaryList.bytes(number, size)) { bytes[index] = byte }
    }

    private mutating func number(below bound: Int) -> Int {
        Int.random(in: 0..<bound, using: &generator)
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }
}

extension InputMutator {
    private static let boundaryBytes: [UInt8] = [
        0, 1, 8, 9, 0x0F, 0x10, 0x13, 0x14, 0x22, 0x23, 0x26, 0x33, 0x3C, 0x3E, 0x41, 0x4F, 0x51, 0x5F, 0x61, 0x6F, 0x7F, 0x80, 0xA1, 0xAF,
        0xB1, 0xD1, 0xDF, 0xFF,
    ]

    private static let boundaryNumbers: [UInt64] = [
        0, 1, 2, 7, 8, 9, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF, 1 << 32, 1 << 61, 1 << 62, 1 << 63, .max,
        .max - 1, .max - 8, 0x7FF0_0000_0000_0000, 0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0000, 0x43E0_0000_0000_0000,
    ]

    private static let words = [
        "<dict>", "</dict>", "<dict/>", "<array>", "</array>", "<key>", "</key>", "<key>a</key>", "<key>CF$UID</key>", "<string>",
        "</string>", "<string/>", "<integer>", "</integer>", "<integer>-9223372036854775808</integer>", "<real>", "</real>",
        "<real>1e400", "<date>", "</date>", "<date>9999-12-31T23:59:60Z</date>", "<data>", "</data>", "<data>AA==</data>", "<true/>",
        "<false/>", "<plist>", "</plist>", "<null/>", "<set>", "&amp;", "&lt;", "&#0;", "&#x10FFFF;", "&#xD800;", "&a;", "]]>",
        "<![CDATA[", "<!--", "-->", "<?", "?>", "<!DOCTYPE", "[<!ENTITY a \"b\">]>", "encoding=\"UTF-16\"", "encoding='latin1'",
        "\u{FEFF}", "\u{0}", "\r\n", "e\u{301}", "é", "+", "0x", "nan", "inf", " ", "bplist00", "bplist15",
        "{", "}", "[", "]", ",", ":", "\"", "\"a\":", "\\", "\\u", "\\ud83d", "\\ude00", "//", "/*", "*/", "null", "true", "-0", "1e", "1.",
    ].map { [UInt8]($0.utf8) }

    /// Structures that no writer creates.
    private static var handmade: [[UInt8]] {
        let lists = [
            BinaryList.entry([0x14] + BinaryList.bytes(.max, 8) + BinaryList.bytes(1 << 63, 8)),
            BinaryList.entry([0x22, 0x7F, 0xC0, 0, 1]),
            BinaryList.entry([0x33] + BinaryList.bytes(0x7FF8_0000_0000_0000, 8)), BinaryList.entry([0x62, 0xD8, 0x3D, 0xDE, 0x42]),
            BinaryList.entry([0x83, 0, 0, 0, 9]), BinaryList([0xA2, 1, 1], [0xA2, 2, 2], [0xD1, 3, 3], Array("Qk".utf8)),
            BinaryList([0xAF, 0x10, 0x10] + [UInt8](repeating: 1, count: 16), [0xA8] + [UInt8](repeating: 2, count: 8), [0xA0]),
            BinaryList([0xD2, 1, 2, 3, 3], [0x61, 0, 0xE9], [0x62, 0, 0x65, 3, 1], [0x09]),
        ]
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"x\">"
        let documents = [
            "\(head)<plist version=\"1.0\"><dict><key>a</key><string>b&amp;<![CDATA[<c>]]>&#x41;</string></dict></plist>",
            "<!-- c --><array><integer>0x7F</integer><integer> -5 </integer><real>1.5e3</real><date>2001-01-01T00:00:00Z</date></array>",
            "<plist><dict><key>x</key><dict><key>CF$UID</key><integer>3</integer></dict><key>x</key><data> AA\nAA </data></dict></plist>",
            "{\"a\": [1, -2.5e3, true, null, \"t\\u00fcxt\"], \"b\": {}}",
            "// c\n{\n  \"a\": 1, /* d */\n  \"b\": [\n    {\"c\": null},\n  ],\n}\n",
            "[{\"a\":{\"b\":[[],{}]},\"c\":18446744073709551615,\"d\":\"\\ud83d\\ude00\"}]",
            "<dict><key>é</key><true/><key>e</key><false/><key></key><array><dict/><array/><string/></array></dict>",
        ]
        let texts = documents.flatMap { text in
            [.utf8, .utf16BigEndian, .utf16LittleEndian, .utf32BigEndian, .utf32LittleEndian].compactMap { text.data(using: $0) }
        }
        return (lists.map(\.data) + texts).map { [UInt8]($0) }
    }
}
