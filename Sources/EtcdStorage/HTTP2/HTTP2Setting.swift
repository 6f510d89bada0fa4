/// A parameter of a connection that one side announces to the other (RFC 9113, section 6.5.2).
enum HTTP2Setting: UInt16, Sendable {
    case headerTableSize = 1
    case enablePush, maximumStreams, initialWindowSize, maximumFrameSize, maximumHeaderListSize

    static func append(_ settings: KeyValuePairs<HTTP2Setting, UInt32>, to output: inout [UInt8]) {
        var payload: [UInt8] = []
        for (setting, value) in settings {
            payload += UInt32(setting.rawValue).bigEndianBytes.dropFirst(2) + value.bigEndianBytes
        }
        HTTP2FrameHead.append(.settings, stream: 0, payload, to: &output)
    }
}

/// The settings of a server, with the defaults until it has sent them.
struct HTTP2ServerSettings: Sendable {
    private(set) var maximumStreams = UInt32.max
    /// The window of a new stream for sending.
    private(set) var initialWindow = Int64(HTTP2Session.initialWindow)
    private(set) var payloadSize = HTTP2FrameHead.defaultPayloadSize

    mutating func apply(_ payload: ArraySlice<UInt8>) throws(HTTP2Violation) {
        guard payload.count.isMultiple(of: 6) else { throw .frameSize }
        var rest = payload
        while !rest.isEmpty {
            let value = rest.dropFirst(2).prefix(4).bigEndian
            switch HTTP2Setting(rawValue: UInt16(truncatingIfNeeded: rest.prefix(2).bigEndian)) {
            case .maximumStreams: maximumStreams = value
            case .initialWindowSize:
                guard value <= HTTP2Session.largestWindow else { throw .settings }
                initialWindow = Int64(value)
            case .maximumFrameSize:
                guard value >= HTTP2FrameHead.defaultPayloadSize, value <= HTTP2FrameHead.largestPayloadSize else { throw .settings }
                payloadSize = Int(value)
            // A server cannot enable push.
            case .enablePush: guard value == 0 else { throw .settings }
            // The encoder uses no dynamic table, and requests have few fields.
            case .headerTableSize, .maximumHeaderListSize, nil: break
            }
            rest = rest.dropFirst(6)
        }
    }
}
