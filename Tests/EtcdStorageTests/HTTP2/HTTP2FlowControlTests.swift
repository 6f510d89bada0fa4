import Testing

@testable import EtcdStorage

@Suite("Flow control of HTTP2Session", .timeLimit(.minutes(10)))
struct HTTP2FlowControlTests {
    private let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

    // MARK: - Sending

    @Test("A body is sent as far as the windows of the stream and the connection allow, and ends once")
    func windows() {
        var conversation = HTTP2Conversation([.initialWindowSize: 10])
        let stream = conversation.open(Array(0..<30))
        #expect(conversation.takeFrames().dropFirst() == [.data(stream, Array(0..<10))])
        #expect(conversation.session.exchanges[stream]?.pendingCount == 20)
        conversation.receive(.number(.windowUpdate, 100))
        #expect(conversation.takeFrames().isEmpty)
        conversation.receive(.number(.windowUpdate, stream: stream, 1), .number(.windowUpdate, stream: stream, 4))
        #expect(conversation.takeFrames() == [.data(stream, [10]), .data(stream, Array(11..<15))])
        conversation.receive(.number(.windowUpdate, stream: stream, 1_000))
        #expect(conversation.takeFrames() == [.data(stream, Array(15..<30), isEnd: true)])
        #expect(conversation.session.exchanges[stream]?.pendingCount == 0)
        conversation.receive(.number(.windowUpdate, stream: stream, 1_000), .number(.windowUpdate, 1_000))
        #expect(conversation.takeFrames().isEmpty)
    }

    @Test("The window of the connection is shared by its streams, the oldest first")
    func connectionWindow() {
        var conversation = HTTP2Conversation()
        let first = conversation.open(Array(bytes.prefix(65_530)))
        let (second, third) = (conversation.open(Array(0..<10)), conversation.open(Array(0..<3)))
        #expect(conversation.takeFrames().last { $0.stream == second } == .data(second, Array(0..<5)))
        #expect(conversation.session.exchanges[first]?.pendingCount == 0)
        conversation.receive(.number(.windowUpdate, 7))
        let frames: [HTTP2Frame] = [.data(second, Array(5..<10), isEnd: true), .data(third, [0, 1])]
        #expect(conversation.takeFrames() == frames)
        conversation.receive(.number(.windowUpdate, 7))
        #expect(conversation.takeFrames() == [.data(third, [2], isEnd: true)])
    }

    @Test("An empty body, and the end of one, need no window")
    func emptyBody() {
        var conversation = HTTP2Conversation([.initialWindowSize: 0])
        let (first, second) = (conversation.open(), conversation.open([1], isEnd: false))
        #expect(conversation.takeFrames().filter { $0.kind == .data } == [.data(first, [], isEnd: true)])
        conversation.receive(.number(.windowUpdate, stream: second, 1))
        #expect(conversation.takeFrames() == [.data(second, [1])])
        conversation.receive(.settings([.initialWindowSize: 10]), .settings([.initialWindowSize: 0]))
        _ = conversation.takeFrames()
        conversation.session.send([], on: second, isEnd: true)
        #expect(conversation.takeFrames() == [.data(second, [], isEnd: true)])
    }

    @Test("Settings change the windows of open streams, also to less than nothing")
    func initialWindow() {
        var conversation = HTTP2Conversation([.initialWindowSize: 10])
        let first = conversation.open(Array(0..<30))
        conversation.receive(.settings([.initialWindowSize: 2]))
        let second = conversation.open(Array(0..<5))
        #expect(conversation.takeFrames().filter { $0.kind == .data } == [.data(first, Array(0..<10)), .data(second, [0, 1])])
        // The window of the first stream is -8.
        conversation.receive(.number(.windowUpdate, stream: first, 8))
        #expect(conversation.takeFrames().isEmpty)
        conversation.receive(.number(.windowUpdate, stream: first, 1))
        #expect(conversation.takeFrames() == [.data(first, [10])])
        conversation.receive(.settings([.initialWindowSize: 4]))
        #expect(conversation.takeFrames().filter { $0.kind == .data } == [.data(first, [11, 12]), .data(second, [2, 3])])
        // The last one of several counts, and nothing is sent before.
        conversation.receive(.settings([.initialWindowSize: 1_000_000, .initialWindowSize: 5]))
        #expect(conversation.takeFrames().filter { $0.kind == .data } == [.data(first, [13]), .data(second, [4], isEnd: true)])
    }

    @Test("Frames are as large as the server allows")
    func frameSize() {
        var conversation = HTTP2Conversation([.initialWindowSize: 1_000_000])
        _ = conversation.open(bytes)
        #expect(conversation.takeFrames().dropFirst().map(\.payload.count) == [16_384, 16_384, 16_384, 16_383])
        conversation.receive(.settings([.maximumFrameSize: 20_000]), .number(.windowUpdate, 1_000_000))
        let frames = conversation.takeFrames().filter { $0.kind == .data }
        #expect(frames.map(\.payload.count) == [20_000, 14_465])
        #expect(frames.last?.flags == .endStream)
    }

    @Test("A stream that is closed sends nothing more when windows grow")
    func closed() {
        var conversation = HTTP2Conversation([.initialWindowSize: 1])
        let stream = conversation.open([1, 2])
        _ = conversation.takeFrames()
        conversation.session.close(stream)
        conversation.receive(.number(.windowUpdate, stream: stream, 10), .settings([.initialWindowSize: 10]))
        #expect(conversation.takeFrames().map(\.kind) == [.reset, .settings])
    }

    // MARK: - Receiving

    @Test("The server is allowed more on a stream when half of its window was used, and as much as that")
    func streamUpdates() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open(isEnd: false)
        _ = conversation.takeFrames()
        conversation.receive(.headers(stream, [":status": "200"]))
        let part = HTTP2Frame.data(stream, Array(repeating: 0, count: 16_384))
        for _ in 0..<31 { conversation.receive(part) }
        conversation.receive(.data(stream, Array(repeating: 0, count: 16_383)))
        #expect(conversation.session.takeBody(of: stream)?.count == 1 << 19 - 1)
        #expect(conversation.takeFrames().isEmpty)
        conversation.receive(.data(stream, [1]))
        #expect(conversation.takeFrames().isEmpty)
        #expect(conversation.session.takeBody(of: stream) == [1])
        #expect(conversation.takeFrames() == [.number(.windowUpdate, stream: stream, 1 << 19)])
        for _ in 0..<64 { conversation.receive(part) }
        #expect(conversation.takeFrames().isEmpty && conversation.violation == nil)
        conversation.receive(.data(stream, [1]))
        #expect(conversation.violation == .windowOverflow)
    }

    @Test("A response that is taken as a whole is used as it arrives")
    func wholeResponse() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open()
        _ = conversation.takeFrames()
        conversation.receive(.headers(stream, [":status": "200"]))
        for _ in 0..<96 { conversation.receive(.data(stream, Array(repeating: 0, count: 16_384))) }
        #expect(conversation.takeFrames() == Array(repeating: .number(.windowUpdate, stream: stream, 1 << 19), count: 3))
        #expect(conversation.responses[stream]?.body.count == 96 * 16_384)
    }

    @Test("Padding is used as soon as it arrives, and counts for the window")
    func padding() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open(isEnd: false)
        _ = conversation.takeFrames()
        conversation.receive(.headers(stream, [":status": "200"]))
        // 256 bytes of padding and its length in each frame.
        let padded = HTTP2Frame(kind: .data, flags: .padded, stream: stream, payload: [255] + Array(repeating: 0, count: 255))
        for _ in 0..<2_047 { conversation.receive(padded) }
        #expect(conversation.takeFrames().isEmpty)
        conversation.receive(padded)
        #expect(conversation.takeFrames() == [.number(.windowUpdate, stream: stream, 1 << 19)])
    }

    @Test("Nothing more is allowed on a stream after its end, or after it was closed")
    func updatesAfterEnd() {
        var conversation = HTTP2Conversation()
        let (first, second) = (conversation.open(isEnd: false), conversation.open(isEnd: false))
        conversation.receive(.headers(first, [":status": "200"]), .headers(second, [":status": "200"]))
        for _ in 0..<40 {
            conversation.receive(.data(first, Array(repeating: 0, count: 16_384)), .data(second, Array(repeating: 0, count: 16_384)))
        }
        conversation.receive(.data(first, [], isEnd: true))
        conversation.session.close(second)
        _ = conversation.takeFrames()
        #expect(conversation.session.takeBody(of: first)?.count == 40 * 16_384 && conversation.session.takeBody(of: second) == nil)
        #expect(conversation.takeFrames().isEmpty)
    }

    @Test("The server is allowed more on the connection when half of that window has arrived, whatever became of the stream")
    func connectionUpdates() {
        var conversation = HTTP2Conversation()
        let stream = conversation.open()
        conversation.session.close(stream)
        _ = conversation.takeFrames()
        let bytes = HTTP2Frame.data(stream, Array(repeating: 0, count: 16_384)).bytes
        // Several frames at a time: this is a gigabyte.
        let many = Array(repeating: bytes, count: 1_024).flatMap { $0 }
        for _ in 0..<63 { conversation.receive(many) }
        #expect(conversation.takeFrames().isEmpty)
        conversation.receive(many)
        conversation.receive(.data(stream, [0]))
        #expect(conversation.takeFrames() == [.number(.windowUpdate, 1 << 30 + 1)])
    }
}
