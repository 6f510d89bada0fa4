/// The requests of a connection with their responses, as a value on top of the session.
///
/// Every call may produce output of the session, which has to be sent.
struct HTTP2Requests: Sendable {
    private static let streamBufferSize = 1 << 20

    /// The frames of the connection.
    var session = HTTP2Session()
    /// Whether the server has sent its first settings.
    private(set) var hasSettings = false
    private var exchanges: [UInt32: HTTP2Exchange] = [:]

    /// The response on a stream; nil after ``end(_:)``.
    subscript(id: UInt32) -> HTTP2Exchange? { exchanges[id] }

    /// Whether all responses but one have ended.
    func haveEnded(except id: UInt32) -> Bool {
        exchanges.allSatisfy { $0 == id || $1.hasEnded }
    }

    /// Sends a request, and returns its stream.
    mutating func open(_ fields: [HTTPField], _ body: [UInt8], _ exchange: HTTP2Exchange) -> UInt32 {
        let id = session.open(fields, body, isEnd: !exchange.isStream)
        exchanges[id] = exchange
        return id
    }

    /// Receives bytes of the server, and returns the streams whose waiting calls have to be woken.
    mutating func receive(_ bytes: [UInt8]) throws(HTTP2Violation) -> [UInt32] {
        session.receive(bytes)
        var streams: [UInt32] = []
        while let event = try session.nextEvent() {
            receive(event, &streams)
            // Other calls wait for the end of the response.
            if let exchange = exchanges[event.stream], exchange.isStream || exchange.hasEnded { streams.append(event.stream) }
        }
        return streams
    }

    private mutating func receive(_ event: HTTP2Session.Event, _ streams: inout [UInt32]) {
        let id = event.stream
        do throws(HTTP2Violation) {
            switch event {
            case .settings: hasSettings = true
            case .fields(_, let fields, let isEnd): try exchanges[id]?.receive(fields, isEnd: isEnd)
            case .data(_, let bytes, let isEnd):
                try exchanges[id]?.receive(bytes, isEnd: isEnd)
                if exchanges[id]?.isStream == false { session.use(bytes.count, of: id) }
            case .reset(_, let code): exchanges[id]?.fail(.reset(code: code), isRefused: code == HTTP2ErrorCode.refusedStream)
            case .goAway(let last):
                for id in exchanges.keys where id > last {
                    exchanges[id]?.fail(.closedByPeer, isRefused: true)
                    streams.append(id)
                }
            }
        } catch {
            fail(id, error == .messageTooLarge ? .responseTooLarge : .invalidResponse(error.rawValue))
        }
    }

    /// Sets whether a call waits for the next part of a body.
    mutating func setAwaited(_ isAwaited: Bool, _ id: UInt32) {
        exchanges[id]?.isAwaited = isAwaited
    }

    /// Removes and returns the part of a body that has arrived, and allows the server to send more.
    mutating func takeBody(of id: UInt32) -> [UInt8]? {
        guard let part = exchanges[id]?.takeBody() else { return nil }
        if !part.isEmpty { session.use(part.count, of: id) }
        return part
    }

    /// Sends bytes of the body of a request; fails if too many would be pending.
    mutating func write(_ bytes: [UInt8], on id: UInt32) throws(ConnectionError.Reason) {
        guard let exchange = exchanges[id] else { throw .closed }
        if let failure = exchange.failure { throw failure }
        guard session.pendingCount(of: id) + bytes.count <= Self.streamBufferSize else { throw .sendBufferFull }
        session.send(bytes, on: id, isEnd: false)
    }

    /// Fails a stream; the part of the response that has arrived can still be read.
    mutating func fail(_ id: UInt32, _ reason: ConnectionError.Reason) {
        exchanges[id]?.fail(reason)
        session.close(id)
    }

    /// Fails all streams whose responses have not ended.
    mutating func failAll(_ reason: ConnectionError.Reason) {
        for id in exchanges.keys { exchanges[id]?.fail(reason) }
    }

    /// Ends a stream whose response is not needed any more; returns whether there was one.
    mutating func end(_ id: UInt32) -> Bool {
        guard exchanges.removeValue(forKey: id) != nil else { return false }
        session.close(id)
        return true
    }
}
