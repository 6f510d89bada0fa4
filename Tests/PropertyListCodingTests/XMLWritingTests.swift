import Foundation
import PropertyListCoding
import Testing

@Suite("Writing XML") struct XMLWritingTests {
    private func body(_ value: PropertyListValue) throws -> String {
        let text = String(decoding: try value.encoded(as: .xml), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.prefix(3).joined().hasSuffix("<plist version=\"1.0\">"))
        #expect(text.hasSuffix("\n</plist>\n"))
        return lines.dropFirst(3).dropLast(2).joined(separator: "\n")
    }

    @Test("Markup, carriage returns and a leading U+FEFF are written so that every reader preserves them")
    func escapes() throws {
        #expect(try body("<&>\"'") == "<string>&lt;&amp;&gt;\"'</string>")
        #expect(try body("a\r\n") == "<string>a&#13;\n</string>")
        #expect(try body("\u{FEFF}a\u{FEFF}") == "<string>&#xFEFF;a\u{FEFF}</string>")
        #expect(try body(["\r": true]) == "<dict>\n\t<key>&#13;</key>\n\t<true/>\n</dict>")
    }

    @Test("Numbers are written in their shortest form, and every reader accepts them")
    func numbers() throws {
        #expect(
            try body([0.1, -0.0, 1e22, .real(.nan), .real(.infinity), .real(-.infinity)]).split(separator: "\n").dropFirst().dropLast().map
            { $0.dropFirst() } == [
                "<real>0.1</real>", "<real>-0.0</real>", "<real>1e+22</real>", "<real>nan</real>", "<real>+infinity</real>",
                "<real>-infinity</real>",
            ])
        #expect(try body(.integer(PropertyListInteger(UInt64.max))) == "<integer>18446744073709551615</integer>")
        #expect(try body(.uid(7)) == "<dict>\n\t<key>CF$UID</key>\n\t<integer>7</integer>\n</dict>")
    }

    @Test("Characters that XML cannot represent are an error that names them", arguments: Sample.binaryTexts)
    func unwritable(text: String) throws {
        for value in [.string(text), .dictionary([text: true])] as [PropertyListValue] {
            #expect {
                try value.encoded(as: .xml)
            } throws: { error in
                let error = error as? PropertyListError
                return error?.offset == nil && error?.reason.contains("U+") == true && error?.reason.contains("binary") == true
            }
        }
    }

    @Test("Dates are truncated to whole seconds, and those outside the years 0 to 9999 are an error")
    func dates() throws {
        func date(_ seconds: Double) -> PropertyListValue { .date(Date(timeIntervalSinceReferenceDate: seconds)) }
        #expect(try body(date(0.999)) == "<date>2001-01-01T00:00:00Z</date>")
        #expect(try body(date(-0.001)) == "<date>2000-12-31T23:59:59Z</date>")
        #expect(try body(date(252_423_993_599.5)) == "<date>9999-12-31T23:59:59Z</date>")
        #expect(try body(date(-63_113_904_000)) == "<date>0001-01-01T00:00:00Z</date>")
        #expect(try body(.date(.distantPast)) == "<date>0000-12-30T00:00:00Z</date>")
        #expect(try body(date(-63_145_526_400)) == "<date>0000-01-01T00:00:00Z</date>")
        for seconds in [252_423_993_600, -63_145_526_400.5, 1e300, -1e300, .infinity, -.infinity, .nan] {
            #expect(throws: PropertyListError.self) { try date(seconds).encoded(as: .xml) }
        }
    }

    @Test("Every day from 1890 to 2110 is read back, and months of the years 1600 to 9999 agree with Foundation's calendar")
    func calendar() throws {
        let days = PropertyListValue.array(
            (-40_500..<40_000).map { .date(Date(timeIntervalSinceReferenceDate: Double($0) * 86_400 + 43_210)) })
        let isSame = try PropertyListValue.decode(days.encoded(as: .xml)).value == days
        #expect(isSame)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for year in stride(from: 1600, through: 9999, by: 293) {
            for month in 1...12 {
                let text = "<date>\(year)-\(month < 10 ? "0" : "")\(month)-28T01:02:03Z</date>"
                let date = calendar.date(from: DateComponents(year: year, month: month, day: 28, hour: 1, minute: 2, second: 3))
                #expect(try PropertyListValue.decode(Data(text.utf8)).value == .date(#require(date)))
            }
        }
    }

    @Test("A dictionary that would be read back as a uid, and a uid at the maximum depth, are errors")
    func uids() throws {
        #expect(throws: PropertyListError.self) { try PropertyListValue.array([["CF$UID": 1]]).encoded(as: .xml) }
        #expect(throws: PropertyListError.self) { try PropertyListValue.array([["CF$UID": 1.0]]).encoded(as: .xml) }
        #expect(throws: PropertyListError.self) { try nested(512, around: .uid(1)).encoded(as: .xml) }
        let deep = nested(511, around: .uid(1))
        #expect(try PropertyListValue.decode(deep.encoded(as: .xml)).value == deep)
        let binary = nested(512, around: .uid(1))
        #expect(try PropertyListValue.decode(binary.encoded(as: .binary)).value == binary)
    }

    @Test("Up to 16 levels are indented by a tab each, and deeper ones by no more")
    func indentation() throws {
        func nested(around core: PropertyListValue) -> PropertyListValue { (0..<40).reduce(core) { value, _ in [value] } }
        let lines = try body(nested(around: true)).split(separator: "\n")
        #expect(lines.map { $0.prefix { $0 == "\t" }.count } == (0...40).map { min($0, 16) } + (0..<40).reversed().map { min($0, 16) })
        let data = PropertyListValue.data(Data(count: 30))
        #expect(try body(nested(around: data)).contains("\t<data>\n\t\t\t\t\t\t\t\tAAAAAAAAAAAA\n"))
    }

    @Test(
        "Values in a deep container use little more space than necessary",
        arguments: [PropertyListValue.boolean(true), .data(Data()), .array([]), .data(Data([1]))])
    func deepSize(_ leaf: PropertyListValue) throws {
        let values = PropertyListValue.array(Array(repeating: leaf, count: 10_000))
        let size = try values.encoded(as: .xml).count
        let deep = nested(500, around: values)
        #expect(try deep.encoded(as: .xml).count < size * 5)
        #expect(try PropertyListValue.decode(deep.encoded(as: .xml)).value == deep)
    }
}
