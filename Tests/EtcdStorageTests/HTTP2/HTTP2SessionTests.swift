import Testing

@testable import EtcdStorage

@Suite("HTTP2Session", .timeLimit(.minutes(10)))
struct HTTP2SessionTests {
    // MARK: - Opening

    @Test("A session begins with the preface, settings without push and dynamic table, and a large window of the connection")
    func preface() {
        var session = HTTP2Session()
        var output = session.takeOutput()
        let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
        #expect(output.starts(with: preface))
        output.removeFirst(preface.count)
        let settings = HTTP2Frame.settings(
            [.headerTableSize: 0, .enablePush: 0, .initialWindowSize: 1 << 20, .maximumHeaderListSize: 65_536])
        #expect(HTTP2Frame.takeAll(from: &output) == [settings, .number(.windowUpdate, UInt32(Int32.max) - 65_535)])
        #expect(output.isEmpty)
    }

    @Test("All settings are acknowledged")
    func settings() {
        var conversation = HTTP2Conversation(receiving: [])
        _ = conversation.takeFrames()
        let acknowledgement = HTTP2Frame(kind: .settings, flags: .acknowledgement)
        #expect(!conversation.session.hasSettings)
        for _ in 0..<2 {
            conversation.receive(.settings([.headerTableSize: 0, .maximumStreams: 100]), acknowledgement)
            #expect(conversation.session.hasSettings)
            #expect(conversation.takeFrames() == [acknowledgement])
        }
    }

    @Test("A request is a header block and a body, which ends once")
    func request() throws {
        var conversation = HTTP2Conversation()
        let first = conversation.session.open(
            [HTTPField(name: ":path", value: "/a"), HTTPField(name: "x", value: "y")], [1, 2, 3], maximumBodySize: .max)
        let second = conversation.open([4], isEnd: false)
        conversation.session.send([], on: second, isEnd: false)
        conversation.session.send([5], on: second, isEnd: true)
        // Nothing follows the end.
        conversation.session.send([6], on: second, isEnd: true)
        #expect([first, second] == [1, 3])
        let frames = conversation.takeFrames()
        let fields = try HPACK.decode(frames[0].payload[...])
        #expect(frames[0].kind == .headers && frames[0].flags == .endHeaders && frames[0].stream == 1)
        #expect(fields == [HTTPField(name: ":path", value: "/a"), HTTPField(name: "x", value: "y")])
        #expect(frames[1] == .data(1, [1, 2, 3], isEnd: true))
        #expect(frames[2...].map(\.stream) == [3, 3, 3])
        #expect(frames[3...] == [.data(3, [4]), .data(3, [5], isEnd: true)])
    }

    @Test("A header block over the size of a frame is continued")
    func continuedRequest() throws {
        var conversation = HTTP2Conversation()
        let field = HTTPField(name: "x", value: String(repeating: "y", count: 40_000))
        _ = conversation.session.open([field], [], maximumBodySize: .max)
        let frames = conversation.takeFrames()
        #expect(frames.map(\.kind) == [.headers, .continuation, .continuation, .data])
        #expect(frames.map(\.flags) == [[], [], .endHeaders, .endStream])
        #expect(frames.allSatisfy { $0.payload.count <= 16_384 && $0.stream == 1 })
        #expect(try HPACK.decode(frames.flatMap(\.payload)[...]) == [field])
    }

    @Test("The first header block gives up the table of earlier fields, as a server with a smaller one demands")
    func headerTable() {
        var conversation = HTTP2Conversation([.headerTableSize: 0])
        _ = [conversation.open(), conversation.open()]
        let blocks = conversation.takeFrames().filter { $0.kind == .headers }.map(\.payload)
        #expect(blocks[0] == [0x20] + blocks[1])
        #expect(blocks[1] == .block([":path": "/"]))
    }

    @Test("Streams are opened up to the last number")
    func lastStream() {
        var session = HTTP2Session(firstStream: UInt32(Int32.max) - 2)
        #expect(session.canOpen)
        #expect(session.open([], [], maximumBodySize: .max) == UInt32(Int32.max) - 2)
        #expect(session.canOpen)
        #expect(session.open([], [], maximumBodySize: .max) == UInt32(Int32.max))
        #expect(!session.canOpen)
    }

    // MARK: - Responses

    private static let response: [HTTP2Frame] = [
        .settings([.maximumStreams: 100]), .headers(1, [":status": "103", "link": "x"]),
        // Five bytes about the priority, and padding.
        HTTP2Frame(
            kind: .headers, flags: [.padded, .priority], stream: 1,
            payload: [3, 0, 0, 0, 0, 7] + [UInt8].block([":status": "200"]) + [0, 0, 0]),
        HTTP2Frame(kind: .continuation, stream: 1), HTTP2Frame(kind: .continuation, stream: 1, payload: .block(["a": "b"])),
        HTTP2Frame(kind: .continuation, flags: .endHeaders, stream: 1, payload: .block(["c": ""])),
        HTTP2Frame(kind: .priority, stream: 1, payload: [0, 0, 0, 0, 7]), .data(1, [1, 2, 3]),
        HTTP2Frame(kind: .ping, payload: Array(1...8)), HTTP2Frame(kind: .data, flags: .padded, stream: 1, payload: [2, 4, 0, 0]),
        HTTP2Frame(kind: .data, flags: .padded, stream: 1, payload: [0, 5]), .number(.windowUpdate, 10),
        .number(.windowUpdate, stream: 1, 10), .data(3, [6]), .number(.reset, stream: 3, HTTP2ErrorCode.refusedStream),
        .headers(1, ["grpc-status": "0"], isEnd: true), .goAway(lastStream: 1),
    ]

    // Before the frames above, so that stream 3 has a head.
    private static let other = HTTP2Frame.headers(3, [":status": "200"])

    private func conversation(of parts: [ArraySlice<UInt8>]) -> HTTP2Conversation {
        var conversation = HTTP2Conversation(receiving: [])
        _ = [conversation.open(), conversation.open()]
        for part in parts { conversation.receive(Array(part)) }
        return conversation
    }

    @Test("Responses mean the same wherever their bytes are divided")
    func divisions() {
        let bytes = ([Self.response[0], Self.other] + Self.response.dropFirst()).bytes
        let whole = conversation(of: [bytes[...]])
        #expect(whole.violation == nil)
        let status = HTTPField(name: ":status", value: "200")
        #expect(
            whole.responses == [
                1: .init(
                    fields: [status, HTTPField(name: "a", value: "b"), HTTPField(name: "c", value: "")], body: [1, 2, 3, 4, 5],
                    trailers: [HTTPField(name: "grpc-status", value: "0")]),
                3: .init(fields: [status], body: [6], failure: .reset(code: HTTP2ErrorCode.refusedStream)),
            ])
        #expect(whole.session.exchanges[3]?.isRefused == true && !whole.session.canOpen)
        for one in 0...bytes.count {
            for other in stride(from: one, through: bytes.count, by: 11) {
                #expect(conversation(of: [bytes[..<one], bytes[one..<other], bytes[other...]]).responses == whole.responses)
            }
        }
        #expect(conversation(of: bytes.indices.map { bytes[$0...$0] }).responses == whole.responses)
    }

    @Test("A response may end with its head, or with its body")
    func ends() {
        var conversation = HTTP2Conversation()
        _ = [conversation.open(), conversation.open()]
        conversation.receive(.headers(1, [":status": "200"], isEnd: true), .headers(3, [":status": "200"]), .data(3, [], isEnd: true))
        let fields = [HTTPField(name: ":status", value: "200")]
        #expect(conversation.responses == [1: .init(fields: fields, trailers: fields), 3: .init(fields: fields, trailers: [])])
    }

    @Test("Frames without any content mean nothing, unless they end a body")
    func emptyFrames() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open()
        conversation.receive(.headers(stream, [":status": "200"]))
        let padding = HTTP2Frame(kind: .data, flags: .padded, stream: stream, payload: [2, 0, 0])
        for _ in 0..<100 { conversation.receive(.data(stream, []), padding) }
        #expect(conversation.responses[stream]?.body == [] && conversation.responses[stream]?.trailers == nil)
        conversation.receive(.data(stream, [], isEnd: true))
        #expect(conversation.responses[stream]?.trailers == [])
    }

    @Test("Frames of unknown types and settings of unknown names are ignored")
    func extensions() {
        var conversation = HTTP2Conversation()
        _ = conversation.open()
        _ = conversation.takeFrames()
        for type in 10...255 {
            var bytes = HTTP2Frame(kind: .data, flags: [.endStream, .padded], stream: 1, payload: [9, 9]).bytes
            bytes[3] = UInt8(type)
            conversation.receive(bytes)
        }
        #expect(conversation.responses == [1: .init()] && conversation.violation == nil && conversation.takeFrames().isEmpty)
        conversation.receive(HTTP2Frame(kind: .settings, payload: [0x12, 0x34, 0, 0, 0, 1, 0, 7, 255, 255, 255, 255]))
        conversation.receive(.headers(1, [":status": "200"], isEnd: true))
        #expect(conversation.responses[1]?.trailers != nil && conversation.violation == nil)
    }

    @Test("Pings are acknowledged with their payload, acknowledgements are not")
    func pings() {
        var conversation = HTTP2Conversation()
        conversation.receive(HTTP2Frame(kind: .ping, payload: Array(1...8)))
        conversation.receive(HTTP2Frame(kind: .ping, flags: .acknowledgement, payload: Array(1...8)))
        #expect(conversation.takeFrames() == [HTTP2Frame(kind: .ping, flags: .acknowledgement, payload: Array(1...8))])
    }

    // MARK: - Ends

    @Test("Closing a stream resets it, unless both sides have ended, and only once")
    func close() {
        var conversation = HTTP2Conversation()
        _ = [conversation.open(), conversation.open(isEnd: false), conversation.open(), conversation.open()]
        conversation.receive(.headers(1, [":status": "200"], isEnd: true), .headers(3, [":status": "200"], isEnd: true))
        conversation.receive(.number(.reset, stream: 7, HTTP2ErrorCode.cancel))
        _ = conversation.takeFrames()
        for stream in [1, 3, 5, 7, 5, 9] as [UInt32] { conversation.session.close(stream) }
        #expect(conversation.takeFrames() == [3, 5].map { .number(.reset, stream: $0, HTTP2ErrorCode.cancel) })
        conversation.session.send([1], on: 3, isEnd: true)
        #expect(conversation.takeFrames().isEmpty)
    }

    @Test("What arrives for a stream that was closed here is passed over, and later header blocks are read")
    func closedHere() throws {
        var conversation = HTTP2Conversation()
        _ = [conversation.open(), conversation.open()]
        conversation.session.close(1)
        // With incremental indexing, which adds nothing to a table of size 0.
        let literal = [0x40, 1, UInt8(ascii: "n"), 1, UInt8(ascii: "v")] as [UInt8]
        conversation.receive(HTTP2Frame(kind: .headers, stream: 1, payload: [0x88]))
        conversation.receive(HTTP2Frame(kind: .continuation, flags: .endHeaders, stream: 1, payload: literal))
        conversation.receive(.data(1, [1, 2, 3]), .number(.windowUpdate, stream: 1, 1))
        conversation.receive(.headers(1, ["grpc-status": "0"], isEnd: true), .number(.reset, stream: 1, 0))
        #expect(conversation.responses == [3: .init()] && conversation.violation == nil)
        conversation.receive(HTTP2Frame(kind: .headers, flags: [.endHeaders, .endStream], stream: 3, payload: [0x88] + literal))
        let fields = [HTTPField(name: ":status", value: "200"), HTTPField(name: "n", value: "v")]
        #expect(conversation.responses == [3: .init(fields: fields, trailers: fields)])
    }

    @Test("Nothing is added after a failure: a body without what was refused must not pass for the whole one")
    func failure() {
        var conversation = HTTP2Conversation()
        let (first, second) = (conversation.open(), conversation.open(isEnd: false))
        _ = conversation.takeFrames()
        for stream in [first, second] { conversation.receive(.headers(stream, [":status": "200"]), .data(stream, [1])) }
        conversation.session.fail(first, .cancelled)
        // A head in the middle of a response.
        conversation.receive(.headers(second, [":status": "200"]))
        #expect(conversation.takeFrames() == [first, second].map { .number(.reset, stream: $0, HTTP2ErrorCode.cancel) })
        let before = conversation.responses
        #expect(before[first]?.failure == .cancelled)
        #expect(before[second]?.failure == .invalidResponse(HTTP2Violation.headerFields.rawValue))
        for stream in [first, second] {
            conversation.receive(.data(stream, [2]), .headers(stream, ["grpc-status": "0"], isEnd: true))
            conversation.session.send([3], on: stream, isEnd: true)
            conversation.session.fail(stream, .deadlineExceeded)
        }
        #expect(conversation.responses == before && before.values.allSatisfy { $0.body == [1] && $0.trailers == nil })
        for stream in [first, second] { conversation.session.close(stream) }
        #expect(conversation.takeFrames().isEmpty && conversation.violation == nil)
    }

    @Test("A server that resets a stream after its response gets no more of the request, and the response is complete")
    func resetAfterEnd() {
        var conversation = HTTP2Conversation([.initialWindowSize: 1])
        let stream = conversation.open([1, 2, 3])
        conversation.receive(.headers(stream, [":status": "200"], isEnd: true), .number(.reset, stream: stream, HTTP2ErrorCode.noError))
        _ = conversation.takeFrames()
        conversation.receive(.settings([.initialWindowSize: 100]))
        #expect(conversation.responses[stream]?.trailers != nil && conversation.responses[stream]?.failure == nil)
        conversation.session.close(stream)
        #expect(conversation.takeFrames().map(\.kind) == [.settings])
    }

    @Test("A server that goes away takes no further streams, and goes on with the others")
    func goAway() {
        var conversation = HTTP2Conversation()
        _ = [conversation.open(), conversation.open()]
        #expect(conversation.session.canOpen)
        conversation.receive(.goAway(lastStream: UInt32(Int32.max)), .goAway(lastStream: 1))
        #expect(!conversation.session.canOpen)
        conversation.receive(.headers(1, [":status": "200"], isEnd: true))
        #expect(conversation.responses[1]?.trailers != nil && conversation.responses[3]?.failure == .closedByPeer)
        #expect(conversation.session.exchanges[3]?.isRefused == true)
    }

    @Test("As many streams can be open as the server allows, which may become fewer than there are")
    func streamLimit() {
        var conversation = HTTP2Conversation([.maximumStreams: 2])
        _ = conversation.open()
        #expect(conversation.session.canOpen)
        _ = conversation.open()
        #expect(!conversation.session.canOpen)
        conversation.receive(.settings([.maximumStreams: 3]))
        #expect(conversation.session.canOpen)
        _ = conversation.open()
        conversation.receive(.settings([.maximumStreams: 1]))
        conversation.session.close(1)
        conversation.receive(.number(.reset, stream: 3, HTTP2ErrorCode.cancel))
        #expect(!conversation.session.canOpen)
        conversation.receive(.headers(5, [":status": "200"], isEnd: true))
        conversation.session.close(5)
        #expect(conversation.session.canOpen)
        conversation.receive(.settings([.maximumStreams: 0]))
        #expect(!conversation.session.canOpen)
        conversation.receive(.settings([.maximumStreams: .max]))
        #expect(conversation.session.canOpen)
    }
}
