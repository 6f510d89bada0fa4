import Foundation
import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Scanning JSON", .timeLimit(.minutes(10))) struct JSONScannerTests {
    private func scanner(_ text: String) -> JSONScanner {
        JSONScanner(Array(text.utf8))
    }

    @Test("Strings are read with every escape, and with characters beyond the basic plane")
    func strings() throws {
        var scanner = scanner(#" "a\"\\\/\b\f\n\r\té\u00e9\uD83D\uDE00😀" "#)
        #expect(try scanner.string() == "a\"\\/\u{8}\u{C}\n\r\té\u{e9}😀😀")
        try scanner.finish()
    }

    @Test(
        "A string that is damaged is an error",
        arguments: [
            #""a"#, #""\"#, #""\x""#, #""\u12""#, #""\u12G4""#, #""\uD83D""#, #""\uD83Dx""#, #""\uD83D\n""#, #""\uD83D\u0041""#,
            #""\uDE00""#,
            "\"\u{1}\"", "\"\n\"", "x", "",
        ])
    func damagedStrings(text: String) {
        var scanner = scanner(text)
        #expect(throws: JSONError.self) { try scanner.string() }
    }

    @Test("A string that is not UTF-8 is an error with the offset at which it begins")
    func invalidUTF8() {
        var scanner = JSONScanner([0x20, 0x22, 0xC3, 0x28, 0x22])
        let error = #expect(throws: JSONError.self) { try scanner.string() }
        #expect(error?.offset == 1)
    }

    @Test("Integers are read as numbers and as strings, up to their limits")
    func integers() throws {
        #expect(try read(#""9223372036854775807""#) == Int64.max)
        #expect(try read("-9223372036854775808") == Int64.min)
        #expect(try read(#""18446744073709551615""#) == UInt64.max)
        #expect(try read(#""-1""#) == Int64(-1))
        #expect(try read("0") == Int64(0))
    }

    @Test(
        "An integer that is damaged, or out of range, is an error",
        arguments: [
            "9223372036854775808", #""-9223372036854775809""#, "1.5", "1e3", #""""#, #""1"#, #""1 ""#, #"" 1""#, "-", "--1", "x", "true",
            "[1]",
        ])
    func damagedIntegers(text: String) {
        #expect(throws: JSONError.self) { try read(text) as Int64 }
    }

    @Test("A negative number is no unsigned integer")
    func negativeUnsigned() {
        #expect(throws: JSONError.self) { try read("-1") as UInt64 }
    }

    private func read<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        var scanner = scanner(text)
        let number: Number = try scanner.integer()
        try scanner.finish()
        return number
    }

    @Test("Members are read in order, and those that are null are passed over")
    func members() throws {
        var scanner = scanner(#" { "a" : null , "b":[ true,false ], "c":{}, "d":null, "e":null } "#)
        try scanner.beginObject()
        #expect(try scanner.nextMember() == "b")
        try scanner.beginArray()
        #expect(try scanner.nextElement())
        #expect(try scanner.boolean())
        #expect(try scanner.nextElement())
        #expect(try !scanner.boolean())
        #expect(try !scanner.nextElement())
        #expect(try scanner.nextMember() == "c")
        try scanner.skip()
        #expect(try scanner.nextMember() == nil)
        try scanner.finish()
    }

    @Test(
        "A text whose structure is damaged is an error",
        arguments: [
            "{", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, #"{"a":1 "b":2}"#, #"{a:1}"#, "[1,]", "[,1]", "[1 2]", "[", "]", "}", "[}",
            "{]",
            "nul", "nulL", "tru", "-", "01", "1.", ".5", "1e", "+1", "1 2", "{} x", "NaN", "\u{FEFF}1", "", " ",
        ])
    func damagedStructure(text: String) {
        #expect(throws: JSONError.self) { try JSONTree(json: Array(text.utf8)) }
    }

    @Test("Containers may be nested 64 deep, and no deeper")
    func depth() throws {
        var scanner = scanner(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
        try scanner.skip()
        var deeper = self.scanner(String(repeating: "[", count: 1_000_000))
        let error = #expect(throws: JSONError.self) { try deeper.skip() }
        #expect(error?.offset == 65)
    }

    @Test("An error tells where it is")
    func offset() {
        let error = #expect(throws: JSONError.self) { try ResponseHeader(json: Array(#"{"revision":x}"#.utf8)) }
        #expect(error?.description == "an integer was expected (at byte 12)")
    }

    @Test("Random texts are read as Foundation reads them", arguments: 0..<8 as Range<UInt64>)
    func oracle(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let text = RandomJSON.text(depth: 4, using: &generator)
            #expect(try JSONTree(json: text) == JSONTree(foundation: text), "\(String(decoding: text, as: UTF8.self))")
        }
    }

    @Test("What the scanner accepts of damaged texts, Foundation reads in the same way", arguments: 0..<10 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed &+ 1_000)
        var accepted = 0
        for _ in 0..<(isLong ? 10_000 : 200) {
            let text = RandomJSON.mutated(RandomJSON.text(depth: 3, using: &generator), using: &generator)
            guard let tree = Result(catching: { () throws(JSONError) in try JSONTree(json: text) }).success else { continue }
            accepted += 1
            guard tree.isComparable(in: text) else { continue }
            #expect(try tree == JSONTree(foundation: text), "\(text)")
        }
        #expect(accepted > (isLong ? 500 : 5))
    }
}

extension Result {
    fileprivate var success: Success? {
        if case .success(let value) = self { value } else { nil }
    }
}

extension JSONTree {
    /// Whether Foundation reads the text in the same way, rather than choosing another one of several members with the same name, or
    /// another type for large numbers.
    fileprivate func isComparable(in text: [UInt8]) -> Bool {
        memberCount == text.count { $0 == UInt8(ascii: ":") } && numbers.allSatisfy { abs($0) < 1e15 }
    }

    private var memberCount: Int {
        switch self {
        case .array(let elements): elements.reduce(0) { $0 + $1.memberCount }
        case .object(let members): members.reduce(members.count) { $0 + $1.value.memberCount }
        default: 0
        }
    }

    private var numbers: [Float] {
        switch self {
        case .number(let number): [number]
        case .array(let elements): elements.flatMap(\.numbers)
        case .object(let members): members.values.flatMap(\.numbers)
        default: []
        }
    }
}
