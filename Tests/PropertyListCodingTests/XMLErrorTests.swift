import Foundation
import PropertyListCoding
import Testing

@Suite("Malformed XML") struct XMLErrorTests {
    @Test("Malformed XML is an error with an offset and a reason", arguments: documents)
    func malformed(xml: String, offset: Int, reason: String) throws {
        let error = try #require(failure(of: Data(xml.utf8)))
        #expect(error.offset == offset, "\(error)")
        #expect(error.reason.contains(reason), "\(error)")
    }

    static let documents: [(String, Int, String)] = [
        ("<plist/>", 0, "empty <plist>"), ("<plist></plist>", 0, "empty <plist>"),
        ("<plist><plist><true/></plist></plist>", 7, "inside another"),
        ("<true/>x", 7, "follows the root"), ("<true/><true/>", 7, "follows the root"),
        ("<plist><true/><true/></plist>", 14, "follows the root"),
        ("<plist><true/>x</plist>", 14, "text"), ("<plist>x<true/></plist>", 7, "text"), ("<plist><true/>", 14, "ends"),
        ("<plist>", 7, "ends"),
        ("<plist><true/></plist", 21, "ends inside a tag"), ("<true", 5, "ends inside a tag"), ("<", 1, "ends inside a tag"),
        ("</dict>", 0, "closes nothing"),
        ("<dict></array>", 6, "</array> closes <dict>"), ("<array><true/>", 14, "ends inside <array>"), ("<dict>", 6, "ends inside <dict>"),
        ("<dict><true/></dict>", 6, "<true> where a key should be"), ("<dict>x</dict>", 6, "text"),
        ("<dict><key>a</key></dict>", 6, "has no value"),
        ("<dict><key>a</key>x<true/></dict>", 18, "text"), ("<dict><key>a</key><key>b</key></dict>", 18, "a key where a value should be"),
        ("<array><key>a</key></array>", 7, "a key where"), ("<key>a</key>", 0, "a key where"), ("<foo/>", 0, "unknown element <foo>"),
        ("<Dict/>", 0, "unknown element <Dict>"), ("<dictionary/>", 0, "unknown element <dictionary>"),
        ("<array><\0true/></array>", 7, "unknown element <\0true>"), ("<true></\0true>", 6, "unknown element <\0true>"),
        ("<set/>", 0, "a set"),
        ("<array><null/></array>", 7, "a null"),
        ("<![CDATA[x]]>", 0, "unknown element"), ("<true>x</true>", 6, "text"), ("<true><true/></true>", 6, "inside <true>"),
        ("<true>", 6, "ends"),
        ("<string>a", 9, "ends inside <string>"), ("<string><b>x</b></string>", 8, "unknown element <b>"),
        ("<string><true/></string>", 8, "inside <string>"),
        ("<string>a</key>", 9, "inside <string>"), ("<string><![CDATA[a]]</string>", 29, "inside a CDATA"),
        ("<string>&foo;</string>", 8, "entity"),
        ("<string>&</string>", 8, "entity"), ("<string>ab&amp</string>", 10, "entity"), ("<string>&#;</string>", 8, "character reference"),
        ("<string>&#x;</string>", 8, "character reference"), ("<string>&#xD800;</string>", 8, "character reference"),
        ("<string>&#x110000;</string>", 8, "character"),
        ("<string>&#99999999999999999999;</string>", 8, "character"), ("<string>&#XFEFF;</string>", 8, "character"),
        ("<string>&#-1;</string>", 8, "character"),
        ("<string>&#65</string>", 8, "character"), ("<string>&#65", 8, "character"), ("<integer/>", 10, "not an integer"),
        ("<real/>", 7, "not a real"), ("<date/>", 7, "not a date"),
        ("<!-- a", 6, "inside a comment"), ("<!---><true/>", 13, "inside a comment"), ("<?xml", 5, "processing instruction"),
        ("<?><true/>", 10, "processing"),
        ("<!DOCTYPE plist", 15, "document type"), ("<!DOCTYPE plist [<!ENTITY a \"b]>", 32, "document type"),
        ("<!DOCTYPE plist []", 18, "document type"),
        ("<dict><key>\u{E9}</key><true/><key>e\u{301}</key><true/></dict>", 26, "Unicode normalization"),
    ]

    @Test("Entities are never expanded")
    func entityBomb() throws {
        var xml = "<!DOCTYPE plist [<!ENTITY a0 \"ha\">"
        for level in 1..<30 { xml += "<!ENTITY a\(level) \"&a\(level - 1);&a\(level - 1);\">" }
        xml += "]><plist><string>&a29;</string></plist>"
        #expect(failure(of: Data(xml.utf8))?.reason.contains("entity") == true)
        let external = "<!DOCTYPE plist [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><string>&a;</string>"
        #expect(failure(of: Data(external.utf8))?.offset == external.utf8.count - "&a;</string>".utf8.count)
    }

    @Test(
        "Invalid UTF-8 is an error at its first byte",
        arguments: [
            [0xFF], [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xC3], [0xE4, 0xB8], [0xF0, 0x9F, 0x99], [0xC3, 0x41], [0xE4, 0x41, 0x80],
            [0xE4, 0xB8, 0x41], [0xF0, 0x9F, 0x99, 0x41],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) throws {
        for padding in 0..<9 {
            let start = "<string>" + String(repeating: "a", count: padding) + "é"
            let error = try #require(failure(of: Data(start.utf8) + Data(bytes) + Data("</string>".utf8)))
            #expect(error.offset == start.utf8.count)
            #expect(error.reason.contains("UTF-8"))
        }
    }

    @Test("Every prefix of a document is an error, not a crash")
    func truncation() throws {
        let value: PropertyListValue = ["a": [1, "tü<&>o", 3.5, true, .uid(3)], "b": .data(Data(count: 40)), "c": .date(.distantFuture)]
        let whole = try value.encoded(as: .xml)
        // Without `</plist>` there is no end.
        for length in 0..<whole.count - 1 { #expect(failure(of: whole.prefix(length)) != nil) }
        #expect(failure(of: whole.dropLast()) == nil)
    }

    @Test(
        "An error has the line and the column, in Unicode scalars, of its offset",
        arguments: [
            ("x<dict>", 1, 1), ("<dict>x</dict>", 1, 7), ("<dict>\n\tx</dict>", 2, 2), ("<dict>\r\n\r\nx</dict>", 3, 1),
            ("<dict>\r\rx</dict>", 3, 1), ("<!-- \n -->\n<dict>\n  <key>é🙂</key>x</dict>", 4, 16), ("<dict>\n", 2, 1),
        ])
    func position(xml: String, line: Int, column: Int) throws {
        let encodings: [String.Encoding] = [.utf8, .utf16LittleEndian, .utf16BigEndian, .utf32LittleEndian, .utf32BigEndian]
        for encoding in encodings where encoding == .utf8 || xml.hasPrefix("<") {
            for mark in ["", "\u{FEFF}"] {
                let data = try #require((mark + xml).data(using: encoding))
                let error = try #require(failure(of: data))
                #expect(error.line == line && error.column == column, "\(error) in \(encoding)")
            }
        }
    }

    @Test("Bytes that are invalid in their encoding, and the bytes of Latin-1, have a line and a column")
    func bytePosition() throws {
        let invalid = try #require(failure(of: Data("<string>\né".utf8) + [0xFF]))
        #expect(invalid.line == 2 && invalid.column == 2)
        let latin1 = Data("<?xml version='1.0' encoding='latin1'?>\n<array>".utf8) + [0xE9, 0xE9]
        let error = try #require(failure(of: latin1))
        #expect(error.line == 2 && error.column == 8)
        let half = try #require(failure(of: Data([0xFF, 0xFE, 0x0A, 0, 0x3C, 0, 0, 0xD8])))
        #expect(half.line == 2 && half.column == 2)
    }

    @Test("An error in a binary property list has no line")
    func binary() throws {
        let error = try #require(failure(of: Data("bplist00".utf8)))
        #expect(error.offset != nil && error.line == nil && error.column == nil)
    }
}
