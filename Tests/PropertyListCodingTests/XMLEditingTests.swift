import Foundation
import PropertyListCoding
import Testing

@Suite("Editing the text of XML") struct XMLEditingTests {
    typealias Edits = [String: PropertyListValue?]

    private func edited(_ document: Data, _ edits: Edits) throws -> Data {
        guard case .dictionary(let entries) = try PropertyListValue.decode(document).value else { throw CocoaError(.coderInvalidValue) }
        return try PropertyListValue.encode(entries, with: edits, as: .xml, editing: document)
    }

    private func edited(_ document: String, _ edits: Edits) throws -> String {
        String(decoding: try edited(Data(document.utf8), edits), as: UTF8.self)
    }

    /// The same with the entries of a dictionary, one level deep.
    private func body(_ lines: String, _ edits: Edits) throws -> String {
        let (start, end) = ("<plist>\n<dict>\n", "</dict>\n</plist>\n")
        let text = try edited(start + lines + end, edits)
        #expect(text.hasPrefix(start) && text.hasSuffix(end))
        return String(text.dropFirst(start.count).dropLast(end.count))
    }

    @Test(
        "An empty dictionary whose tag ends with several slashes gets entries",
        arguments: ["<dict//>\t\t", "<dict / //>", "<plist><dict///></plist>"])
    func slashes(document: String) throws {
        #expect(try PropertyListValue.decode(Data(edited(document, ["a": 1]).utf8)).value == ["a": 1])
    }

    private static let byHand = """
        \u{FEFF}<?xml version='1.0' encoding='utf-8' standalone="yes" ?>
        <!DOCTYPE plist [<!ENTITY a "b">]>
        <!-- Settings of the server -->
        <plist  version = "1.0">
        <dict>
            <!-- The port: 1024 or above -->
            <key>p&#x6F;rt</key>   <integer>0x1F90</integer> <!-- hexadecimal -->

            <key>name</key>
            <string><![CDATA[<home>]]> &amp; <!-- more -->garden</string>
            <key>rate</key><real>1.50</real>
            <key>nested</key>
            <dict>
                <!-- inside -->
                <key>b</key> <true />
                <key>a</key> <false></false>
            </dict>
            <key>list</key>
            <array>
                <string>one</string> <!-- 1 -->
                <string>two</string> <!-- 2 -->
            </array>
            <!-- the end -->
        </dict>
        </plist>
        <!-- after -->
        """

    @Test(
        "A changed value replaces its element, and no other byte",
        arguments: [
            (["port": 81], "<integer>0x1F90</integer>", "<integer>81</integer>"),
            (["name": "<x>"], "<string><![CDATA[<home>]]> &amp; <!-- more -->garden</string>", "<string>&lt;x&gt;</string>"),
            (["rate": true], "<real>1.50</real>", "<true/>"),
            (["nested": ["b": false, "a": false]], "<true />", "<false/>"),
            (["nested": ["b": true, "a": "x"]], "<false></false>", "<string>x</string>"),
            (["list": ["one", 2]], "<string>two</string>", "<integer>2</integer>"),
        ] as [(Edits, String, String)])
    func change(edits: Edits, old: String, new: String) throws {
        #expect(try edited(Self.byHand, edits) == Self.byHand.replacing(old, with: new))
    }

    @Test("An edit that sets equal values, or none, changes no byte")
    func unchanged() throws {
        #expect(try edited(Self.byHand, [:]) == Self.byHand)
        let same: Edits = ["port": 8080, "rate": 1.5, "nested": ["a": false, "b": true], "list": ["one", "two"], "missing": nil]
        #expect(try edited(Self.byHand, same) == Self.byHand)
    }

    @Test("A date that XML represents as the present one keeps its text")
    func rounding() throws {
        let document = "<dict><key>a</key><date>2001-01-01T00:00:00Z</date></dict>"
        #expect(try edited(document, ["a": .date(Date(timeIntervalSinceReferenceDate: 0.5))]) == document)
    }

    @Test("A removed entry is removed with its lines; comments on other lines or after it remain")
    func removal() throws {
        let lines =
            "\t<!-- a -->\n\t<key>a</key>\n\t<true/>\n\n\t<key>b</key> <true/>  \r\n"
            + "\t<key>c</key><!-- inside -->\n<true/> <!-- c -->\n"
        #expect(try body(lines, ["a": nil]) == lines.replacing("\t<key>a</key>\n\t<true/>\n", with: ""))
        #expect(try body(lines, ["b": nil]) == lines.replacing("\t<key>b</key> <true/>  \r\n", with: ""))
        #expect(try body(lines, ["c": nil]) == lines.replacing("<key>c</key><!-- inside -->\n<true/> ", with: ""))
        #expect(try body(lines, ["a": nil, "b": nil, "c": nil]) == "\t<!-- a -->\n\n\t<!-- c -->\n")
        let line = "<dict> <key>a</key> <true/> <key>b</key> <true/> <!-- b --> </dict>"
        #expect(try edited(line, ["a": nil]) == "<dict> <key>b</key> <true/> <!-- b --> </dict>")
        #expect(try edited(line, ["b": nil]) == "<dict> <key>a</key> <true/> <!-- b --> </dict>")
        #expect(try edited(line, ["a": nil, "b": nil]) == "<dict> <!-- b --> </dict>")
    }

    @Test("A removed entry of a nested dictionary, and removed elements at the end of an array, are removed with their lines")
    func nestedRemoval() throws {
        let last = "        <key>a</key> <false></false>\n"
        #expect(try edited(Self.byHand, ["nested": ["b": true]]) == Self.byHand.replacing(last, with: ""))
        #expect(try edited(Self.byHand, ["list": ["one"]]) == Self.byHand.replacing("<string>two</string> ", with: ""))
        let lines = "<key>a</key>\n<array>\n\t<integer>1</integer>\n\t<integer>2</integer>\n\t<integer>3</integer>\n</array>\n"
        #expect(try body(lines, ["a": [1]]) == "<key>a</key>\n<array>\n\t<integer>1</integer>\n</array>\n")
        #expect(try body(lines, ["a": []]) == "<key>a</key>\n<array>\n</array>\n")
    }

    @Test("A new entry goes before the closing tag, with the indentation of the others, in the order of the new keys")
    func addition() throws {
        let new = "    <key>A</key><string>x</string>\n    <key>é</key><integer>1</integer>\n"
        let document = Self.byHand.replacing("<key>list</key>\n    ", with: "<key>list</key>")
        let expected = document.replacing("    <!-- the end -->\n", with: "    <!-- the end -->\n\(new)")
        #expect(try edited(document, ["é": 1, "A": "x"]) == expected)
        #expect(try body("\t<key>a</key>\n\t<true/>\n", ["b": 1]) == "\t<key>a</key>\n\t<true/>\n\t<key>b</key>\n\t<integer>1</integer>\n")
        #expect(try body("<key>a</key>\r\n<true/>\r\n", ["b": 1]) == "<key>a</key>\r\n<true/>\r\n<key>b</key>\r\n<integer>1</integer>\r\n")
        let line = "<dict><key>a</key> <true/></dict>"
        #expect(try edited(line, ["b": ["c": [1]]]) == line.replacing("<true/>", with: "<true/><key>b</key> \(Self.inOneLine)"))
        #expect(
            try edited("<dict>\n <key>a</key> <true/> <!-- a --></dict>", ["b": true])
                == "<dict>\n <key>a</key> <true/> <!-- a -->\n <key>b</key> <true/></dict>")
    }

    private static let inOneLine = "<dict><key>c</key><array><integer>1</integer></array></dict>"

    @Test("A new entry of a nested dictionary, and elements that follow those of an array, have the indentation of their neighbours")
    func nestedAddition() throws {
        let nested: PropertyListValue = ["a": false, "b": true, "c": 1]
        let last = "<key>a</key> <false></false>\n"
        #expect(
            try edited(Self.byHand, ["nested": nested])
                == Self.byHand.replacing(last, with: "\(last)        <key>c</key> <integer>1</integer>\n"))
        let comment = "<!-- 2 -->\n"
        #expect(
            try edited(Self.byHand, ["list": ["one", "two", 3, []]])
                == Self.byHand.replacing(comment, with: "\(comment)        <integer>3</integer>\n        <array/>\n"))
    }

    @Test("A new container is indented as the others are")
    func container() throws {
        let lines = "  <key>a</key>\n  <true/>\n"
        let value: PropertyListValue = ["b": [1], "c": .data(Data([1, 2, 3])), "d": .uid(7)]
        let text = """
              <dict>
                <key>b</key>
                <array>
                  <integer>1</integer>
                </array>
                <key>c</key>
                <data>
                AQID
                </data>
                <key>d</key>
                <dict>
                  <key>CF$UID</key>
                  <integer>7</integer>
                </dict>
              </dict>

            """
        #expect(try body(lines, ["b": value]) == "\(lines)  <key>b</key>\n\(text)")
        #expect(try body(lines, ["a": value]) == "  <key>a</key>\n\(text)")
    }

    @Test("An empty dictionary or array is opened for its first child")
    func first() throws {
        let expected = "<plist><dict a='b'>\n\t<key>a</key>\n\t<integer>1</integer>\n</dict></plist>"
        #expect(try edited("<plist><dict a='b' /></plist>", ["a": 1]) == expected)
        #expect(try edited("<plist><dict a='b'></dict></plist>", ["a": 1]) == expected)
        #expect(try body("", ["a": 1]) == "\t<key>a</key>\n\t<integer>1</integer>\n")
        #expect(try body(" <!-- none -->\n", ["a": 1]) == " <!-- none -->\n\t<key>a</key>\n\t<integer>1</integer>\n")
        let lines = "  <key>a</key>\n  <dict/> <!-- a -->\n  <key>b</key>\n  <array></array>\n"
        #expect(
            try body(lines, ["a": ["c": 1], "b": [2]])
                == """
                  <key>a</key>
                  <dict>
                    <key>c</key>
                    <integer>1</integer>
                  </dict> <!-- a -->
                  <key>b</key>
                  <array>
                    <integer>2</integer>
                  </array>

                """)
        let line = "<dict><key>a</key><array/></dict>"
        #expect(try edited(line, ["a": [1]]) == line.replacing("<array/>", with: "<array><integer>1</integer></array>"))
    }

    @Test("The last entry is removed and another one is added")
    func exchange() throws {
        #expect(try body("\t<key>a</key>\n\t<true/>\n", ["a": nil, "b": 1]) == "\t<key>b</key>\n\t<integer>1</integer>\n")
        #expect(try edited("<dict><key>a</key><true/></dict>", ["a": nil, "b": true]) == "<dict><key>b</key><true/></dict>")
    }

    @Test("An array in which elements moved is replaced as a whole")
    func array() throws {
        let lines = "\t<key>a</key>\n\t<array><true/> <!-- x -->\n<false/></array>\n"
        #expect(try body(lines, ["a": [false]]) == "\t<key>a</key>\n\t<array>\n\t\t<false/>\n\t</array>\n")
    }

    @Test("A document in another encoding, or with a repeated key in a changed dictionary, is rewritten")
    func anew() throws {
        let text = "<?xml version='1.0'?><!-- c --><dict><key>a</key><true/></dict>"
        let utf16 = try #require(text.data(using: .utf16LittleEndian))
        let latin1 = Data(text.replacing("?>", with: " encoding='latin1'?>").utf8)
        let repeated = Data("<dict><key>a</key><true/><key>a</key><true/></dict>".utf8)
        for document in [utf16, latin1, repeated] {
            #expect(try edited(document, ["a": 1]) == PropertyListValue.dictionary(["a": 1]).encoded(as: .xml))
        }
        let inner = "<dict><key>b</key>\n<dict><key>a</key><true/><key>a</key><true/></dict><key>c</key><true/></dict>"
        #expect(try edited(inner, ["c": 1]) == inner.replacing("<key>c</key><true/>", with: "<key>c</key><integer>1</integer>"))
    }

    @Test("An ASCII document keeps its text while the new text is ASCII")
    func ascii() throws {
        let text = "<?xml version='1.0' encoding='US-ASCII'?><!-- c --><dict><key>a</key><true/></dict>"
        #expect(try edited(text, ["a": "e"]) == text.replacing("<true/>", with: "<string>e</string>"))
        #expect(try edited(Data(text.utf8), ["a": "é"]) == PropertyListValue.dictionary(["a": "é"]).encoded(as: .xml))
    }

    @Test("A value that XML cannot represent is an error, as without a document")
    func unrepresentable() throws {
        for value in ["\u{1}", ["CF$UID": 1], nested(512)] as [PropertyListValue] {
            #expect(throws: PropertyListError.self) { try edited(Self.byHand, ["name": value]) }
            #expect(throws: PropertyListError.self) { try edited(Self.byHand, ["new": value]) }
        }
        #expect(throws: PropertyListError.self) { try edited(Self.byHand, ["nested": ["CF$UID": 1]]) }
        #expect(try edited(Self.byHand, ["new": nested(511)]).hasPrefix("\u{FEFF}<?xml version='1.0'"))
    }
}
