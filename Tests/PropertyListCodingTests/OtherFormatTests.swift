import Foundation
import PropertyListCoding
import Testing

@Suite("Other formats") struct OtherFormatTests {
    @Test("Old-style lists and empty input are errors that name the format", arguments: others)
    func looks(text: String, offset: Int, reason: String) throws {
        let error = try #require(failure(of: Data(text.utf8)))
        #expect(error.offset == offset)
        #expect(error.reason.contains(reason), "\(error)")
    }

    static let others: [(String, Int, String)] = [
        ("", 0, "no bytes"), (" \n\t", 0, "white space"), ("\n", 0, "white space"), ("{a = b;}", 0, "plutil -convert xml1"),
        ("\n( a, b )", 1, "OpenStep"), ("{ a: 1 }", 0, "not JSON"), ("// a\n{ a = b; }", 5, "OpenStep"),
        ("// a comment", 0, "OpenStep"), ("\"x\"", 0, "OpenStep"), ("hello", 0, "neither"),
        ("# a note\n", 0, "neither"), ("port = 80;", 0, "neither"), ("// a\nhello", 5, "neither"),
        ("<0fbd77>", 0, "OpenStep"), ("{ \"a\" = 1; }", 0, "OpenStep"),
        ("{\"a", 0, "OpenStep"), ("{\"a\": b}", 6, "JSON"), ("/* a", 0, "JSON"),
        ("\u{FEFF}{a = b;}", 3, "OpenStep"),
        ("\0\0\0\0", 0, "neither"), ("\u{1}", 0, "neither"), ("é", 0, "neither"), ("bplist15", 6, "version"), ("bplist", 6, "version"),
    ]

    @Test("They are also recognized in UTF-16")
    func utf16() throws {
        let data = try #require("{a = b;}".data(using: .utf16LittleEndian))
        #expect(failure(of: Data([0xFF, 0xFE]) + data)?.reason.contains("OpenStep") == true)
    }

    @Test("An error's description contains the reason, and the line and column or else the offset")
    func description() {
        #expect(PropertyListError(offset: 7, line: 2, column: 3, reason: "something").description == "something (at line 2, column 3)")
        #expect(PropertyListError(offset: 7, reason: "something").description == "something (at byte 7)")
        #expect(PropertyListError(offset: nil, reason: "something").description == "something")
    }
}
