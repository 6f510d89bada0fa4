/// The client's side of an HTTP/2 connection (RFC 9113), as a value without I/O and time: turns bytes into events and requests into bytes.
///
/// Every call may produce output, which has to be taken and sent. The first error ends the session.
struct HTTP2Session: Sendable {
    /// An event on the connection or a stream.
    enum Event: Sendable, Hashable {
        /// The head of a response, or its trailers.
        case fields(stream: UInt32, [HTTPField], isEnd: Bool)
        /// Bytes of a body, and whether it ends with them.
        case data(stream: UInt32, ArraySlice<UInt8>, isEnd: Bool)
        /// The server has reset a stream before the end of its response.
        case reset(stream: UInt32, code: UInt32)
        /// The server accepts no further streams, and has not processed those after the last one.
        case goAway(lastStream: UInt32)

        /// The stream; 0 for the connection.
        var stream: UInt32 {
            switch self {
            case .fields(let stream, _, _), .data(let stream, _, _), .reset(let stream, _): stream
            case .goAway: 0
            }
        }
    }

    /// The window of each stream: how many bytes a server may send before some are used.
    static let windowSize = 1 << 20
    /// The largest window that the standard allows.
    static let largestWindow = Int(Int32.max)
    /// The window of each side by default.
    static let initialWindow = 65_535
    // An HPACK update of the dynamic table's size to 0, which begins a header block.
    private static let emptyTable = 0x20 as UInt8
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var reader = HTTP2FrameReader()
    private var output: [UInt8]
    private var streams: [UInt32: HTTP2StreamState] = [:]
    private var nextStream: UInt32
    private(set) var hasOpened = false
    private var settings = HTTP2ServerSettings()
    /// Whether the server has sent its first settings.
    private(set) var hasSettings = false
    private var isGoingAway = false
    // How many bytes this side may send on all streams. The sum of two windows may overflow an Int of 32 bits.
    private var sendWindow = Int64(Self.initialWindow)
    // How many bytes the server may send. The windows of the streams are the limit, so that one that is not read does not block the others.
    private var receiveWindow = Self.largestWindow

    /// Begins a connection.
    ///
    /// - Parameter firstStream: the odd number of the first stream; higher than 1 in tests of the last numbers.
    init(firstStream: UInt32 = 1) {
        nextStream = firstStream
        output = Self.preface
        HTTP2Setting.append(
            [
                .headerTableSize: 0, .enablePush: 0, .initialWindowSize: UInt32(Self.windowSize),
                .maximumHeaderListSize: UInt32(HTTP2FrameReader.largestHeaderBlock),
            ], to: &output)
        HTTP2FrameHead.append(.windowUpdate, number: UInt32(Self.largestWindow - Self.initialWindow), to: &output)
    }

    /// Whether another stream can be opened at present.
    var canOpen: Bool {
        !isGoingAway && streams.count < settings.maximumStreams && nextStream <= Int32.max
    }

    /// Removes and returns the bytes for the server.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: - Streams

    /// Opens a stream with the fields of a request and the first bytes of its body.
    ///
    /// - Parameter isEnd: whether the body ends with these bytes.
    mutating func open(_ fields: [HTTPField], _ body: [UInt8], isEnd: Bool) -> UInt32 {
        let id = nextStream
        nextStream += 2
        streams[id] = HTTP2StreamState(id, sendWindow: settings.initialWindow)
        var block = HPACK.encode(fields)[...]
        // The encoder uses no dynamic table, and has to confirm that to a server with a smaller table than the default (RFC 7541, 4.2).
        if !hasOpened { block = [Self.emptyTable] + block }
        hasOpened = true
        // One allocation for a small request.
        output.reserveCapacity(output.count + block.count + min(body.count, settings.payloadSize) + 2 * HTTP2FrameHead.size)
        var kind = HTTP2FrameHead.Kind.headers
        repeat {
            let part = block.prefix(settings.payloadSize)
            block = block.dropFirst(part.count)
            HTTP2FrameHead.append(kind, block.isEmpty ? .endHeaders : [], stream: id, part, to: &output)
            kind = .continuation
        } while !block.isEmpty
        send(body, on: id, isEnd: isEnd)
        return id
    }

    /// Sends bytes of a body, or keeps them until flow control allows them.
    mutating func send(_ bytes: [UInt8], on id: UInt32, isEnd: Bool) {
        guard let index = streams.index(forKey: id) else { return }
        // In place: a copy of the stream would copy all pending bytes.
        streams.values[index].append(bytes, isEnd: isEnd)
        flush(index)
    }

    /// The number of bytes of a stream that wait for flow control.
    func pendingCount(of id: UInt32) -> Int {
        streams[id]?.pendingCount ?? 0
    }

    /// Allows the server to send as many more bytes on a stream as were used.
    mutating func use(_ count: Int, of id: UInt32) {
        guard let index = streams.index(forKey: id) else { return }
        streams.values[index].use(count, to: &output)
    }

    /// Ends a stream whose response is not needed any more; resets it unless both sides have ended.
    mutating func close(_ id: UInt32) {
        guard let stream = streams.removeValue(forKey: id), !stream.isClosed else { return }
        HTTP2FrameHead.append(.reset, stream: id, number: HTTP2ErrorCode.cancel, to: &output)
    }

    private mutating func flush(_ index: Dictionary<UInt32, HTTP2StreamState>.Index) {
        streams.values[index].flush(&sendWindow, payloadSize: settings.payloadSize, to: &output)
    }

    private mutating func flushAll() {
        let waiting = streams.compactMap { $1.pendingCount == 0 ? nil : $0 }
        for id in waiting.sorted() {
            if let index = streams.index(forKey: id) { flush(index) }
        }
    }

    // MARK: - Receiving

    /// Appends bytes of the server for ``nextEvent()``.
    mutating func receive(_ bytes: [UInt8]) {
        reader.append(bytes)
    }

    /// The next event in the received bytes; nil if more have to arrive first.
    mutating func nextEvent() throws(HTTP2Violation) -> Event? {
        while let (head, payload) = try reader.next(isFirst: !hasSettings) {
            if let event = try receive(head, payload) { return event }
        }
        return nil
    }

    private mutating func receive(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> Event? {
        switch head.kind {
        case .data: return try receiveData(head, payload)
        case .headers: return try receiveHeaders(head, payload)
        case .reset:
            try checkIsKnown(head.stream)
            guard payload.count == 4 else { throw .frameSize }
            guard streams.removeValue(forKey: head.stream) != nil else { return nil }
            return .reset(stream: head.stream, code: payload.bigEndian)
        case .settings: try receiveSettings(head, payload)
        case .ping:
            guard head.stream == 0 else { throw .streamNumber }
            guard payload.count == 8 else { throw .frameSize }
            if !head.flags.contains(.acknowledgement) { HTTP2FrameHead.append(.ping, .acknowledgement, stream: 0, payload, to: &output) }
        case .goAway:
            guard head.stream == 0 else { throw .streamNumber }
            guard payload.count >= 8 else { throw .frameSize }
            isGoingAway = true
            return .goAway(lastStream: payload.prefix(4).bigEndian & 0x7FFF_FFFF)
        case .windowUpdate: try receiveWindowUpdate(head, payload)
        // Push is disabled, and the reader has merged continuations into their header blocks.
        case .pushPromise, .continuation: throw .frameOrder
        case .priority, nil: break
        }
        return nil
    }

    private mutating func receiveData(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> Event? {
        try checkIsKnown(head.stream)
        receiveWindow -= payload.count
        guard receiveWindow >= 0 else { throw .windowOverflow }
        if receiveWindow < Self.largestWindow / 2 {
            HTTP2FrameHead.append(.windowUpdate, number: UInt32(Self.largestWindow - receiveWindow), to: &output)
            receiveWindow = Self.largestWindow
        }
        let content = try head.content(of: payload)
        // Bytes of a stream that was closed here are ignored.
        guard let index = streams.index(forKey: head.stream) else { return nil }
        let isEnd = head.flags.contains(.endStream)
        try streams.values[index].receiveData(payload.count, isEnd: isEnd)
        // Padding counts as used.
        use(payload.count - content.count, of: head.stream)
        // Some servers send empty frames, which are no events.
        return content.isEmpty && !isEnd ? nil : .data(stream: head.stream, content, isEnd: isEnd)
    }

    private mutating func receiveHeaders(_ head: HTTP2FrameHead, _ block: ArraySlice<UInt8>) throws(HTTP2Violation) -> Event? {
        try checkIsKnown(head.stream)
        guard let index = streams.index(forKey: head.stream) else { return nil }
        let fields = try HPACK.decode(block, maximumListSize: HTTP2FrameReader.largestHeaderBlock)
        let isEnd = head.flags.contains(.endStream)
        try streams.values[index].receiveFields(isEnd: isEnd)
        return .fields(stream: head.stream, fields, isEnd: isEnd)
    }

    private mutating func receiveSettings(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) {
        guard head.stream == 0 else { throw .streamNumber }
        if head.flags.contains(.acknowledgement) {
            guard payload.isEmpty else { throw .frameSize }
            return
        }
        let window = settings.initialWindow
        try settings.apply(payload)
        if settings.initialWindow != window {
            for index in streams.indices { try streams.values[index].changeSendWindow(by: settings.initialWindow - window) }
        }
        HTTP2FrameHead.append(.settings, .acknowledgement, stream: 0, [], to: &output)
        flushAll()
        hasSettings = true
    }

    private mutating func receiveWindowUpdate(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) {
        guard payload.count == 4 else { throw .frameSize }
        let increment = Int64(payload.bigEndian & 0x7FFF_FFFF)
        guard increment > 0 else { throw .windowOverflow }
        if head.stream == 0 {
            sendWindow += increment
            guard sendWindow <= Self.largestWindow else { throw .windowOverflow }
            return flushAll()
        }
        try checkIsKnown(head.stream)
        guard let index = streams.index(forKey: head.stream) else { return }
        try streams.values[index].changeSendWindow(by: increment)
        flush(index)
    }

    /// Checks that a stream was opened; it may have ended.
    private func checkIsKnown(_ stream: UInt32) throws(HTTP2Violation) {
        guard !stream.isMultiple(of: 2), stream < nextStream else { throw .streamNumber }
    }
}
