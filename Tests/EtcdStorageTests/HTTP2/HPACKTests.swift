import TestSupport
import Testing

@testable import EtcdStorage

/// The bytes that hexadecimal digits stand for; white space is skipped.
private func bytes(_ digits: String) -> [UInt8] {
    let digits = digits.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

/// The fields in lines of a name and a value.
private func fields(_ lines: String...) -> [HTTPField] {
    lines.map { line in
        let parts = line.split(separator: ": ", maxSplits: 1).map { String($0) }
        return HTTPField(name: parts[0], value: parts[1])
    }
}

@Suite("HPACK's decoder", .timeLimit(.minutes(10)))
struct HPACKDecoderTests {
    /// Blocks of one connection, of which the first one needs no dynamic table, and the fields in it.
    struct Example: Sendable, CustomTestStringConvertible {
        let section: String
        let blocks: [[UInt8]]
        let list: [HTTPField]

        var testDescription: String { section }
    }

    static let request = fields(":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com")
    static let response = fields(
        ":status: 302", "cache-control: private", "date: Mon, 21 Oct 2013 20:13:21 GMT", "location: https://www.example.com")
    static let examples = [
        Example(
            section: "C.3",
            blocks: [
                bytes("828684410f7777772e6578616d706c652e636f6d"), bytes("828684be58086e6f2d6361636865"),
                bytes("828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565"),
            ], list: request),
        Example(
            section: "C.4",
            blocks: [
                bytes("828684418cf1e3c2e5f23a6ba0ab90f4ff"), bytes("828684be5886a8eb10649cbf"),
                bytes("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"),
            ], list: request),
        Example(
            section: "C.5",
            blocks: [
                bytes(
                    """
                    4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54
                    6e1768747470733a2f2f7777772e6578616d706c652e636f6d
                    """), bytes("4803333037c1c0bf"),
                bytes(
                    """
                    88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157
                    454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31
                    """),
            ], list: response),
        Example(
            section: "C.6",
            blocks: [
                bytes(
                    """
                    488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3
                    """), bytes("4883640effc1c0bf"),
                bytes(
                    """
                    88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab27
                    0fb5291f9587316065c003ed4ee5b1063d5007
                    """),
            ], list: response),
    ]

    @Test(
        "The examples of RFC 7541, appendix C.2, give its fields",
        arguments: [
            ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", "custom-key: custom-header"),
            ("040c2f73616d706c652f70617468", ":path: /sample/path"), ("100870617373776f726406736563726574", "password: secret"),
            ("82", ":method: GET"),
        ])
    func representations(block: String, line: String) throws {
        #expect(try HPACK.decode(bytes(block)[...]) == fields(line))
    }

    @Test(
        "The examples of RFC 7541, appendix C.3 to C.6, give its fields up to those that refer to the dynamic table, which are a violation",
        arguments: examples)
    func standardExamples(example: Example) throws {
        #expect(try HPACK.decode(example.blocks[0][...]) == example.list)
        for block in example.blocks[1...] {
            #expect(throws: HTTP2Violation.headerIndex) { try HPACK.decode(block[...]) }
        }
    }

    @Test("The beginning of a block gives the first of its fields, or an error", arguments: examples)
    func truncations(example: Example) throws {
        let (block, list) = (example.blocks[0], example.list)
        for end in block.indices {
            let fields = try? HPACK.decode(block[..<end])
            #expect(fields.map { list.starts(with: $0) && $0.count < list.count } ?? true, "ended at \(end)")
        }
        // A slice that does not begin at 0.
        #expect(try HPACK.decode(([0] + block)[1...]) == list)
    }

    @Test(
        "What is not allowed in a block is rejected",
        arguments: [
            ("80", HTTP2Violation.headerIndex), ("be", .headerIndex), ("ffffffffff0f", .headerIndex), ("7f000161", .headerIndex),
            ("0f2f0161", .headerIndex), ("820f2f0161", .headerIndex),
            // References to fields that the same block has added to a dynamic table of size 0.
            ("4001610162be", .headerIndex), ("40016101627e0163", .headerIndex),
            // Integers that end too early or too late, and strings that end after the block.
            ("ff", .headerBlock), ("ff80", .headerBlock), ("ffffffffffff0f", .headerBlock), ("ff808080808000", .headerBlock),
            ("ffffffffffffffffffffff7f", .headerBlock), ("00", .headerBlock), ("0001", .headerBlock), ("000161", .headerBlock),
            ("00016101", .headerBlock), ("007fffffffff0f61", .headerBlock), ("4f", .headerBlock), ("008261", .headerBlock),
            // Updates of the dynamic table's size after a field, or to another one than 0.
            ("8220", .headerTableSize), ("21", .headerTableSize), ("3f00", .headerTableSize), ("3fe11f", .headerTableSize),
            ("203fe11f", .headerTableSize), ("3fffffffff0f", .headerTableSize), ("3fffffffffffffff", .headerBlock),
            // Padding of 8 and 11 bits, padding with zeros, and the code of the end.
            ("0081ff00", .headerString), ("00821fff00", .headerString), ("00811800", .headerString), ("00811e00", .headerString),
            ("0084ffffffff00", .headerString), ("00851fffffffff00", .headerString), ("0084fffffffc00", .headerString),
        ])
    func violations(block: String, violation: HTTP2Violation) {
        #expect(throws: violation) { try HPACK.decode(bytes(block)[...]) }
    }

    @Test(
        "What is unusual in a block, but allowed, is accepted",
        arguments: [
            ("", []), ("20", []), ("202082", fields(":method: GET")), ("0f8080808000026162", fields("accept-charset: ab")),
            ("00811f80", [HTTPField(name: "a", value: "")]), ("400000", [HTTPField(name: "", value: "")]),
        ])
    func exceptions(block: String, list: [HTTPField]) throws {
        #expect(try HPACK.decode(bytes(block)[...]) == list)
    }

    @Test("Lists of fields over the limit are rejected, however small their block is")
    func listLimit() throws {
        #expect(try HPACK.decode([0x82, 0x82], maximumListSize: 84).count == 2)
        #expect(throws: HTTP2Violation.headersTooLarge) { try HPACK.decode([0x82, 0x82, 0x82], maximumListSize: 84) }
        #expect(throws: HTTP2Violation.headersTooLarge) { try HPACK.decode([UInt8](repeating: 0x82, count: 1 << 20)[...]) }
    }

    @Test("Invalid UTF-8 is repaired, but counts with its size as it was sent")
    func invalidText() throws {
        // 1 + 7 + 32 bytes, the name in the Huffman code; the repaired one would have 16 more.
        let repaired = HTTPField(name: "\u{FFFD}", value: String(repeating: "\u{FFFD}", count: 7))
        #expect(try HPACK.decode(bytes("4084fffffbbf 07ffffffffffffff")[...], maximumListSize: 40) == [repaired])
    }

    @Test("Random and mutated bytes never trap, and give no more than the limits allow")
    func mutations() {
        var random = SeededGenerator(seed: 1)
        let interesting = [0, 0x0F, 0x10, 0x20, 0x3F, 0x40, 0x7F, 0x80, 0x81, 0xBE, 0xBF, 0xC0, 0xFF] as [UInt8]
        let blocks = Self.examples.flatMap(\.blocks)
        for _ in 0..<(isLong ? 1_000_000 : 20_000) {
            var block = blocks.randomElement(using: &random)!
            if Bool.random(using: &random) {
                block = (0..<Int.random(in: 0..<64, using: &random)).map { _ in .random(in: 0...255, using: &random) }
            }
            for _ in 0..<Int.random(in: 0...3, using: &random) where !block.isEmpty {
                let index = block.indices.randomElement(using: &random)!
                switch Int.random(in: 0..<3, using: &random) {
                case 0: block[index] = interesting.randomElement(using: &random)!
                case 1: block.insert(interesting.randomElement(using: &random)!, at: index)
                default: block.remove(at: index)
                }
            }
            guard let list = try? HPACK.decode(block[...], maximumListSize: 1000) else { continue }
            // Each byte may have become a replacement character of three.
            let size = list.reduce(0) { $0 + $1.name.utf8.count / 3 + $1.value.utf8.count / 3 + 32 }
            if size > 1000 { Issue.record("\(block) gives \(list)") }
        }
    }
}

@Suite("HPACK's Huffman code", .timeLimit(.minutes(10)))
struct HPACKHuffmanTests {
    /// The bytes from 0 to 255 in the code of RFC 7541, appendix B.
    static let allBytes = bytes(
        """
        ffc7fffd8fffffe2fffffe3fffffe4fffffe5fffffe6fffffe7fffffe8ffffeafffffff3fffffa7fffffabffffffdfffffebfffffecfffffedfffffeefffffefff
        ffff0ffffff1ffffff2fffffffbfffffcffffffd3fffffd7fffffdbfffffdffffffe3fffffe7fffffebfffffed4fe3f9ffaffcabf1febfafefe7fdfd2cbb000899
        69b71d79fb9f7fff20ffbff3ff50ddbd7f061c58f265cd9f469d5af66dddbf871e5f9cff7ff7fffc3ff9ffe45fff4719242cb34e6e9d68a6a3d7dac426defe3cfa
        f7fffbfe7ffbffdffffffcfffe6ffff4bfff9ffffa3fffd3ffff53fffd5ffffb3fffeb7fffdaffffb7ffff73fffeeffffdeffffebffffbfffffd9ffffdbfffebff
        ffe0ffffeeffffc3ffff8bffff1ffffe4fffee7fffb1ffff97fffd9ffffcdffff9fffffbffffdafffeeffff4ffffb7fffee7fffe8ffffd3fffdeffffd5fffeefff
        fbdffffe1fffdfffff7fffff5ffffecffff07fff87fffe0ffff17fffedffff87ffff77fffeffffeaffff8bfffe3ffff93ffff87fffcbffff37ffff1fffff83ffff
        e1fffebfffe3ffff3fffff2ffffa3ffffd9fffff17ffffc7fffff27ffffdefffffbffffff2fffff8fffffb7fff97fff8fffffe6fffffc1fffff87ffffe7fffffc5
        ffffe5fffe4ffff2fffffd1fffff4ffffffefffffe3fffffc9fffff97fffb3ffffcffffb7fffcdffff4ffff9ffffd1ffffcffffeaffffafffffddffffeffffff4f
        ffff5fffffabffffa7ffffd7fffff9bffffecfffffb7fffff3fffffe8fffffd3fffffabfffff5fffffff7ffffecfffffdbfffffbbfffff7ffffff0fffffbbf
        """)

    /// The code of each byte in zeros and ones: the shortest first, and equally long ones in the order of the bytes.
    static let codes: [String] = {
        var codes = [String](repeating: "", count: 257)
        var next = 0
        for length in 1...30 {
            next *= 2
            for symbol in 0...256 where HPACK.huffmanLengths[symbol] == length {
                let digits = String(next, radix: 2)
                codes[symbol] = String(repeating: "0", count: length - digits.count) + digits
                next += 1
            }
        }
        return codes
    }()

    /// The bytes in the code, with padding.
    private func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var bits = bytes.map { Self.codes[Int($0)] }.joined()[...]
        var encoded: [UInt8] = []
        while !bits.isEmpty {
            encoded.append(UInt8((bits + "1111111").prefix(8), radix: 2)!)
            bits = bits.dropFirst(8)
        }
        return encoded
    }

    @Test("The codes are those of the standard, and no beginning is left for others")
    func standardCodes() throws {
        #expect(encode(0...255) == Self.allBytes)
        #expect(try HPACK.huffmanDecoded(Self.allBytes[...]) == Array(0...255))
        #expect(Self.codes[256] == String(repeating: "1", count: 30))
    }

    @Test("Random strings of all bytes are decoded")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 1)
        for byte in 0...255 as ClosedRange<UInt8> {
            #expect(try HPACK.huffmanDecoded(encode([byte])[...]) == [byte])
            let string = (0..<Int.random(in: 0..<50, using: &random)).map { _ in UInt8.random(in: 0...byte, using: &random) }
            #expect(try HPACK.huffmanDecoded(encode(string)[...]) == string)
        }
    }

    @Test("Random bytes are the only code of what they give, or an error")
    func randomCodes() {
        var random = SeededGenerator(seed: 2)
        for _ in 0..<(isLong ? 500_000 : 10_000) {
            let code = (0..<Int.random(in: 0..<8, using: &random)).map { _ in
                Bool.random(using: &random) ? .max : UInt8.random(in: 0...255, using: &random)
            }
            if let string = try? HPACK.huffmanDecoded(code[...]), encode(string) != code { Issue.record("\(code) gives \(string)") }
        }
    }
}

@Suite("HPACK's encoder", .timeLimit(.minutes(10)))
struct HPACKEncoderTests {
    @Test(
        "Fields are written out, and secrets are never to be indexed",
        arguments: [
            (":path: /x", "00053a70617468022f78"), ("te: b", "000274650162"), ("token: d", "1005746f6b656e0164"),
            ("authorization: c", "100d617574686f72697a6174696f6e0163"), ("x: \u{E9}", "00017802c3a9"),
        ])
    func encodings(line: String, block: String) {
        #expect(HPACK.encode(fields(line)) == bytes(block))
    }

    @Test("The length of a value may be 0, or take several bytes")
    func lengths() {
        #expect(HPACK.encode([HTTPField(name: "x", value: "")]) == bytes("00017800"))
        for (count, length) in [(126, "7e"), (127, "7f00"), (254, "7f7f"), (255, "7f8001")] {
            let value = String(repeating: "y", count: count)
            #expect(HPACK.encode([HTTPField(name: "x", value: value)]) == bytes("000178" + length) + value.utf8)
        }
    }

    @Test("Random fields are decoded as they were, and no table is needed for them")
    func roundTrip() throws {
        var random = SeededGenerator(seed: 1)
        let names = [":path", ":status", "accept-encoding", "content-type", "authorization", "token", "te", "\u{E9}"]
        let values = ["", "/", "200", "gzip, deflate", "application/grpc", "\u{1F600}"]
        for _ in 0..<500 {
            let list = (0..<Int.random(in: 0..<10, using: &random)).map { _ in
                let long = String(repeating: "l", count: .random(in: 0..<40_000, using: &random))
                let name = names.randomElement(using: &random)!, value = values.randomElement(using: &random)!
                return HTTPField(
                    name: Bool.random(using: &random) ? name : String(long.prefix(400)),
                    value: Bool.random(using: &random) ? value : long)
            }
            #expect(try HPACK.decode(HPACK.encode(list)[...], maximumListSize: .max) == list)
        }
    }
}
