import Dispatch
import ObservableStorage

extension HTTP2Connection {
    private static let streamBufferSize = 1 << 20

    /// Sends a request and returns the whole response.
    ///
    /// If the server has closed an idle connection, that is noticed before anything is sent.
    func send(_ request: HTTPRequest, maximumBodySize: Int = 64 << 20, deadline: Instant) async throws(ConnectionError) -> HTTP2Exchange {
        let (id, earlier) = try begin(request, maximumBodySize: maximumBodySize, isStream: false, deadline: deadline)
        defer { end(id) }
        try await wait(for: id, since: earlier, until: deadline) { $0.trailers != nil }
        guard let exchange = exchanges[id] else { throw error(.closed, of: id) }
        return exchange
    }

    /// Sends a request whose body is continued, and returns when the head of the response has arrived.
    func stream(_ request: HTTPRequest, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream {
        let (id, earlier) = try begin(request, maximumBodySize: HTTP2Session.windowSize, isStream: true, deadline: deadline)
        do throws(ConnectionError) {
            try await wait(for: id, since: earlier, until: deadline) { $0.status != nil }
            guard let exchange = exchanges[id], let status = exchange.status else { throw error(.closed, of: id) }
            return HTTP2Stream(id, of: self, status: status, fields: exchange.fields)
        } catch {
            end(id)
            throw error
        }
    }

    /// Ends a stream; a call that waits for it fails.
    nonisolated func close(_ stream: UInt32) {
        executor.queue.async {
            self.assumeIsolated {
                $0.end(stream)
                $0.waiter.wake(stream)
            }
        }
    }

    /// Sends a request.
    ///
    /// - Returns: its stream, and the count of arrivals before it: the response may arrive before the call begins to wait.
    private func begin(
        _ request: HTTPRequest, maximumBodySize: Int, isStream: Bool, deadline: Instant
    ) throws(ConnectionError) -> (id: UInt32, earlier: Int) {
        if let failure { throw error(failure) }
        if Task.isCancelled { throw error(.cancelled) }
        guard deadline > .now else { throw error(.deadlineExceeded) }
        guard let fields = request.fields(for: endpoint, scheme: scheme) else { throw error(.invalidRequest) }
        // The server may have closed the idle connection, perhaps after bytes that were not read yet.
        read()
        guard failure == nil, session.canOpen else { throw error(failure ?? .noFurtherStreams) }
        let start = (channel?.writtenCount ?? 0) + (channel?.pendingCount ?? 0)
        let id = session.open(fields, request.body, isEnd: !isStream)
        exchanges[id] = HTTP2Exchange(start: start, maximumBodySize: maximumBodySize, isStream: isStream)
        updateAvailability()
        let earlier = arrivals
        flush()
        return (id, earlier)
    }

    /// The next part of the body of a stream, or its end.
    func nextPart(of id: UInt32, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream.Part {
        // Checked here: a call that was woken and has not resumed yet is unknown to the waiter.
        guard exchanges[id]?.isAwaited != true else { throw error(.busy, of: id) }
        exchanges[id]?.isAwaited = true
        defer { exchanges[id]?.isAwaited = false }
        try await wait(for: id, since: arrivals, until: deadline) { !$0.body.isEmpty || $0.trailers != nil }
        guard let part = exchanges[id]?.takeBody() else { throw error(.closed, of: id) }
        if part.isEmpty { return .end(trailers: exchanges[id]?.trailers ?? []) }
        // The server may send more.
        session.use(part.count, of: id)
        flush()
        return .data(part)
    }

    /// Sends bytes of the body of a stream's request; fails if too many would be pending.
    func write(_ bytes: [UInt8], on id: UInt32) throws(ConnectionError) {
        // The stream may have ended before the connection, for another reason.
        if let failure = exchanges[id]?.failure ?? failure { throw error(failure, of: id) }
        guard exchanges[id] != nil else { throw error(.closed, of: id) }
        guard session.pendingCount(of: id) + bytes.count <= Self.streamBufferSize else { throw error(.sendBufferFull, of: id) }
        session.send(bytes, on: id, isEnd: false)
        flush()
    }

    /// Adds an event to the response on its stream, and wakes the calls that wait for it.
    func receive(_ event: HTTP2Session.Event) {
        let id = event.stream
        do throws(HTTP2Violation) {
            switch event {
            case .fields(_, let fields, let isEnd): try exchanges[id]?.receive(fields, isEnd: isEnd)
            case .data(_, let bytes, let isEnd):
                try exchanges[id]?.receive(bytes, isEnd: isEnd)
                if exchanges[id]?.isStream == false { session.use(bytes.count, of: id) }
            case .reset(_, let code): exchanges[id]?.fail(.reset(code: code), isRefused: code == HTTP2ErrorCode.refusedStream)
            case .goAway(let last):
                for id in exchanges.keys where id > last {
                    exchanges[id]?.fail(.closedByPeer, isRefused: true)
                    waiter.wake(id)
                }
            }
        } catch {
            // Sent after all events: sending may close the connection.
            exchanges[id]?.fail(error == .messageTooLarge ? .responseTooLarge : .invalidResponse(error.rawValue))
            session.close(id)
        }
        // Other calls wait for the end of the response.
        if let exchange = exchanges[id], exchange.isStream || exchange.hasEnded { waiter.wake(id) }
    }

    /// Fails a stream; the part of the response that has arrived can still be read.
    private func fail(_ id: UInt32, _ reason: ConnectionError.Reason) {
        exchanges[id]?.fail(reason)
        session.close(id)
        flush()
    }

    /// Ends a stream whose response is not needed any more.
    private func end(_ id: UInt32) {
        guard exchanges.removeValue(forKey: id) != nil else { return }
        session.close(id)
        flush()
        updateAvailability()
    }

    /// Waits until a condition on a response holds; the stream fails at the deadline, or when the task is cancelled.
    ///
    /// - Parameter earlier: the count of arrivals before the call.
    private func wait(
        for id: UInt32, since earlier: Int, until deadline: Instant, _ condition: @escaping (HTTP2Exchange) -> Bool
    ) async throws(ConnectionError) {
        while true {
            guard let exchange = exchanges[id] else { throw error(.closed, of: id) }
            if condition(exchange) { return }
            if let reason = exchange.failure { throw error(reason, of: id) }
            let wake = await waiter.wait(for: id, until: deadline) {
                self.exchanges[id].map { condition($0) || $0.failure != nil } ?? true
            }
            switch wake {
            case .event: continue
            case .cancelled: fail(id, .cancelled)
            case .deadlineExceeded:
                if arrivals == earlier { recordSilence(during: id) }
                fail(id, .deadlineExceeded)
            }
        }
    }
}
