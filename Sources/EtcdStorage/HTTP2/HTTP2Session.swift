/// The client's side of a connection of HTTP/2, as a value that turns bytes into events and requests into bytes: it knows neither sockets
/// nor time (RFC 9113).
///
/// Every call may lead to output, which has to be taken and sent. The first error ends the session.
struct HTTP2Session: Sendable {
    /// What the server has sent.
    enum Event: Sendable, Hashable {
        /// The first settings, with which every server begins.
        case settings
        /// The head of a response, or what follows its body.
        case fields(stream: UInt32, [HTTPField], isEnd: Bool)
        /// Bytes of a body, and whether it ends with them.
        case data(stream: UInt32, ArraySlice<UInt8>, isEnd: Bool)
        /// The end of a stream without the rest of its response.
        case reset(stream: UInt32, code: UInt32)
        /// The server takes no further streams, and has not looked at those after a last one.
        case goAway(lastStream: UInt32)

        /// The stream; 0 for the connection.
        var stream: UInt32 {
            switch self {
            case .fields(let stream, _, _), .data(let stream, _, _), .reset(let stream, _): stream
            case .settings, .goAway: 0
            }
        }
    }

    private struct Stream {
        var sendWindow: Int64
        var receiveWindow = HTTP2Session.windowSize
        /// The bytes that were used since the server was last allowed more.
        var used = 0
        /// The bytes that wait until the server allows more.
        var pending: ArraySlice<UInt8> = []
        /// Whether this side ends after the pending bytes.
        var endsAfterPending = false
        var hasEnded = false
        var hasPeerEnded = false
    }

    private struct HeaderBlock {
        let stream: UInt32
        let isEnd: Bool
        var bytes: ArraySlice<UInt8>
    }

    /// How many bytes of a stream a server may send before some are used.
    static let windowSize = 1 << 20
    private static let largestWindow = Int(Int32.max)
    private static let initialWindow = 65_535
    private static let largestHeaderBlock = 65_536
    // Changes the size of the table to nothing, at the beginning of a header block.
    private static let emptyTable = 0x20 as UInt8
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

    private var input: ArraySlice<UInt8> = []
    private var output: [UInt8]
    private var streams: [UInt32: Stream] = [:]
    private var nextStream: UInt32
    private var hasOpened = false
    private var decoder = HPACKDecoder(maximumListSize: Self.largestHeaderBlock)
    // A header block whose frames are still arriving.
    private var headerBlock: HeaderBlock?
    private var hasSettings = false
    private var isGoingAway = false
    // What this side may send. The sum of two windows is more than an Int has where that has 32 bits.
    private var sendWindow = Int64(Self.initialWindow)
    private var initialSendWindow = Int64(Self.initialWindow)
    private var payloadSize = HTTP2FrameHead.defaultPayloadSize
    private var maximumStreams = UInt32.max
    // What the server may send. Streams are limited one by one, so that one that nobody reads does not stop the others.
    private var receiveWindow = Self.largestWindow

    /// Begins a connection.
    ///
    /// - Parameter firstStream: the number of the first stream, which is odd; another one than 1 shows what happens when they are used up.
    init(firstStream: UInt32 = 1) {
        nextStream = firstStream
        output = Self.preface
        HTTP2Setting.append(
            [.enablePush: 0, .initialWindowSize: UInt32(Self.windowSize), .maximumHeaderListSize: UInt32(Self.largestHeaderBlock)],
            to: &output)
        HTTP2FrameHead.append(.windowUpdate, number: UInt32(Self.largestWindow - Self.initialWindow), to: &output)
    }

    /// Whether another stream can be opened at present.
    var canOpen: Bool {
        !isGoingAway && streams.count < maximumStreams && nextStream <= Int32.max
    }

    /// Removes and returns the bytes for the server.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: - Streams

    /// Opens a stream with the fields of a request and the first bytes of its body.
    ///
    /// - Parameter isEnd: whether these are all bytes of the body.
    mutating func open(_ fields: [HTTPField], _ body: [UInt8], isEnd: Bool) -> UInt32 {
        let id = nextStream
        nextStream += 2
        streams[id] = Stream(sendWindow: initialSendWindow)
        var block = HPACKEncoder.encode(fields)[...]
        // No table for earlier fields is used; a server that allows less of it than the standard has to be told so (RFC 7541, 4.2).
        if !hasOpened { block = [Self.emptyTable] + block }
        hasOpened = true
        // One allocation for a small request.
        output.reserveCapacity(output.count + block.count + min(body.count, payloadSize) + 2 * HTTP2FrameHead.size)
        var kind = HTTP2FrameHead.Kind.headers
        repeat {
            let part = block.prefix(payloadSize)
            block = block.dropFirst(part.count)
            HTTP2FrameHead.append(kind, block.isEmpty ? .endHeaders : [], stream: id, part, to: &output)
            kind = .continuation
        } while !block.isEmpty
        send(body, on: id, isEnd: isEnd)
        return id
    }

    /// Sends bytes of a body, or keeps them until the server allows them.
    mutating func send(_ bytes: [UInt8], on id: UInt32, isEnd: Bool) {
        guard let index = streams.index(forKey: id), !streams.values[index].endsAfterPending else { return }
        if streams.values[index].pending.isEmpty {
            streams.values[index].pending = bytes[...]
        } else {
            // In place: with a copy of the stream, this would copy all bytes that wait.
            streams.values[index].pending += bytes
        }
        streams.values[index].endsAfterPending = isEnd
        flush(index)
    }

    /// The number of bytes of a stream that wait until the server allows them.
    func pendingCount(of id: UInt32) -> Int {
        streams[id]?.pending.count ?? 0
    }

    /// Allows the server to send as many further bytes on a stream as were used.
    mutating func use(_ count: Int, of id: UInt32) {
        guard let index = streams.index(forKey: id), !streams.values[index].hasPeerEnded else { return }
        streams.values[index].used += count
        let used = streams.values[index].used
        guard used >= Self.windowSize / 2 else { return }
        HTTP2FrameHead.append(.windowUpdate, stream: id, number: UInt32(used), to: &output)
        streams.values[index].receiveWindow += used
        streams.values[index].used = 0
    }

    /// Ends a stream of which nothing more is wanted; the server is told unless both sides have ended.
    mutating func close(_ id: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        guard !stream.hasEnded || !stream.hasPeerEnded else { return }
        HTTP2FrameHead.append(.reset, stream: id, number: HTTP2ErrorCode.cancel, to: &output)
    }

    private mutating func flush(_ index: Dictionary<UInt32, Stream>.Index) {
        let id = streams.keys[index]
        var stream = streams.values[index]
        while !stream.hasEnded {
            let window = max(0, min(stream.sendWindow, sendWindow, Int64(payloadSize)))
            let part = stream.pending.prefix(Int(window))
            let isLast = stream.endsAfterPending && part.count == stream.pending.count
            guard !part.isEmpty || isLast else { break }
            HTTP2FrameHead.append(.data, isLast ? .endStream : [], stream: id, part, to: &output)
            stream.pending = stream.pending.dropFirst(part.count)
            stream.sendWindow -= Int64(part.count)
            sendWindow -= Int64(part.count)
            stream.hasEnded = isLast
        }
        // The slice keeps all of the body.
        if stream.pending.isEmpty { stream.pending = [] }
        streams.values[index] = stream
    }

    private mutating func flushAll() {
        let waiting = streams.compactMap { $1.pending.isEmpty ? nil : $0 }
        for id in waiting.sorted() {
            if let index = streams.index(forKey: id) { flush(index) }
        }
    }

    // MARK: - Receiving

    /// Adds bytes of the server, which ``nextEvent()`` reads.
    mutating func receive(_ bytes: [UInt8]) {
        if input.isEmpty { input = bytes[...] } else { input += bytes }
    }

    /// The next event in what was received; nil if more has to arrive first.
    mutating func nextEvent() throws(HTTP2Violation) -> Event? {
        while let (head, payload) = try nextFrame() {
            if let event = try receive(head, payload) { return event }
        }
        // The slice keeps all that was read with it, as long as the connection is idle.
        if input.isEmpty { input = [] }
        return nil
    }

    private mutating func nextFrame() throws(HTTP2Violation) -> (head: HTTP2FrameHead, payload: ArraySlice<UInt8>)? {
        // A server of another protocol may send less than a head, such as an alert of TLS; the type is the fourth byte.
        if !hasSettings, let type = input.dropFirst(3).first, type != HTTP2FrameHead.Kind.settings.rawValue { throw .notHTTP2 }
        guard input.count >= HTTP2FrameHead.size else { return nil }
        let head = HTTP2FrameHead(input)
        guard hasSettings || !head.flags.contains(.acknowledgement) else { throw .notHTTP2 }
        guard head.length <= HTTP2FrameHead.defaultPayloadSize else { throw .frameTooLarge }
        let size = HTTP2FrameHead.size + head.length
        guard input.count >= size else { return nil }
        let payload = input.prefix(size).dropFirst(HTTP2FrameHead.size)
        input = input.dropFirst(size)
        return (head, payload)
    }

    private mutating func receive(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> Event? {
        guard (head.kind == .continuation) == (headerBlock != nil) else { throw .frameOrder }
        switch head.kind {
        case .data: return try receiveData(head, payload)
        case .headers:
            try checkIsKnown(head.stream)
            var block = try Self.unpadded(payload, head)
            if head.flags.contains(.priority) {
                guard block.count >= 5 else { throw .frameSize }
                block = block.dropFirst(5)
            }
            headerBlock = HeaderBlock(stream: head.stream, isEnd: head.flags.contains(.endStream), bytes: block)
            return try endHeaders(head)
        case .continuation:
            guard headerBlock?.stream == head.stream else { throw .frameOrder }
            headerBlock?.bytes += payload
            return try endHeaders(head)
        case .reset:
            try checkIsKnown(head.stream)
            guard payload.count == 4 else { throw .frameSize }
            guard streams.removeValue(forKey: head.stream) != nil else { return nil }
            return .reset(stream: head.stream, code: payload.bigEndian)
        case .settings: return try receiveSettings(head, payload)
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
        // Nothing was allowed to be pushed.
        case .pushPromise: throw .frameOrder
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
        let content = try Self.unpadded(payload, head)
        // What arrives after the end of interest is passed over.
        guard let index = streams.index(forKey: head.stream) else { return nil }
        guard !streams.values[index].hasPeerEnded else { throw .frameOrder }
        streams.values[index].receiveWindow -= payload.count
        guard streams.values[index].receiveWindow >= 0 else { throw .windowOverflow }
        let isEnd = head.flags.contains(.endStream)
        streams.values[index].hasPeerEnded = isEnd
        // Padding is of no use to anybody.
        use(payload.count - content.count, of: head.stream)
        // Some servers send frames without any content, of which nobody has to be told.
        return content.isEmpty && !isEnd ? nil : .data(stream: head.stream, content, isEnd: isEnd)
    }

    private mutating func endHeaders(_ head: HTTP2FrameHead) throws(HTTP2Violation) -> Event? {
        guard let block = headerBlock else { return nil }
        guard block.bytes.count <= Self.largestHeaderBlock else { throw .headersTooLarge }
        guard head.flags.contains(.endHeaders) else { return nil }
        headerBlock = nil
        // Also of a stream that is not of interest any more: later blocks refer to what is in this one.
        let fields = try decoder.decode(block.bytes)
        guard let stream = streams[block.stream] else { return nil }
        guard !stream.hasPeerEnded else { throw .frameOrder }
        streams[block.stream]?.hasPeerEnded = block.isEnd
        return .fields(stream: block.stream, fields, isEnd: block.isEnd)
    }

    private mutating func receiveSettings(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) -> Event? {
        guard head.stream == 0 else { throw .streamNumber }
        if head.flags.contains(.acknowledgement) {
            guard payload.isEmpty else { throw .frameSize }
            return nil
        }
        guard payload.count.isMultiple(of: 6) else { throw .frameSize }
        var (rest, window) = (payload, initialSendWindow)
        while !rest.isEmpty {
            let value = rest.dropFirst(2).prefix(4).bigEndian
            switch HTTP2Setting(rawValue: UInt16(truncatingIfNeeded: rest.prefix(2).bigEndian)) {
            case .maximumStreams: maximumStreams = value
            case .initialWindowSize:
                guard value <= Self.largestWindow else { throw .settings }
                window = Int64(value)
            case .maximumFrameSize:
                guard value >= HTTP2FrameHead.defaultPayloadSize, value <= HTTP2FrameHead.largestPayloadSize else { throw .settings }
                payloadSize = Int(value)
            // A server has nothing to allow in this.
            case .enablePush: guard value == 0 else { throw .settings }
            // Requests are written without a table, and their fields are few.
            case .headerTableSize, .maximumHeaderListSize, nil: break
            }
            rest = rest.dropFirst(6)
        }
        try changeInitialSendWindow(to: window)
        HTTP2FrameHead.append(.settings, .acknowledgement, stream: 0, [], to: &output)
        flushAll()
        defer { hasSettings = true }
        return hasSettings ? nil : .settings
    }

    private mutating func changeInitialSendWindow(to window: Int64) throws(HTTP2Violation) {
        guard window != initialSendWindow else { return }
        for index in streams.indices {
            streams.values[index].sendWindow += window - initialSendWindow
            guard streams.values[index].sendWindow <= Self.largestWindow else { throw .windowOverflow }
        }
        initialSendWindow = window
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
        streams.values[index].sendWindow += increment
        guard streams.values[index].sendWindow <= Self.largestWindow else { throw .windowOverflow }
        flush(index)
    }

    /// Checks that a stream is one that was opened, and may have ended.
    private func checkIsKnown(_ stream: UInt32) throws(HTTP2Violation) {
        guard !stream.isMultiple(of: 2), stream < nextStream else { throw .streamNumber }
    }

    private static func unpadded(_ payload: ArraySlice<UInt8>, _ head: HTTP2FrameHead) throws(HTTP2Violation) -> ArraySlice<UInt8> {
        guard head.flags.contains(.padded) else { return payload }
        guard let size = payload.first, Int(size) < payload.count else { throw .padding }
        return payload.dropFirst().dropLast(Int(size))
    }
}
