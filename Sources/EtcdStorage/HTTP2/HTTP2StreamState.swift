/// One stream of a session: its flow control, its pending bytes, and which sides have ended.
struct HTTP2StreamState: Sendable {
    private let id: UInt32
    private var sendWindow: Int64
    private var receiveWindow = HTTP2Session.windowSize
    // The bytes used since the last window update.
    private var used = 0
    // The bytes that wait for flow control, and whether this side ends after them.
    private var pending: ArraySlice<UInt8> = []
    private var endsAfterPending = false
    private var hasEnded = false
    private var hasPeerEnded = false

    /// - Parameter sendWindow: how many bytes may be sent at first.
    init(_ id: UInt32, sendWindow: Int64) {
        (self.id, self.sendWindow) = (id, sendWindow)
    }

    /// Whether both sides have ended.
    var isClosed: Bool { hasEnded && hasPeerEnded }

    /// The number of bytes that wait for flow control.
    var pendingCount: Int { pending.count }

    // MARK: - Sending

    /// Appends pending bytes of the body; does nothing after its end.
    mutating func append(_ bytes: [UInt8], isEnd: Bool) {
        guard !endsAfterPending else { return }
        if pending.isEmpty { pending = bytes[...] } else { pending += bytes }
        endsAfterPending = isEnd
    }

    /// Sends as many of the pending bytes as the windows of the stream and the connection allow.
    mutating func flush(_ connectionWindow: inout Int64, payloadSize: Int, to output: inout [UInt8]) {
        while !hasEnded {
            let window = max(0, min(sendWindow, connectionWindow, Int64(payloadSize)))
            let part = pending.prefix(Int(window))
            let isLast = endsAfterPending && part.count == pending.count
            guard !part.isEmpty || isLast else { break }
            HTTP2FrameHead.append(.data, isLast ? .endStream : [], stream: id, part, to: &output)
            pending = pending.dropFirst(part.count)
            sendWindow -= Int64(part.count)
            connectionWindow -= Int64(part.count)
            hasEnded = isLast
        }
        // An empty slice would retain the whole body.
        if pending.isEmpty { pending = [] }
    }

    /// Changes how many bytes may be sent, which settings may make negative.
    mutating func changeSendWindow(by increment: Int64) throws(HTTP2Violation) {
        sendWindow += increment
        guard sendWindow <= HTTP2Session.largestWindow else { throw .windowOverflow }
    }

    // MARK: - Receiving

    /// Receives a header block, with which the server's side may end.
    mutating func receiveFields(isEnd: Bool) throws(HTTP2Violation) {
        guard !hasPeerEnded else { throw .frameOrder }
        hasPeerEnded = isEnd
    }

    /// Receives a number of bytes, including padding.
    mutating func receiveData(_ count: Int, isEnd: Bool) throws(HTTP2Violation) {
        guard !hasPeerEnded else { throw .frameOrder }
        receiveWindow -= count
        guard receiveWindow >= 0 else { throw .windowOverflow }
        hasPeerEnded = isEnd
    }

    /// Allows the server to send as many more bytes as were used, once they are half of the window.
    mutating func use(_ count: Int, to output: inout [UInt8]) {
        guard !hasPeerEnded else { return }
        used += count
        guard used >= HTTP2Session.windowSize / 2 else { return }
        HTTP2FrameHead.append(.windowUpdate, stream: id, number: UInt32(used), to: &output)
        receiveWindow += used
        used = 0
    }
}
