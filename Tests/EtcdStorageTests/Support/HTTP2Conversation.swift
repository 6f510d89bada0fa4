@testable import EtcdStorage

/// An HTTP/2 frame that tests write and compare.
struct HTTP2Frame: Hashable {
    var kind: HTTP2FrameHead.Kind
    var flags: HTTP2FrameHead.Flags = []
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    /// The bytes of the frame.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        HTTP2FrameHead.append(kind, flags, stream: stream, payload, to: &bytes)
        return bytes
    }

    /// A frame whose payload is one number of four bytes.
    static func number(_ kind: HTTP2FrameHead.Kind, stream: UInt32 = 0, _ number: UInt32) -> HTTP2Frame {
        var payload: [UInt8] = []
        payload += number.bigEndianBytes
        return HTTP2Frame(kind: kind, stream: stream, payload: payload)
    }

    static func settings(_ settings: KeyValuePairs<HTTP2Setting, UInt32> = [:]) -> HTTP2Frame {
        var bytes: [UInt8] = []
        HTTP2Setting.append(settings, to: &bytes)
        return HTTP2Frame(kind: .settings, payload: Array(bytes.dropFirst(HTTP2FrameHead.size)))
    }

    /// The header block of a response in one frame.
    static func headers(_ stream: UInt32, _ fields: KeyValuePairs<String, String>, isEnd: Bool = false) -> HTTP2Frame {
        HTTP2Frame(kind: .headers, flags: isEnd ? [.endHeaders, .endStream] : .endHeaders, stream: stream, payload: .block(fields))
    }

    static func data(_ stream: UInt32, _ payload: [UInt8], isEnd: Bool = false) -> HTTP2Frame {
        HTTP2Frame(kind: .data, flags: isEnd ? .endStream : [], stream: stream, payload: payload)
    }

    static func goAway(lastStream: UInt32, code: UInt32 = HTTP2ErrorCode.noError) -> HTTP2Frame {
        var payload: [UInt8] = []
        payload += lastStream.bigEndianBytes
        payload += code.bigEndianBytes
        return HTTP2Frame(kind: .goAway, payload: payload)
    }

    /// The complete frames at the beginning of some bytes, which are removed; those of unknown types are left out.
    static func takeAll(from bytes: inout [UInt8]) -> [HTTP2Frame] {
        var frames: [HTTP2Frame] = []
        var rest = bytes[...]
        while rest.count >= HTTP2FrameHead.size {
            let head = HTTP2FrameHead(rest)
            guard rest.count >= HTTP2FrameHead.size + head.length else { break }
            let payload = rest.dropFirst(HTTP2FrameHead.size).prefix(head.length)
            rest = rest.dropFirst(HTTP2FrameHead.size + head.length)
            guard let kind = head.kind else { continue }
            frames.append(HTTP2Frame(kind: kind, flags: head.flags, stream: head.stream, payload: Array(payload)))
        }
        bytes = Array(rest)
        return frames
    }
}

extension [UInt8] {
    /// A header block.
    static func block(_ fields: KeyValuePairs<String, String>) -> [UInt8] {
        HPACK.encode(fields.map { HTTPField(name: $0, value: $1) })
    }
}

extension [HTTP2Frame] {
    var bytes: [UInt8] { flatMap(\.bytes) }
}

/// A session with the bytes of a server.
struct HTTP2Conversation {
    /// What has arrived of a response.
    struct Response: Hashable {
        var fields: [HTTPField] = []
        var body: [UInt8] = []
        var trailers: [HTTPField]?
        var failure: ConnectionError.Reason?
    }

    var session = HTTP2Session()
    private(set) var violation: HTTP2Violation?

    /// Begins with the settings of a server, and drops the output until then.
    init(_ settings: KeyValuePairs<HTTP2Setting, UInt32> = [:]) {
        self.init(receiving: [.settings(settings)])
        _ = session.takeOutput()
    }

    /// Begins with the first frames of a server.
    init(receiving frames: [HTTP2Frame]) {
        receive(frames.bytes)
    }

    /// The responses on the streams that were not closed.
    var responses: [UInt32: Response] {
        session.exchanges.mapValues { Response(fields: $0.fields, body: $0.body, trailers: $0.trailers, failure: $0.failure) }
    }

    /// Opens a stream with a request; one that is continued has a response that is taken while it arrives.
    mutating func open(_ body: [UInt8] = [], isEnd: Bool = true) -> UInt32 {
        session.open([HTTPField(name: ":path", value: "/")], body, maximumBodySize: isEnd ? .max : nil)
    }

    mutating func receive(_ frames: HTTP2Frame...) {
        receive(frames)
    }

    mutating func receive(_ frames: [HTTP2Frame]) {
        receive(frames.bytes)
    }

    mutating func receive(_ bytes: [UInt8]) {
        guard violation == nil else { return }
        do throws(HTTP2Violation) {
            try session.receive(bytes)
        } catch {
            violation = error
        }
    }

    /// Removes and returns the frames for the server.
    mutating func takeFrames() -> [HTTP2Frame] {
        var output = session.takeOutput()
        return HTTP2Frame.takeAll(from: &output)
    }
}
