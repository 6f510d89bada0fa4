import Foundation
import PropertyListCoding
import Testing

@Suite("Reading XML") struct XMLReadingTests {
    @Test("Elements are read in every notation", arguments: readable)
    func reads(xml: String, value: PropertyListValue) throws {
        let decoded = try PropertyListValue.decode(Data(xml.utf8))
        #expect(decoded.value == value)
        #expect(decoded.format == .xml)
    }

    static let readable: [(String, PropertyListValue)] = [
        ("<plist><true/></plist>", true), ("<true/>", true), ("<true />", true), ("<true></true>", true), ("<false> </false>", false),
        ("<false a='b'/>", false),
        ("<dict/>", [:]), ("<dict></dict>", [:]), ("<dict ></dict >", [:]), ("<array/>", []), ("<array> <!-- --> </array>", []),
        ("<string/>", ""),
        ("<data/>", .data(Data())), ("<data></data>", .data(Data())), ("<plist version=\"1.0\" ><string> a\n</string></plist>", " a\n"),
        ("<dict><key/><true/></dict>", ["": true]),
        ("<dict><key>a</key><true/><key>b</key><array><false/></array></dict>", ["a": true, "b": [false]]),
        (" \n\t<?xml version='1.0'?><!-- c --><!DOCTYPE plist><!-- d --><?pi?><plist><!-- e --><true/><!-- f --><?pi?></plist>", true),
        ("<!DOCTYPE plist [<!ENTITY a \"]>\"> <!-- ]> --> <?pi ]> ?>]><plist><string>x</string></plist>", "x"),
        ("<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\"><true/>", true),
        ("<true/> <!-- the end --> <?pi?>\n", true), ("<plist><true/></plist> anything, as for Foundation", true),
        ("<dict><key>a</key><integer>1</integer><key>a</key><integer>2</integer></dict>", ["a": 2]),
        ("<array><dict><key>CF$UID</key><integer>5</integer></dict></array>", [.uid(5)]),
        ("<dict><key>CF$UID</key><integer>-5</integer></dict>", ["CF$UID": -5]),
        ("<dict><key>CF$UID</key><string>5</string></dict>", ["CF$UID": "5"]),
        ("<dict><key>CF$UID</key><integer>5</integer><key>b</key><true/></dict>", ["CF$UID": 5, "b": true]),
    ]

    @Test("Texts are read with their references, CDATA sections and white space", arguments: texts)
    func text(xml: String, text: String) throws {
        #expect(try PropertyListValue.decode(Data("<string>\(xml)</string>".utf8)).value == .string(text))
        #expect(try PropertyListValue.decode(Data("<dict><key>\(xml)</key><true/></dict>".utf8)).value == .dictionary([text: true]))
    }

    static let texts = [
        ("&amp;&lt;&gt;&quot;&apos;", "&<>\"'"), ("&#65;&#x41;&#x1F642;&#128578;", "AA🙂🙂"), ("&#x0000000041;", "A"), ("&amp;amp;", "&amp;"),
        ("&#13;&#10;&#9;", "\r\n\t"), ("\r\n\r", "\r\n\r"), ("&#0;&#1;", "\0\u{1}"), ("\0\u{1}\u{FFFE}", "\0\u{1}\u{FFFE}"),
        ("&#xFEFF;a", "\u{FEFF}a"), ("\u{FEFF}a", "\u{FEFF}a"), ("<![CDATA[<a>&amp;]]]]><![CDATA[>]]>b", "<a>&amp;]]>b"),
        ("<![CDATA[]]>", ""),
        ("a<!-- - -- <b> -->b<?pi ?>c", "abc"), ("]]>", "]]>"), (" ", " "), ("\"'>", "\"'>"),
        ("&#x10FFFF;&#xD7FF;&#xE000;", "\u{10FFFF}\u{D7FF}\u{E000}"),
    ]

    @Test("Integers are decimal or hexadecimal, with a sign and white space", arguments: integers)
    func integer(text: String, integer: PropertyListInteger?) throws {
        let data = Data("<integer>\(text)</integer>".utf8)
        if let integer {
            #expect(try PropertyListValue.decode(data).value == .integer(integer))
        } else {
            #expect(failure(of: data)?.offset == 9)
            #expect(failure(of: data)?.reason.contains("not an integer") == true)
        }
    }

    static let integers: [(String, PropertyListInteger?)] = [
        ("0", 0), ("-0", 0), ("007", 7), ("+1", 1), ("- 1", -1), ("\n\t 1 \n", 1), ("0x1F", 31), ("0X1f", 31), ("-0x10", -16), ("+0x1", 1),
        ("&#49;", 1),
        ("<![CDATA[1]]>", 1), ("9223372036854775807", PropertyListInteger(Int64.max)),
        ("-9223372036854775808", PropertyListInteger(Int64.min)),
        ("18446744073709551615", PropertyListInteger(UInt64.max)), ("0xFFFFFFFFFFFFFFFF", PropertyListInteger(UInt64.max)),
        ("-0x8000000000000000", PropertyListInteger(Int64.min)), ("18446744073709551616", nil), ("-9223372036854775809", nil),
        ("0x10000000000000000", nil), ("99999999999999999999999", nil), ("", nil), (" ", nil), ("-", nil), ("0x", nil), ("--1", nil),
        ("0 1", nil), ("1.5", nil),
        ("1e3", nil), ("abc", nil), ("-0x-1", nil), ("1\u{B}", nil), ("1\u{A0}", nil), ("٣", nil),
    ]

    @Test("Reals are decimal, or one of the names of infinity and NaN", arguments: reals)
    func real(text: String, real: Double?) throws {
        let data = Data("<real>\(text)</real>".utf8)
        if let real {
            #expect(try PropertyListValue.decode(data).value == .real(real))
        } else {
            #expect(failure(of: data)?.offset == 6)
            #expect(failure(of: data)?.reason.contains("not a real") == true)
        }
    }

    static let reals: [(String, Double?)] = [
        ("1", 1), ("-0", -0.0), ("-0.0", -0.0), (" 1.5\n", 1.5), ("+1.5", 1.5), (".5", 0.5), ("5.", 5), ("1e5", 1e5), ("1E-5", 1e-5),
        ("5e-324", .leastNonzeroMagnitude),
        ("1e400", .infinity), ("1e-400", 0), ("0.10000000000000001", 0.1), ("nan", .nan), ("NaN", .nan), ("inf", .infinity),
        ("+infinity", .infinity),
        ("-Infinity", -.infinity), ("-inf", -.infinity), ("", nil), (" ", nil), ("-", nil), ("1,5", nil), ("0x10", nil), ("0x1p3", nil),
        ("1d5", nil), ("1.5x", nil), ("1_0", nil),
        ("1 .5", nil), ("infinite", nil), ("e5", nil), ("1e", nil), (".", nil), ("nan(0x1)", nil), ("-nan", nil),
    ]

    @Test("Dates are whole seconds of the Gregorian calendar in UTC", arguments: dates)
    func date(text: String, seconds: Double?) throws {
        let data = Data("<date>\(text)</date>".utf8)
        if let seconds {
            #expect(try PropertyListValue.decode(data).value == .date(Date(timeIntervalSinceReferenceDate: seconds)))
        } else {
            #expect(failure(of: data)?.offset == 6)
            #expect(failure(of: data)?.reason.contains("not a date") == true)
        }
    }

    static let dates: [(String, Double?)] = [
        ("2001-01-01T00:00:00Z", 0), ("1970-01-01T00:00:00Z", -978_307_200), ("2000-12-31T23:59:59Z", -1),
        ("0001-01-01T00:00:00Z", -63_113_904_000),
        ("9999-12-31T23:59:59Z", 252_423_993_599), ("2004-02-29T12:00:00Z", 99_748_800), ("2000-02-29T00:00:00Z", -26_524_800),
        ("0000-12-30T00:00:00Z", -63_114_076_800), ("10000-01-01T00:00:00Z", 252_423_993_600), ("-0001-01-01T00:00:00Z", -63_177_062_400),
        ("2001-13-01T00:00:00Z", nil), ("2001-00-01T00:00:00Z", nil), ("2001-02-29T00:00:00Z", nil), ("1900-02-29T00:00:00Z", nil),
        ("2001-04-31T00:00:00Z", nil),
        ("2001-01-00T00:00:00Z", nil), ("2001-01-01T24:00:00Z", nil), ("2001-01-01T00:60:00Z", nil), ("2001-01-01T00:00:60Z", nil),
        ("2001-01-01T00:00:00", nil), ("2001-01-01", nil), ("2001-01-01 00:00:00Z", nil), ("2001-1-1T00:00:00Z", nil),
        ("2001-01-01T00:00:00.5Z", nil),
        ("2001-01-01T00:00:00+00:00", nil), ("", nil), ("-", nil), ("--001-01-01T00:00:00Z", nil),
        ("99999999999999999999-01-01T00:00:00Z", nil),
        ("-01-01T00:00:00Z", nil), ("2O01-01-01T00:00:00Z", nil), (" 2001-01-01T00:00:00Z", nil),
    ]

    @Test("Data is base64 with white space anywhere, complete and padded", arguments: base64)
    func data(text: String, bytes: [UInt8]?) throws {
        let data = Data("<data>\(text)</data>".utf8)
        if let bytes {
            #expect(try PropertyListValue.decode(data).value == .data(Data(bytes)))
        } else {
            #expect(failure(of: data)?.offset == 6)
            #expect(failure(of: data)?.reason.contains("base64") == true)
        }
    }

    static let base64: [(String, [UInt8]?)] = [
        ("", []), (" \n", []), ("AA==", [0]), ("AAE=", [0, 1]), ("AAEC", [0, 1, 2]), (" A A\n\t= = ", [0]), ("+/+/", [0xFB, 0xFF, 0xBF]),
        ("AB==", [0]),
        ("&#65;AEC", [0, 1, 2]), ("AA", nil), ("A", nil), ("AAA", nil), ("AA=", nil), ("AA===", nil), ("AAEC=", nil), ("====", nil),
        ("AA==AA==", nil), ("AA-_", nil), ("A*AA", nil),
        ("AAé=", nil),
    ]
}
