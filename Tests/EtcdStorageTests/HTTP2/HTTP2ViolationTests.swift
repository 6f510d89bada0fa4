import Testing

@testable import EtcdStorage

@Suite("Violations of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2ViolationTests {
    /// A violation by frames after those of a server that has answered stream 1, while stream 3 is open and 5 is not.
    struct Example: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let frames: [HTTP2Frame]
        let violation: HTTP2Violation

        init(_ violation: HTTP2Violation, _ description: String, _ frames: [HTTP2Frame]) {
            (testDescription, self.frames, self.violation) = (description, frames, violation)
        }

        init(_ violation: HTTP2Violation, _ description: String, _ frames: HTTP2Frame...) {
            self.init(violation, description, frames)
        }
    }

    private static let acknowledged = HTTP2Frame(kind: .settings, flags: .acknowledgement, payload: [0, 4, 0, 0, 0, 1])
    private static let headers = HTTP2Frame(kind: .headers, stream: 3, payload: [0x88])
    private static let large = UInt32(Int32.max)

    static let examples = [
        Example(.frameSize, "settings of five bytes", HTTP2Frame(kind: .settings, payload: [0, 1, 0, 0, 0])),
        Example(.frameSize, "acknowledged settings with a payload", acknowledged),
        Example(.frameSize, "a ping of seven bytes", HTTP2Frame(kind: .ping, payload: Array(1...7))),
        Example(.frameSize, "a ping of nine bytes", HTTP2Frame(kind: .ping, payload: Array(1...9))),
        Example(.frameSize, "a window update of three bytes", HTTP2Frame(kind: .windowUpdate, payload: [0, 0, 1])),
        Example(.frameSize, "a reset of five bytes", HTTP2Frame(kind: .reset, stream: 3, payload: [0, 0, 0, 0, 1])),
        Example(.frameSize, "a GOAWAY of seven bytes", HTTP2Frame(kind: .goAway, payload: Array(repeating: 0, count: 7))),
        Example(.frameSize, "a header with half of a priority", HTTP2Frame(kind: .headers, flags: .priority, stream: 3, payload: [0, 0])),
        Example(.streamNumber, "settings on a stream", HTTP2Frame(kind: .settings, stream: 3)),
        Example(.streamNumber, "a ping on a stream", HTTP2Frame(kind: .ping, stream: 3, payload: Array(1...8))),
        Example(.streamNumber, "a GOAWAY on a stream", HTTP2Frame(kind: .goAway, stream: 3, payload: Array(1...8))),
        Example(.streamNumber, "a header on the connection", .headers(0, [":status": "200"])),
        Example(.streamNumber, "a header on a stream of the server", .headers(2, [":status": "200"])),
        Example(.streamNumber, "a header on a stream that was not opened", .headers(5, [":status": "200"])),
        Example(.streamNumber, "data on the connection", .data(0, [1])),
        Example(.streamNumber, "data on a stream that was not opened", .data(5, [1])),
        Example(.streamNumber, "a reset of the connection", .number(.reset, 0)),
        Example(.streamNumber, "a reset of a stream that was not opened", .number(.reset, stream: 5, 0)),
        Example(.streamNumber, "a window update of a stream that was not opened", .number(.windowUpdate, stream: 5, 1)),
        Example(.padding, "only padding, and more of it than there is", HTTP2Frame(kind: .data, flags: .padded, stream: 3, payload: [1])),
        Example(.padding, "padding without a length", HTTP2Frame(kind: .data, flags: .padded, stream: 3)),
        Example(.padding, "padding over a header", HTTP2Frame(kind: .headers, flags: .padded, stream: 3, payload: [2, 0x88])),
        Example(.windowOverflow, "a window update of nothing", .number(.windowUpdate, 0)),
        Example(.windowOverflow, "a window update of nothing on a stream", .number(.windowUpdate, stream: 3, 1 << 31)),
        Example(.windowOverflow, "a window of the connection that is too large", .number(.windowUpdate, large - 65_534)),
        Example(.windowOverflow, "a window of a stream that is too large", .number(.windowUpdate, stream: 3, large)),
        Example(
            .windowOverflow, "a window of a stream that settings make too large", .number(.windowUpdate, stream: 3, large - 65_535),
            .settings([.initialWindowSize: 65_536])),
        Example(.settings, "an initial window that is too large", .settings([.initialWindowSize: 1 << 31])),
        Example(.settings, "frames that are too small", .settings([.maximumFrameSize: 16_383])),
        Example(.settings, "frames that are too large", .settings([.maximumFrameSize: 1 << 24])),
        Example(.settings, "settings that allow the server to be pushed to", .settings([.enablePush: 1])),
        Example(.frameOrder, "a continuation without a header", HTTP2Frame(kind: .continuation, flags: .endHeaders, stream: 3)),
        Example(
            .frameOrder, "a continuation after the end of a header", .headers(3, [":status": "200"]),
            HTTP2Frame(kind: .continuation, stream: 3)),
        Example(.frameOrder, "data within a header", headers, .data(3, [1])),
        Example(.frameOrder, "a ping within a header", headers, HTTP2Frame(kind: .ping, payload: Array(1...8))),
        Example(.frameOrder, "another header within a header", headers, headers),
        Example(.frameOrder, "a continuation of another header", headers, HTTP2Frame(kind: .continuation, flags: .endHeaders, stream: 1)),
        Example(.frameOrder, "a push", HTTP2Frame(kind: .pushPromise, flags: .endHeaders, stream: 3, payload: [0, 0, 0, 2, 0x88])),
        Example(.frameOrder, "data after the end", .data(1, [1])),
        Example(.frameOrder, "a header after the end", .headers(1, ["a": "b"], isEnd: true)),
        Example(
            .headerIndex, "a header with a field of the dynamic table, which has size 0",
            HTTP2Frame(kind: .headers, flags: .endHeaders, stream: 3, payload: [0x40, 1, 97, 1, 98, 0xBE])),
        Example(
            .headerTableSize, "a header that enlarges the dynamic table",
            HTTP2Frame(kind: .headers, flags: .endHeaders, stream: 3, payload: [0x21, 0x88])),
        Example(
            .headersTooLarge, "a header with a field again and again",
            HTTP2Frame(kind: .headers, flags: .endHeaders, stream: 3, payload: Array(repeating: 0x88, count: 1_600))),
        Example(.headersTooLarge, "a header that does not end", [headers] + Array(repeating: continuation, count: 4)),
    ]

    private static let continuation = HTTP2Frame(kind: .continuation, stream: 3, payload: Array(repeating: 0, count: 16_384))

    @Test("Each violation is noticed", arguments: examples)
    func violation(example: Example) {
        var conversation = HTTP2Conversation()
        _ = [conversation.open(), conversation.open()]
        conversation.receive([.headers(1, [":status": "200"], isEnd: true)] + example.frames.dropLast())
        #expect(conversation.violation == nil)
        conversation.receive(Array(example.frames.suffix(1)))
        #expect(conversation.violation == example.violation)
    }

    @Test(
        "What does not begin with settings is no HTTP/2, even if it ends early",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), Array("SSH-2.0".utf8),
            // The alert of a server that expects TLS.
            [21, 3, 1, 0, 2, 2, 22],
            HTTP2Frame(kind: .ping, payload: Array(1...8)).bytes, HTTP2Frame(kind: .settings, flags: .acknowledgement).bytes,
            Array(repeating: 0, count: 100), Array(repeating: 255, count: 100),
        ])
    func otherProtocols(bytes: [UInt8]) {
        var whole = HTTP2Conversation(receiving: [])
        whole.receive(bytes)
        var divided = HTTP2Conversation(receiving: [])
        for byte in bytes { divided.receive([byte]) }
        for conversation in [whole, divided] { #expect(conversation.violation == .notHTTP2) }
    }

    @Test("A frame that is too large is refused before it arrives, one of the largest size is not")
    func frameTooLarge() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open()
        conversation.receive(.headers(stream, [":status": "200"]), .data(stream, Array(repeating: 1, count: 16_384)))
        #expect(conversation.violation == nil)
        conversation.receive(Array(HTTP2Frame.data(stream, Array(repeating: 1, count: 16_385)).bytes.prefix(9)))
        #expect(conversation.violation == .frameTooLarge)
    }

    @Test("What comes before a violation means the same whether it arrives together with it or not")
    func eventsBeforeViolation() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open()
        conversation.receive(.headers(stream, [":status": "200"]), .data(stream, [1], isEnd: true), .data(stream, [2]))
        #expect(conversation.violation == .frameOrder)
        #expect(conversation.responses == [stream: .init(fields: [HTTPField(name: ":status", value: "200")], body: [1], trailers: [])])
    }
}
