import TestSupport
import Testing

@testable import EtcdStorage

@Suite("HTTPResponseParser", .timeLimit(.minutes(10)))
struct HTTPResponseParserTests {
    /// What a parser found in a message: parts of the body that follow one another are joined.
    private struct Outcome: Hashable {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        var isComplete = false
        var violation: HTTPViolation?
        /// The bytes after the end of the response.
        var rest: [UInt8] = []
    }

    /// Parses parts of a message that arrive one after the other, and the end of the connection.
    private func parse(_ parts: [ArraySlice<UInt8>], maximumBodySize: Int = .max, maximumHeadSize: Int = 65_536) -> Outcome {
        var parser = HTTPResponseParser(maximumBodySize: maximumBodySize, maximumHeadSize: maximumHeadSize)
        var outcome = Outcome()
        do throws(HTTPViolation) {
            for part in parts {
                var input = part
                while let event = try parser.next(from: &input) { add(event, to: &outcome) }
                outcome.rest += input
            }
            if let event = try parser.finish() { add(event, to: &outcome) }
        } catch {
            outcome.violation = error
        }
        return outcome
    }

    private func parse(_ text: String, maximumBodySize: Int = .max, maximumHeadSize: Int = 65_536) -> Outcome {
        parse([Array(text.utf8)[...]], maximumBodySize: maximumBodySize, maximumHeadSize: maximumHeadSize)
    }

    private func add(_ event: HTTPResponseParser.Event, to outcome: inout Outcome) {
        switch event {
        case .head(let head): outcome.head = head
        case .body(let part): outcome.body += part
        case .end: outcome.isComplete = true
        }
    }

    static let messages = [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer:  x \r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n00A;name=x\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\ncontent-length: 2, 2\r\n\r\nno",
        "HTTP/1.0 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 204 No Content\r\n\r\nsurplus",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\rX",
        "HTTP/1.1 200 OK\r\nA: 1\nB: 2\r\n\r\n",
    ]

    @Test("A body ends where its length says, and what follows is left")
    func lengths() throws {
        let outcome = parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer:  x \r\n\r\nhellomore")
        #expect(outcome.body == Array("hello".utf8) && outcome.isComplete && outcome.rest == Array("more".utf8))
        let head = try #require(outcome.head)
        #expect(head.status == 200 && head["SERVER"] == "x" && head["none"] == nil && head.contentLength == 5 && head.isPersistent)
    }

    @Test("Chunks are joined, with extensions and trailers skipped")
    func chunks() {
        let outcome = parse(Self.messages[1])
        #expect(outcome.body == Array("hello0123456789".utf8) && outcome.isComplete && outcome.head?.isPersistent == true)
    }

    @Test("Interim responses are skipped")
    func interim() {
        let outcome = parse(Self.messages[2])
        #expect(outcome.head?.status == 404 && outcome.body == Array("no".utf8) && outcome.isComplete)
    }

    @Test("Responses to 204 and 304 have no body, whatever their length says")
    func withoutBody() {
        #expect(parse(Self.messages[4]).rest == Array("surplus".utf8))
        #expect(parse(Self.messages[5]).isComplete)
    }

    @Test("A response without a length lasts until the connection closes, which is then not reusable")
    func untilClose() {
        let outcome = parse("HTTP/1.1 200 OK\r\n\r\nuntil the end")
        #expect(outcome.isComplete && outcome.body == Array("until the end".utf8) && outcome.head?.isPersistent == false)
    }

    @Test(
        "A connection is reusable unless the server says otherwise",
        arguments: [
            ("1.1", "X: y", true), ("1.1", "Connection: close", false), ("1.1", "connection: Upgrade , CLOSE", false),
            ("1.0", "X: y", false), ("1.0", "Connection: keep-alive", true),
        ])
    func persistence(version: String, field: String, isPersistent: Bool) {
        #expect(parse("HTTP/\(version) 200 OK\r\nContent-Length: 0\r\n\(field)\r\n\r\n").head?.isPersistent == isPersistent)
    }

    @Test(
        "What makes the end of a response ambiguous is rejected",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", HTTPViolation.contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5,6\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5,\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\n", .contentLength),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .transferEncoding),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncoding),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncoding),
            ("HTTP/1.1 200 OK\r\nA: 1\r\n 2\r\n\r\n", .foldedField),
            ("HTTP/1.1 200 OK\r\nA: 1\r\n\t2\r\n\r\n", .foldedField),
            ("HTTP/1.1 200 OK\r\nA : 1\r\n\r\n", .field),
            ("HTTP/1.1 200 OK\r\n: 1\r\n\r\n", .field),
            ("HTTP/1.1 200 OK\r\nA\r\n\r\n", .field),
            ("HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", .field),
            ("HTTP/1.1 200 OK\r\nA: 1\r2\r\n\r\n", .field),
            ("HTTP/1.1 200 OK\nA: 1\n\n", .lineEnd),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", .upgrade),
            ("HTTP/2.0 200 OK\r\n\r\n", .statusLine),
            ("HTTP/1.1 20 OK\r\n\r\n", .statusLine),
            ("HTTP/1.1 099 OK\r\n\r\n", .statusLine),
            ("HTTP/1.1 2000 OK\r\n\r\n", .statusLine),
            ("HTTP/1.1 200OK\r\n\r\n", .statusLine),
            ("\r\n\r\n", .statusLine),
            ("", .incomplete),
            ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", .incomplete),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", .incomplete),
        ])
    func violations(message: String, violation: HTTPViolation) {
        let outcome = parse(message)
        #expect(outcome.violation == violation && !outcome.isComplete)
    }

    @Test(
        "A chunk size is one or more hexadecimal digits that fit an integer",
        arguments: ["", " 5", "-5", "+5", "0x5", "G", "5 5", "8000000000000000", "FFFFFFFFFFFFFFFFF", ";x"])
    func chunkSizes(size: String) {
        let outcome = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(size)\r\nhello\r\n0\r\n\r\n")
        #expect(outcome.violation == .chunkSize)
    }

    @Test("Chunks whose sizes overflow together are rejected")
    func chunkOverflow() {
        let message = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n7FFFFFFFFFFFFFFF\r\n"
        #expect(parse(message).violation == .bodyTooLarge)
    }

    @Test("A body over the limit is rejected, however it is framed, before it is received")
    func bodyLimit() {
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        #expect(parse("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", maximumBodySize: 10).violation == .bodyTooLarge)
        #expect(parse(chunked + "6\r\nhello1\r\n5\r\n", maximumBodySize: 10).violation == .bodyTooLarge)
        #expect(parse("HTTP/1.1 200 OK\r\n\r\n01234567890", maximumBodySize: 10).violation == .bodyTooLarge)
        #expect(parse(chunked + "6\r\nhello1\r\n4\r\n1234\r\n0\r\n\r\n", maximumBodySize: 10).isComplete)
    }

    @Test("Heads, lines of chunks and trailers over the limit are rejected, with or without their end")
    func headLimit() {
        let long = String(repeating: "a", count: 200)
        let start = "HTTP/1.1 200 OK\r\n"
        let chunked = start + "Transfer-Encoding: chunked\r\n\r\n"
        for message in [
            long, start + long, start + String(repeating: "A: 1\r\n", count: 40), chunked + "1;" + long,
            chunked + "0\r\nA: \(long)\r\n\r\n",
            String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 10),
        ] {
            #expect(parse(message, maximumHeadSize: 128).violation == .headTooLarge)
        }
        let many = chunked + String(repeating: "1\r\na\r\n", count: 100) + "0\r\n\r\n"
        #expect(parse(many, maximumHeadSize: 128).isComplete)
        let apart = start + "A: \(long.prefix(70))\r\nTransfer-Encoding: chunked\r\n\r\n1;\(long.prefix(80))\r\na\r\n0\r\n\r\n"
        #expect(parse(apart, maximumHeadSize: 128).isComplete)
    }

    @Test("A message gives the same result wherever it is divided", arguments: messages)
    func divisions(message: String) {
        let bytes = Array(message.utf8)
        let whole = parse([bytes[...]])
        for one in 0...bytes.count {
            for other in one...bytes.count {
                let parts = parse([bytes[..<one], bytes[one..<other], bytes[other...]])
                #expect(parts == whole, "divided at \(one) and \(other)")
            }
        }
        #expect(parse(bytes.indices.map { bytes[$0...$0] }) == whole)
    }

    @Test("Mutated messages never trap, and give the same result wherever they are divided")
    func mutations() {
        var random = SeededGenerator(seed: 1)
        let interesting = Array("\r\n\t :;,0159aAfFxX\u{0}-+".utf8) + [0x7F, 0x80, 0xFF]
        for _ in 0..<(isLong ? 100_000 : 2_000) {
            var bytes = Array(Self.messages.randomElement(using: &random)!.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let index = bytes.indices.randomElement(using: &random)!
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[index] = interesting.randomElement(using: &random)!
                case 1: bytes.insert(interesting.randomElement(using: &random)!, at: index)
                case 2: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes[index...].prefix(8), at: index)
                }
            }
            let division = Int.random(in: 0...bytes.count, using: &random)
            let whole = parse([bytes[...]], maximumBodySize: 1000, maximumHeadSize: 200)
            let parts = parse([bytes[..<division], bytes[division...]], maximumBodySize: 1000, maximumHeadSize: 200)
            if parts.violation != whole.violation || parts.isComplete != whole.isComplete || parts.head != whole.head {
                Issue.record("\(String(decoding: bytes, as: UTF8.self).debugDescription) differs if it is divided at \(division)")
            }
        }
    }
}
