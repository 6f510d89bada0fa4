import TestSupport
import Testing

@testable import EtcdStorage

@Suite("HTTP2Session with hostile bytes", .timeLimit(.minutes(10)))
struct HTTP2FuzzTests {
    private static let seeds = UInt64(isLong ? 20_000 : 300)

    /// The result of bytes in a session with four requests, one of which was closed.
    private struct Outcome: Hashable {
        var responses: [UInt32: HTTP2Conversation.Response] = [:]
        var violation: HTTP2Violation?
        var output: [UInt8] = []
    }

    private func outcome(of bytes: [UInt8], divided: Bool, _ random: inout SeededGenerator) -> Outcome {
        var conversation = HTTP2Conversation(receiving: [])
        for count in [0, 100, 70_000, 10] { _ = conversation.open(Array(repeating: 1, count: count)) }
        conversation.session.close(7)
        var outcome = Outcome(output: conversation.session.takeOutput())
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(divided ? Int.random(in: 1...60, using: &random) : rest.count)
            rest = rest.dropFirst(part.count)
            conversation.receive(Array(part))
            outcome.output += conversation.session.takeOutput()
        }
        (outcome.responses, outcome.violation) = (conversation.responses, conversation.violation)
        return outcome
    }

    private func check(_ bytes: [UInt8], seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let whole = outcome(of: bytes, divided: false, &random)
        let divided = outcome(of: bytes, divided: true, &random)
        if whole != divided { Issue.record("seed \(seed): the bytes mean something else if they are divided") }
        // Besides the requests: each frame is answered by at most one of the same size, and data by bodies in frames of at least a byte.
        let limit = 75_000 + 24 + 1_000 + 10 * bytes.count
        if whole.output.count > limit { Issue.record("seed \(seed): \(whole.output.count) bytes in answer to \(bytes.count)") }
    }

    @Test("Random bytes never trap, and mean the same wherever they are divided")
    func randomBytes() {
        for seed in 0..<Self.seeds {
            var random = SeededGenerator(seed: seed)
            let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            check(bytes, seed: seed)
            check(HTTP2Frame.settings().bytes + bytes, seed: seed)
        }
    }

    @Test("Frames with random kinds, flags, streams and payloads never trap, and mean the same wherever they are divided")
    func randomFrames() {
        for seed in 0..<Self.seeds {
            var random = SeededGenerator(seed: seed)
            let frames = (0..<Int.random(in: 1...20, using: &random)).map { _ in randomFrame(&random) }
            check(HTTP2Frame.settings().bytes + frames.bytes, seed: seed)
        }
    }

    private func randomFrame(_ random: inout SeededGenerator) -> HTTP2Frame {
        let kind = HTTP2FrameHead.Kind(rawValue: UInt8.random(in: 0...9, using: &random)) ?? .data
        let flags = HTTP2FrameHead.Flags(rawValue: [0, 0, 1, 4, 5, 8, 0x20, 0x25, 0x2D].randomElement(using: &random) ?? 0)
        let stream = ([0, 1, 1, 3, 5, 7, 9, 2, .max] as [UInt32]).randomElement(using: &random) ?? 0
        let size = [0, 1, 4, 4, 5, 6, 8, 8, 12, 40].randomElement(using: &random) ?? 0
        var payload = (0..<size).map { _ in [0, 0, 0, 1, 4, 5, 0x7F, 0x88, 0xBE, 0xFF].randomElement(using: &random) ?? 0 as UInt8 }
        if kind == .headers, Bool.random(using: &random) { payload = .block([":status": "200", "a": "b"]) }
        return HTTP2Frame(kind: kind, flags: flags, stream: stream, payload: payload)
    }

    private static let conversation: [HTTP2Frame] = [
        .settings([.maximumStreams: 100, .initialWindowSize: 100]), .headers(1, [":status": "200", "content-type": "application/grpc"]),
        .number(.windowUpdate, 50), .number(.windowUpdate, stream: 5, 70_000), .data(1, Array(0..<30)),
        HTTP2Frame(kind: .headers, flags: [.padded, .priority], stream: 3, payload: [1, 0, 0, 0, 0, 7, 0x88, 0]),
        HTTP2Frame(kind: .continuation, flags: .endHeaders, stream: 3, payload: [0x40, 1, 97, 1, 98]),
        HTTP2Frame(kind: .data, flags: .padded, stream: 3, payload: [3, 1, 2, 0, 0, 0]), HTTP2Frame(kind: .ping, payload: Array(1...8)),
        HTTP2Frame(kind: .settings, flags: .acknowledgement), .settings([.initialWindowSize: 1_000, .maximumFrameSize: 20_000]),
        HTTP2Frame(kind: .headers, flags: [.endHeaders, .endStream], stream: 1, payload: [0x88, 0x90]), .data(7, [1, 2]),
        .number(.reset, stream: 5, 7), .goAway(lastStream: 3), .data(3, [1], isEnd: true),
    ]

    @Test("Valid conversations with mutations never trap, and mean the same wherever they are divided")
    func mutations() {
        let interesting = [0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 0x40, 0x7F, 0x80, 0x88, 0xBE, 0xFF] as [UInt8]
        for seed in 0..<Self.seeds * 2 {
            var random = SeededGenerator(seed: seed)
            var frames = Self.conversation
            if Bool.random(using: &random) { frames[1...].shuffle(using: &random) }
            var bytes = frames.bytes
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let index = bytes.indices.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<5, using: &random) {
                case 0: bytes[index] = interesting.randomElement(using: &random) ?? 0
                case 1: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: index)
                case 2: bytes.remove(at: index)
                case 3: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
                default: bytes.insert(contentsOf: bytes[index...].prefix(30), at: index)
                }
            }
            check(bytes, seed: seed)
        }
    }

    @Test("The conversation that is mutated is valid")
    func validConversation() {
        var random = SeededGenerator(seed: 0)
        let outcome = outcome(of: Self.conversation.bytes, divided: false, &random)
        #expect(outcome.violation == nil && outcome.responses.mapValues(\.body) == [1: Array(0..<30), 3: [1, 2, 1], 5: []])
        #expect(outcome.responses[1]?.trailers != nil && outcome.responses[3]?.trailers == [] && outcome.responses[5]?.failure != nil)
    }
}
