import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Flow control of HTTP2Session in any order", .timeLimit(.minutes(10)))
struct HTTP2RandomFlowTests {
    /// What a server has allowed and received.
    private struct Server {
        var initialWindow: Int
        var connectionWindow = 65_535
        var windows: [UInt32: Int] = [:]
        var bodies: [UInt32: [UInt8]] = [:]
        var ended: Set<UInt32> = []

        mutating func receive(_ frames: [HTTP2Frame]) {
            for frame in frames {
                switch frame.kind {
                case .headers:
                    windows[frame.stream] = initialWindow
                    bodies[frame.stream] = []
                case .data:
                    #expect(!ended.contains(frame.stream))
                    windows[frame.stream, default: 0] -= frame.payload.count
                    connectionWindow -= frame.payload.count
                    // Settings may make a window smaller than nothing.
                    #expect(frame.payload.isEmpty || windows[frame.stream, default: -1] >= 0 && connectionWindow >= 0)
                    bodies[frame.stream]? += frame.payload
                    if frame.flags.contains(.endStream) { ended.insert(frame.stream) }
                default: break
                }
            }
        }

        mutating func allow(_ count: Int, on stream: UInt32) -> HTTP2Frame {
            if stream == 0 { connectionWindow += count } else { windows[stream, default: 0] += count }
            return .number(.windowUpdate, stream: stream, UInt32(count))
        }

        mutating func change(initialWindow window: Int) -> HTTP2Frame {
            windows = windows.mapValues { $0 + window - initialWindow }
            initialWindow = window
            return .settings([.initialWindowSize: UInt32(window)])
        }
    }

    @Test("Bodies are sent whole and in order, and no window is exceeded, whatever a server allows and when", arguments: 0..<20)
    func sending(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var server = Server(initialWindow: Int.random(in: 0...200, using: &random))
        var conversation = HTTP2Conversation([.initialWindowSize: UInt32(server.initialWindow)])
        var bodies: [UInt32: [UInt8]] = [:]
        var open: Set<UInt32> = []
        for _ in 0..<200 {
            let part = (0..<Int.random(in: 0...500, using: &random)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            let isEnd = Bool.random(using: &random)
            let stream = bodies.keys.sorted().randomElement(using: &random) ?? 0
            switch Int.random(in: 0..<6, using: &random) {
            case 0:
                let stream = conversation.open(part, isEnd: isEnd)
                bodies[stream] = part
                if !isEnd { open.insert(stream) }
            case 1:
                // Nothing is taken after the end.
                conversation.session.send(part, on: stream, isEnd: isEnd)
                if open.contains(stream) { bodies[stream]? += part }
                if isEnd { open.remove(stream) }
            case 2: conversation.receive(server.allow(Int.random(in: 1...5_000, using: &random), on: 0))
            case 3: conversation.receive(server.change(initialWindow: Int.random(in: 0...400, using: &random)))
            default: conversation.receive(server.allow(Int.random(in: 1...500, using: &random), on: stream))
            }
            server.receive(conversation.takeFrames())
        }
        for stream in open { conversation.session.send([], on: stream, isEnd: true) }
        for stream in [0] + bodies.keys { conversation.receive(server.allow(1_000_000, on: stream)) }
        server.receive(conversation.takeFrames())
        #expect(server.bodies == bodies && server.ended == Set(bodies.keys))
        #expect(conversation.violation == nil)
    }

    @Test("A server sends on as long as its bytes are used, and is never more than a window ahead", arguments: 0..<10)
    func receiving(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var conversation = HTTP2Conversation()
        let streams = (0..<4).map { _ in conversation.open(isEnd: false) }
        for stream in streams { conversation.receive(.headers(stream, [":status": "200"])) }
        var windows = Dictionary(uniqueKeysWithValues: streams.map { ($0, 1 << 20) })
        for _ in 0..<2_000 {
            let stream = streams.randomElement(using: &random) ?? 0
            let size = min(windows[stream, default: 0], Int.random(in: 0...16_384, using: &random))
            var frame = HTTP2Frame.data(stream, Array(repeating: 0, count: size))
            if Bool.random(using: &random), size > 0 {
                frame.flags = .padded
                frame.payload[0] = UInt8.random(in: 0...UInt8(min(255, size - 1)), using: &random)
            }
            conversation.receive(frame)
            windows[stream]? -= size
            // Sometimes nothing for a while.
            if Int.random(in: 0..<20, using: &random) == 0 { _ = conversation.session.takeBody(of: stream) }
            for update in conversation.takeFrames() where update.kind == .windowUpdate {
                windows[update.stream]? += Int(update.payload.bigEndian)
            }
            let (window, rest) = (windows[stream, default: 0], conversation.responses[stream]?.body.count ?? 0)
            #expect(window + rest <= 1 << 20)
            #expect(rest > 1 << 19 || window > 0)
        }
        #expect(conversation.violation == nil)
    }
}
