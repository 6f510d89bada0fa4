/// The client's side of an HTTP/2 connection (RFC 9113), as a value without I/O and time: turns requests into bytes, and bytes into
/// the responses of its exchanges.
///
/// Every call may produce output, which has to be taken and sent. The first error ends the session.
struct HTTP2Session: Sendable {
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
    /// The exchanges by stream, until the end of the call.
    private(set) var exchanges: [UInt32: HTTP2Exchange] = [:]
    private var nextStream: UInt32
    private(set) var hasOpened = false
    private var settings = HTTP2ServerSettings()
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

    var canOpen: Bool {
        // Those that have failed are counted only if that matters.
        !isGoingAway && nextStream <= Int32.max
            && (exchanges.count < settings.maximumStreams || exchanges.values.count { $0.failure == nil } < settings.maximumStreams)
    }

    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    // MARK: - Streams

    /// Opens a stream with the fields of a request and the first bytes of its body.
    ///
    /// - Parameters:
    ///   - start: the number of bytes sent or pending on the connection.
    ///   - maximumBodySize: the maximum size of the response's body; nil for one that is taken while it arrives, and whose request's body is
    ///     continued.
    mutating func open(_ fields: [HTTPField], _ body: [UInt8], start: Int = 0, maximumBodySize: Int?) -> UInt32 {
        let id = nextStream
        nextStream += 2
        exchanges[id] = HTTP2Exchange(start: start, sendWindow: settings.initialWindow, maximumBodySize: maximumBodySize)
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
        send(body, on: id, isEnd: maximumBodySize != nil)
        return id
    }

    /// Sends bytes of a body, or keeps them until flow control allows them.
    mutating func send(_ bytes: [UInt8], on id: UInt32, isEnd: Bool) {
        guard let index = exchanges.index(forKey: id) else { return }
        // In place: a copy of the exchange would copy all pending bytes.
        exchanges.values[index].append(bytes, isEnd: isEnd)
        flush(index)
    }

    /// Removes and returns the part of a stream's body that has arrived, and allows the server to send more; nil if the stream has ended.
    mutating func takeBody(of id: UInt32) -> [UInt8]? {
        guard let index = exchanges.index(forKey: id) else { return nil }
        let body = exchanges.values[index].takeBody()
        exchanges.values[index].updateReceiveWindow(id, to: &output)
        return body
    }

    /// Ends an exchange early, unless its response is complete, and resets the stream; what has arrived can still be read.
    mutating func fail(_ id: UInt32, _ reason: ConnectionError.Reason) {
        guard exchanges[id]?.hasEnded == false else { return }
        exchanges[id]?.fail(reason)
        reset(id)
    }

    /// Ends all exchanges early, because the connection ends.
    mutating func failAll(_ reason: ConnectionError.Reason) {
        for index in exchanges.indices { exchanges.values[index].fail(reason) }
    }

    /// Removes an exchange whose response is not needed any more; resets the stream unless both sides have ended.
    mutating func close(_ id: UInt32) {
        if exchanges.removeValue(forKey: id)?.isClosed == false { reset(id) }
    }

    private mutating func reset(_ id: UInt32) {
        HTTP2FrameHead.append(.reset, stream: id, number: HTTP2ErrorCode.cancel, to: &output)
    }

    private mutating func flush(_ index: Dictionary<UInt32, HTTP2Exchange>.Index) {
        exchanges.values[index].flush(exchanges.keys[index], &sendWindow, payloadSize: settings.payloadSize, to: &output)
    }

    private mutating func flushAll() {
        let waiting = exchanges.compactMap { $1.pendingCount == 0 ? nil : $0 }
        for id in waiting.sorted() {
            if let index = exchanges.index(forKey: id) { flush(index) }
        }
    }

    // MARK: - Receiving

    mutating func receive(_ bytes: [UInt8]) throws(HTTP2Violation) {
        reader.append(bytes)
        while let (head, payload) = try reader.next(isFirst: !hasSettings) { try receive(head, payload) }
    }

    private mutating func receive(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) {
        switch head.kind {
        case .data, .headers:
            do throws(HTTP2Violation) {
                if head.kind == .data { try receiveData(head, payload) } else { try receiveHeaders(head, payload) }
            } catch .headerFields {
                fail(head.stream, .invalidResponse(HTTP2Violation.headerFields.rawValue))
            } catch .messageTooLarge {
                fail(head.stream, .responseTooLarge)
            }
        case .reset:
            let index = try index(of: head.stream)
            guard payload.count == 4 else { throw .frameSize }
            let code = payload.bigEndian
            if let index { exchanges.values[index].fail(.reset(code: code), isRefused: code == HTTP2ErrorCode.refusedStream) }
        case .settings: try receiveSettings(head, payload)
        case .ping:
            guard head.stream == 0 else { throw .streamNumber }
            guard payload.count == 8 else { throw .frameSize }
            if !head.flags.contains(.acknowledgement) { HTTP2FrameHead.append(.ping, .acknowledgement, stream: 0, payload, to: &output) }
        case .goAway:
            guard head.stream == 0 else { throw .streamNumber }
            guard payload.count >= 8 else { throw .frameSize }
            isGoingAway = true
            let last = payload.prefix(4).bigEndian & 0x7FFF_FFFF
            // The server has not processed the others.
            for index in exchanges.indices where exchanges.keys[index] > last {
                exchanges.values[index].fail(.closedByPeer, isRefused: true)
            }
        case .windowUpdate: try receiveWindowUpdate(head, payload)
        // Push is disabled, and the reader has merged continuations into their header blocks.
        case .pushPromise, .continuation: throw .frameOrder
        case .priority, nil: break
        }
    }

    private mutating func receiveData(_ head: HTTP2FrameHead, _ payload: ArraySlice<UInt8>) throws(HTTP2Violation) {
        let index = try index(of: head.stream)
        receiveWindow -= payload.count
        guard receiveWindow >= 0 else { throw .windowOverflow }
        if receiveWindow < Self.largestWindow / 2 {
            HTTP2FrameHead.append(.windowUpdate, number: UInt32(Self.largestWindow - receiveWindow), to: &output)
            receiveWindow = Self.largestWindow
        }
        let content = try head.content(of: payload)
        guard let index else { return }
        try exchanges.values[index].receive(content, padding: payload.count - content.count, isEnd: head.flags.contains(.endStream))
        exchanges.values[index].updateReceiveWindow(head.stream, to: &output)
    }

    private mutating func receiveHeaders(_ head: HTTP2FrameHead, _ block: ArraySlice<UInt8>) throws(HTTP2Violation) {
        guard let index = try index(of: head.stream) else { return }
        let fields = try HPACK.decode(block, maximumListSize: HTTP2FrameReader.largestHeaderBlock)
        try exchanges.values[index].receive(fields, isEnd: head.flags.contains(.endStream))
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
            for index in exchanges.indices where exchanges.values[index].failure == nil {
                try exchanges.values[index].changeSendWindow(by: settings.initialWindow - window)
            }
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
        guard let index = try index(of: head.stream) else { return }
        try exchanges.values[index].changeSendWindow(by: increment)
        flush(index)
    }

    /// The exchange of a stream; nil if it was closed or has failed: what else arrives for it is ignored.
    private func index(of stream: UInt32) throws(HTTP2Violation) -> Dictionary<UInt32, HTTP2Exchange>.Index? {
        guard !stream.isMultiple(of: 2), stream < nextStream else { throw .streamNumber }
        guard let index = exchanges.index(forKey: stream), exchanges.values[index].failure == nil else { return nil }
        return index
    }
}
