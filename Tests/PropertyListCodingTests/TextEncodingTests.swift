import Foundation
import PropertyListCoding
import Testing

@Suite("Text encodings") struct TextEncodingTests {
    static let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist><string>aé中🙂\u{FEFF}</string></plist>"
    static let encodings: [(String.Encoding, [UInt8])] = [
        (.utf16BigEndian, [0xFE, 0xFF]), (.utf16LittleEndian, [0xFF, 0xFE]), (.utf32BigEndian, [0, 0, 0xFE, 0xFF]),
        (.utf32LittleEndian, [0xFF, 0xFE, 0, 0]),
    ]

    @Test("UTF-16 and UTF-32 are read with and without a byte order mark, whatever the declaration says", arguments: encodings)
    func wide(encoding: String.Encoding, mark: [UInt8]) throws {
        let data = try #require(Self.text.data(using: encoding))
        #expect(try PropertyListValue.decode(Data(mark) + data).value == "aé中🙂\u{FEFF}")
        #expect(try PropertyListValue.decode(data).value == "aé中🙂\u{FEFF}")
    }

    @Test("A byte order mark in UTF-8 is skipped")
    func mark() throws {
        #expect(try PropertyListValue.decode(Data("\u{FEFF}\(Self.text)".utf8)).value == "aé中🙂\u{FEFF}")
        #expect(failure(of: Data("\u{FEFF}".utf8))?.offset == 3)
    }

    @Test("Latin-1 and ASCII are read if they are declared")
    func declared() throws {
        let latin = Data("<?xml version=\"1.0\" encoding='iso-8859-1'?><string>".utf8) + Data([0xE9, 0x80, 0xFF]) + Data("</string>".utf8)
        #expect(try PropertyListValue.decode(latin).value == "é\u{80}ÿ")
        let ascii = "<?xml version=\"1.0\" encoding=\"US-ASCII\"?><string>a"
        #expect(try PropertyListValue.decode(Data("\(ascii)</string>".utf8)).value == "a")
        let error = try #require(failure(of: Data("\(ascii)é</string>".utf8)))
        #expect(error.offset == ascii.utf8.count)
        #expect(error.reason.contains("not ASCII"))
    }

    @Test("Other encodings and wrong declarations are errors that name the reason")
    func refused() throws {
        for name in ["windows-1252", "bogus", "Shift_JIS"] {
            let error = try #require(failure(of: Data("<?xml version=\"1.0\" encoding=\"\(name)\"?><true/>".utf8)))
            #expect(error.offset == 30)
            #expect(error.reason.contains(name))
        }
        #expect(failure(of: Data("<?xml version=\"1.0\" encoding=\"UTF-16\"?><true/>".utf8))?.reason.contains("bytes are not") == true)
        // An unrecognized encoding is read as UTF-8, as in Foundation.
        #expect(try PropertyListValue.decode(Data("<?xml version=\"1.0?><true/>".utf8)).value == true)
        #expect(try PropertyListValue.decode(Data("<?xml encoding=?><true/>".utf8)).value == true)
    }

    @Test("Offsets count the bytes of the input, not of its UTF-8", arguments: encodings)
    func offsets(encoding: String.Encoding, mark: [UInt8]) throws {
        let start = "<array><string>é中🙂</string>"
        let data = try #require((start + "<wrong/></array>").data(using: encoding))
        let size = try #require(start.data(using: encoding)).count
        #expect(failure(of: Data(mark) + data)?.offset == mark.count + size)
        #expect(failure(of: data)?.offset == size)
        #expect(failure(of: data.dropLast(mark.count / 2)) != nil)
    }

    @Test("Half of a surrogate pair and an invalid character number are errors at their offset")
    func invalid() throws {
        let half = Data([0xFE, 0xFF, 0, 0x3C, 0xD8, 0x00, 0, 0x3E])
        #expect(failure(of: half)?.offset == 4)
        #expect(failure(of: half)?.reason.contains("UTF-16") == true)
        #expect(failure(of: Data([0xFE, 0xFF, 0, 0x3C, 0]))?.offset == 4)
        let wide = Data([0, 0, 0xFE, 0xFF, 0, 0, 0, 0x3C, 0, 0, 0xD8, 0])
        #expect(failure(of: wide)?.offset == 8)
        #expect(failure(of: wide)?.reason.contains("UTF-32") == true)
        #expect(failure(of: wide.prefix(10))?.offset == 8)
    }

    /// Scalars at the ends of the ranges that UTF-8 and UTF-16 represent alike.
    static let scalars: [UInt32] = [0x20, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x3FFFF, 0x40000, 0x10FFFF]

    @Test("Texts of all scalar sizes are the same in both formats and as Foundation's UTF-16, wherever in a word they begin")
    func sizes() throws {
        for first in Self.scalars {
            for second in Self.scalars {
                for start in 0..<9 {
                    let scalars =
                        Array(repeating: 0x61, count: start) + [first, second, first, 0x62, second] + Array(repeating: second, count: 7)
                    let text = String(String.UnicodeScalarView(scalars.compactMap(Unicode.Scalar.init)))
                    let binary = try PropertyListValue.string(text).encoded(as: .binary)
                    if first > 0x7F || second > 0x7F {
                        #expect(binary.firstRange(of: try #require(text.data(using: .utf16BigEndian))) != nil)
                    }
                    #expect(try PropertyListValue.decode(binary).value == .string(text))
                    #expect(try PropertyListValue.decode(PropertyListValue.string(text).encoded(as: .xml)).value == .string(text))
                }
            }
        }
    }

    @Test("Invalid UTF-8 is an error at the first byte of its scalar, wherever in a word it is, as the standard library decides")
    func invalidUTF8() throws {
        let bytes: [UInt8] = [0x61, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5]
        for first in bytes {
            for second in bytes {
                for third in bytes {
                    // The last two: between blocks of which none is ASCII.
                    for (before, after) in [(0, 0), (5, 0), (8, 0), (-6, 18), (-18, 6)] {
                        let letter = before < 0 ? "é" : "a"
                        let text =
                            Array(String(repeating: letter, count: abs(before)).utf8) + [first, second, third, 0x80, 0x62]
                            + Array(String(repeating: letter, count: after).utf8)
                        let data = Data("<string>".utf8) + Data(text) + Data("</string>".utf8)
                        let expected = String(validating: text, as: UTF8.self)
                        if let expected {
                            #expect(try PropertyListValue.decode(data).value == .string(expected))
                        } else {
                            let valid = try #require(failure(of: data)?.offset) - 8
                            #expect(String(validating: text[..<valid], as: UTF8.self) != nil)
                            #expect(
                                (valid + 1...min(valid + 4, text.count)).allSatisfy {
                                    String(validating: text[..<$0], as: UTF8.self) == nil
                                })
                        }
                    }
                }
            }
        }
    }

    @Test("Every scalar is valid UTF-8, wherever in a block it begins")
    func scalarsInBlocks() {
        let text = Array(String(String.UnicodeScalarView((0...0x10FFFF).compactMap(Unicode.Scalar.init))).utf8)
        for start in 0..<4 {
            #expect((Array(repeating: 0x61, count: start) + text).withUnsafeBytes { $0.isValidUTF8 })
        }
    }

    @Test("Every two bytes, with up to two that continue them, are valid UTF-8 as the standard library decides, inside and at the end")
    func pairsInBlocks() {
        for first in UInt8.min ... .max {
            for second in UInt8.min ... .max {
                // All places in a block occur with each kind of pair.
                let start = Int(first &+ second) % 20
                for size in 2...4 {
                    var text = [UInt8](repeating: 0x61, count: 44)
                    text.replaceSubrange(start..<start + size, with: [first, second, 0x80, 0xBF].prefix(size))
                    for text in [text[...], text[..<(start + size)]] {
                        let isValid = text.withUnsafeBytes { $0.isValidUTF8 }
                        if isValid != (String(validating: text, as: UTF8.self) != nil) { Issue.record("\(text)") }
                    }
                }
            }
        }
    }
}
