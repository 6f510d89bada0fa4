import Dispatch
import ObservableStorage

extension HTTP2Connection {
    private static let streamBufferSize = 1 << 20

    /// Sends a request and returns the whole response.
    ///
    /// If the server has closed an idle connection, that is noticed before anything is sent.
    func send(_ request: HTTPRequest, maximumBodySize: Int = 64 << 20, deadline: Instant) async throws(ConnectionError) -> HTTP2Exchange {
        let (id, earlier) = try begin(request, maximumBodySize: maximumBodySize, deadline: deadline)
        defer { end(id) }
        try await wait(for: id, since: earlier, until: deadline) { $0.trailers != nil }
        guard let exchange = session.exchanges[id] else { throw error(.closed, of: id) }
        return exchange
    }

    /// Sends a request whose body is continued, and returns when the head of the response has arrived.
    func stream(_ request: HTTPRequest, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream {
        let (id, earlier) = try begin(request, maximumBodySize: nil, deadline: deadline)
        do throws(ConnectionError) {
            try await wait(for: id, since: earlier, until: deadline) { $0.status != nil }
            guard let exchange = session.exchanges[id], let status = exchange.status else { throw error(.closed, of: id) }
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
                $0.waiter.wakeFinished()
            }
        }
    }

    /// Sends a request.
    ///
    /// - Parameter maximumBodySize: nil for a stream, whose body is taken while it arrives.
    /// - Returns: its stream, and the count of arrivals before it: the response may arrive before the call begins to wait.
    private func begin(
        _ request: HTTPRequest, maximumBodySize: Int?, deadline: Instant
    ) throws(ConnectionError) -> (id: UInt32, earlier: Int) {
        if let failure { throw error(failure) }
        if Task.isCancelled { throw error(.cancelled) }
        guard deadline > .now else { throw error(.deadlineExceeded) }
        guard let fields = request.fields(for: endpoint, scheme: scheme) else { throw error(.invalidRequest) }
        // The server may have closed the idle connection, perhaps after bytes that were not read yet.
        read()
        guard failure == nil, session.canOpen else { throw error(failure ?? .noFurtherStreams) }
        let start = (channel?.writtenCount ?? 0) + (channel?.pendingCount ?? 0)
        let id = session.open(fields, request.body, start: start, maximumBodySize: maximumBodySize)
        updateAvailability()
        let earlier = arrivals
        flush()
        return (id, earlier)
    }

    /// Waits for a part of the body of a stream, or its end; see ``HTTP2Stream/next(deadline:)``.
    func nextPart(of id: UInt32, deadline: Instant) async throws(ConnectionError) -> (bytes: [UInt8], trailers: [HTTPField]?) {
        try await wait(for: id, since: arrivals, until: deadline) { !$0.body.isEmpty || $0.trailers != nil }
        guard let part = session.takeBody(of: id) else { throw error(.closed, of: id) }
        // The server may send more.
        flush()
        return (part, session.exchanges[id]?.trailers)
    }

    /// Sends bytes of the body of a stream's request; fails if too many would be pending.
    func write(_ bytes: [UInt8], on id: UInt32) throws(ConnectionError) {
        // The stream may have ended before the connection, for another reason.
        if let failure = session.exchanges[id]?.failure ?? failure { throw error(failure, of: id) }
        guard let exchange = session.exchanges[id] else { throw error(.closed, of: id) }
        guard exchange.pendingCount + bytes.count <= Self.streamBufferSize else { throw error(.sendBufferFull, of: id) }
        session.send(bytes, on: id, isEnd: false)
        flush()
    }

    /// Ends a stream whose response is not needed any more.
    private func end(_ id: UInt32) {
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
            guard let exchange = session.exchanges[id] else { throw error(.closed, of: id) }
            if condition(exchange) { return }
            if let reason = exchange.failure { throw error(reason, of: id) }
            let wake = await waiter.waitOnQueue(until: deadline) {
                self.session.exchanges[id].map { condition($0) || $0.failure != nil } ?? true
            }
            switch wake {
            case .event: continue
            case .cancelled: session.fail(id, .cancelled)
            case .deadlineExceeded:
                if arrivals == earlier { recordSilence(during: id) }
                session.fail(id, .deadlineExceeded)
            }
            flush()
            // Another call may wait for the stream.
            waiter.wakeFinished()
        }
    }
}
