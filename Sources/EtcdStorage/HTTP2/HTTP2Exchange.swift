/// A request and its response on a stream of a session: flow control, the bytes that wait for it, and the part of the response that has
/// arrived.
struct HTTP2Exchange: Sendable {
    /// The number of bytes sent or pending on the connection before the request.
    let start: Int
    /// The maximum size of the body; nil for a stream, whose window limits the part of the body that has not been taken.
    private let maximumBodySize: Int?
    private var sendWindow: Int64
    private var receiveWindow = HTTP2Session.windowSize
    // The bytes that wait for flow control, nil once this side has ended, and whether it ends after them.
    private var pending: ArraySlice<UInt8>? = []
    private var endsAfterPending = false
    /// The head of the response; empty until it has arrived.
    private(set) var fields: [HTTPField] = []
    /// The part of the body that has arrived and has not been taken.
    private(set) var body: [UInt8] = []
    /// The fields after the body, or those of the head if the response has no body; nil until it has ended.
    private(set) var trailers: [HTTPField]?
    /// Why the response ends early; nil if it is complete or may still be completed.
    private(set) var failure: ConnectionError.Reason?
    /// Whether the server has announced that it has not processed the request, or has not received its end.
    private(set) var isRefused = false

    /// - Parameter sendWindow: how many bytes may be sent at first.
    init(start: Int = 0, sendWindow: Int64, maximumBodySize: Int?) {
        (self.start, self.sendWindow, self.maximumBodySize) = (start, sendWindow, maximumBodySize)
    }

    /// The status of the response, from 200 to 999; nil until its head has arrived.
    var status: Int? { fields[":status"].flatMap { Int($0) } }

    var hasEnded: Bool { trailers != nil || failure != nil }

    var isClosed: Bool { pending == nil && hasEnded }

    /// The number of bytes that wait for flow control.
    var pendingCount: Int { pending?.count ?? 0 }

    /// Ends the response early, unless it has ended, and the request.
    mutating func fail(_ reason: ConnectionError.Reason, isRefused: Bool = false) {
        let isIncomplete = maximumBodySize != nil && pendingCount > 0
        pending = nil
        guard !hasEnded else { return }
        // Without the last bytes of its message, which are sent with the end of the request, the server cannot execute it.
        (failure, self.isRefused) = (reason, isRefused || isIncomplete)
    }

    // MARK: - Sending

    /// Appends pending bytes of the body; does nothing after its end.
    mutating func append(_ bytes: [UInt8], isEnd: Bool) {
        guard !endsAfterPending, let count = pending?.count else { return }
        if count == 0 { pending = bytes[...] } else { pending? += bytes }
        endsAfterPending = isEnd
    }

    /// Sends as many of the pending bytes as the windows of the stream and the connection allow.
    mutating func flush(_ id: UInt32, _ connectionWindow: inout Int64, payloadSize: Int, to output: inout [UInt8]) {
        while let rest = pending {
            let window = max(0, min(sendWindow, connectionWindow, Int64(payloadSize)))
            let part = rest.prefix(Int(window))
            let isLast = endsAfterPending && part.count == rest.count
            guard !part.isEmpty || isLast else { return }
            HTTP2FrameHead.append(.data, isLast ? .endStream : [], stream: id, part, to: &output)
            sendWindow -= Int64(part.count)
            connectionWindow -= Int64(part.count)
            // An empty slice would retain the whole body.
            pending = isLast ? nil : part.count == rest.count ? [] : rest.dropFirst(part.count)
        }
    }

    /// Changes how many bytes may be sent, which settings may make negative.
    mutating func changeSendWindow(by increment: Int64) throws(HTTP2Violation) {
        sendWindow += increment
        guard sendWindow <= HTTP2Session.largestWindow else { throw .windowOverflow }
    }

    // MARK: - Receiving

    mutating func receive(_ fields: [HTTPField], isEnd: Bool) throws(HTTP2Violation) {
        guard trailers == nil else { throw .frameOrder }
        guard self.fields.isEmpty else {
            guard isEnd else { throw .headerFields }
            trailers = fields
            return
        }
        guard let text = fields[":status"], text.utf8.count == 3, let status = Int(text), status >= 100 else { throw .headerFields }
        // An interim response.
        if status < 200 {
            guard !isEnd else { throw .headerFields }
            return
        }
        self.fields = fields
        if isEnd { trailers = fields }
    }

    /// Receives bytes of the body.
    ///
    /// - Parameter padding: the number of bytes beside them that count for flow control.
    mutating func receive(_ bytes: ArraySlice<UInt8>, padding: Int = 0, isEnd: Bool) throws(HTTP2Violation) {
        guard trailers == nil else { throw .frameOrder }
        receiveWindow -= bytes.count + padding
        guard receiveWindow >= 0 else { throw .windowOverflow }
        guard !fields.isEmpty else { throw .headerFields }
        if let maximumBodySize, body.count + bytes.count > maximumBodySize { throw .messageTooLarge }
        body += bytes
        if isEnd { trailers = [] }
    }

    mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }

    /// Allows the server to send as many more bytes as were used, once they are half of the window. Those of a stream are used when they are
    /// taken, and all others when they arrive.
    mutating func updateReceiveWindow(_ id: UInt32, to output: inout [UInt8]) {
        let used = HTTP2Session.windowSize - receiveWindow - (maximumBodySize == nil ? body.count : 0)
        guard !hasEnded, used >= HTTP2Session.windowSize / 2 else { return }
        HTTP2FrameHead.append(.windowUpdate, stream: id, number: UInt32(used), to: &output)
        receiveWindow += used
    }
}
