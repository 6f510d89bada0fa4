import Dispatch
import ObservableStorage
import Synchronization

/// A connection to a server for any number of requests and streams at the same time.
///
/// All its work runs on one serial queue, which connections may share. A call whose deadline passes or whose task is cancelled ends its
/// stream. If the server has sent nothing at all until a deadline, the connection takes no further requests until it does, and closes unless
/// other calls still wait. A connection that is released closes.
actor HTTP2Connection {
    typealias Instant = ContinuousClock.Instant

    // A server that does not read more than this has stopped.
    private static let sendBufferSize = 64 << 20
    private static let largestReadCount = 16

    /// The server.
    nonisolated let endpoint: Endpoint
    private nonisolated let executor: DispatchQueueExecutor
    private nonisolated let isAvailable = Atomic(false)
    private let scheme: String
    private var channel: SocketChannel?
    private var requests = HTTP2Requests()
    // How often something was received.
    private var arrivals = 0
    // Whether nothing has arrived since a call began to wait whose deadline has passed.
    private var isSilent = false
    // Why the connection was closed; nil while it is open.
    private var failure: ConnectionError.Reason?
    private let waiter: EventWaiter

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the connection takes another request.
    nonisolated var isUsable: Bool {
        isAvailable.load(ordering: .acquiring)
    }

    /// Whether the connection has ever taken a request.
    var hasTakenRequest: Bool { requests.session.hasOpened }

    private init(_ endpoint: Endpoint, scheme: String, on executor: DispatchQueueExecutor) {
        (self.endpoint, self.scheme, self.executor) = (endpoint, scheme, executor)
        waiter = EventWaiter(queue: executor.queue)
    }

    // MARK: - Opening

    /// Connects to a server, and returns when it has shown that it speaks HTTP/2.
    ///
    /// All addresses of the host are tried; each gets an equal share of the time that remains.
    ///
    /// - Parameters:
    ///   - scheme: `http`, or `https` if the filter encrypts.
    ///   - executor: the queue of the connection. Calls by an actor on the same queue change no thread.
    ///   - filter: creates the filter of the bytes, on that queue.
    nonisolated(nonsending) static func open(
        _ endpoint: Endpoint, scheme: String = "http", on executor: DispatchQueueExecutor = DispatchQueueExecutor(label: "HTTP2Connection"),
        deadline: Instant, filter: @escaping @Sendable () throws -> any ByteFilter = { PlainBytes() }
    ) async throws(ConnectionError) -> HTTP2Connection {
        let connection = HTTP2Connection(endpoint, scheme: scheme, on: executor)
        try await connection.connect(deadline: deadline, filter: filter)
        return connection
    }

    private func connect(deadline: Instant, filter: @Sendable () throws -> any ByteFilter) async throws(ConnectionError) {
        if Task.isCancelled { throw error(.cancelled) }
        let socket = try await connectedSocket(deadline: deadline)
        do {
            channel = SocketChannel(socket, filter: try filter())
        } catch {
            close(.filter(String(describing: error)))
        }
        try await wait(until: deadline) { $0.channel?.isReady == true }
        flush()
        channel?.farewell = HTTP2FrameHead.goAway(code: HTTP2ErrorCode.noError)
        try await wait(until: deadline) { $0.requests.hasSettings }
        updateAvailability()
    }

    private func connectedSocket(deadline: Instant) async throws(ConnectionError) -> Socket {
        let connector = SocketConnector(endpoint, queue: executor.queue, waiter: waiter, event: Self.connection)
        do throws(ConnectionError.Reason) {
            return try await connector.socket(deadline: deadline) { [weak self] in
                self?.assumeIsolated { _ = $0.read() }
            } onWritable: { [weak self] in
                self?.assumeIsolated { $0.channel?.flush() }
            }
        } catch {
            throw self.error(error)
        }
    }

    // MARK: - Requests

    /// Sends a request and returns the whole response.
    ///
    /// If the server closed the connection while nothing was asked, that is noticed before anything is sent.
    func send(_ request: HTTPRequest, maximumBodySize: Int = 64 << 20, deadline: Instant) async throws(ConnectionError) -> HTTPResponse {
        let (id, earlier) = try begin(request, maximumBodySize: maximumBodySize, isStream: false, deadline: deadline)
        defer { end(id) }
        try await wait(for: id, since: earlier, until: deadline) { $0.trailers != nil }
        guard let exchange = requests[id], let status = exchange.status, let trailers = exchange.trailers else {
            throw error(.closed, of: id)
        }
        return HTTPResponse(status: status, fields: exchange.fields, body: exchange.body, trailers: trailers)
    }

    /// Sends a request whose body is continued, and returns when the head of the response is there.
    func stream(_ request: HTTPRequest, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream {
        let (id, earlier) = try begin(request, maximumBodySize: HTTP2Session.windowSize, isStream: true, deadline: deadline)
        do throws(ConnectionError) {
            try await wait(for: id, since: earlier, until: deadline) { $0.status != nil }
            guard let exchange = requests[id], let status = exchange.status else { throw error(.closed, of: id) }
            return HTTP2Stream(id, of: self, status: status, fields: exchange.fields)
        } catch {
            end(id)
            throw error
        }
    }

    /// Closes the connection; the calls that use it fail.
    nonisolated func close() {
        isAvailable.store(false, ordering: .releasing)
        executor.queue.async { self.assumeIsolated { $0.close(.closed) } }
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
    /// - Returns: its stream, and how often something had arrived before: others may be answered before the call begins to wait.
    private func begin(
        _ request: HTTPRequest, maximumBodySize: Int, isStream: Bool, deadline: Instant
    ) throws(ConnectionError) -> (id: UInt32, earlier: Int) {
        if let failure { throw error(failure) }
        if Task.isCancelled { throw error(.cancelled) }
        guard deadline > .now else { throw error(.deadlineExceeded) }
        guard let fields = request.fields(for: endpoint, scheme: scheme) else { throw error(.invalidRequest) }
        // The server may have closed the connection while nothing was asked, also after something else that was not read yet. One that sends
        // without an end must not hold up the queue.
        var count = 0
        while count < Self.largestReadCount, read() { count += 1 }
        guard failure == nil, requests.session.canOpen else { throw error(failure ?? .noFurtherStreams) }
        let start = (channel?.writtenCount ?? 0) + (channel?.pendingCount ?? 0)
        let exchange = HTTP2Exchange(start: start, maximumBodySize: maximumBodySize, isStream: isStream)
        let id = requests.open(fields, request.body, exchange)
        updateAvailability()
        let earlier = arrivals
        flush()
        return (id, earlier)
    }

    /// The next part of the body of a stream, or its end.
    func nextPart(of id: UInt32, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream.Part {
        // Also a call that an event has woken, and that has not looked yet whether it has to wait again, must not be joined by another.
        guard requests[id]?.isAwaited != true else { throw error(.busy, of: id) }
        requests.setAwaited(true, id)
        defer { requests.setAwaited(false, id) }
        try await wait(for: id, since: arrivals, until: deadline) { !$0.body.isEmpty || $0.trailers != nil }
        guard let part = requests.takeBody(of: id) else { throw error(.closed, of: id) }
        flush()
        return part.isEmpty ? .end(trailers: requests[id]?.trailers ?? []) : .data(part)
    }

    /// Sends bytes of the body of a stream's request; fails if too many would wait to be sent.
    func write(_ bytes: [UInt8], on id: UInt32) throws(ConnectionError) {
        do throws(ConnectionError.Reason) {
            // The stream may have ended before the connection, for another reason.
            if let failure { throw requests[id]?.failure ?? failure }
            try requests.write(bytes, on: id)
        } catch {
            throw self.error(error, of: id)
        }
        flush()
    }

    private func fail(_ id: UInt32, _ reason: ConnectionError.Reason) {
        requests.fail(id, reason)
        flush()
    }

    private func end(_ id: UInt32) {
        guard requests.end(id) else { return }
        flush()
        updateAvailability()
    }

    // MARK: - Events

    /// Receives what has arrived; returns whether anything has.
    private func read() -> Bool {
        do throws(ConnectionError.Reason) {
            switch try channel?.receive() {
            case .bytes(let bytes): try receive(bytes)
            case .end: close(.closedByPeer)
            case nil: return false
            }
        } catch {
            close(error)
        }
        waiter.wake(Self.connection)
        return true
    }

    private func receive(_ bytes: [UInt8]) throws(ConnectionError.Reason) {
        if bytes.isEmpty { return }
        arrivals += 1
        isSilent = false
        do throws(HTTP2Violation) {
            for id in try requests.receive(bytes) { waiter.wake(id) }
        } catch {
            channel?.farewell = HTTP2FrameHead.goAway(code: error.code)
            throw .invalidResponse(error.rawValue)
        }
        flush()
        updateAvailability()
    }

    private func flush() {
        let output = requests.session.takeOutput()
        guard failure == nil, !output.isEmpty else { return }
        do throws(ConnectionError.Reason) {
            try channel?.send(output)
            guard channel?.pendingCount ?? 0 <= Self.sendBufferSize else { throw .sendBufferFull }
        } catch {
            close(error)
        }
    }

    private func updateAvailability() {
        isAvailable.store(failure == nil && !isSilent && requests.session.canOpen, ordering: .releasing)
    }

    private func close(_ reason: ConnectionError.Reason) {
        guard failure == nil else { return }
        failure = reason
        isAvailable.store(false, ordering: .releasing)
        switch reason {
        // The server listens no more, or cannot be spoken to.
        case .closedByPeer, .socket, .filter: channel?.farewell = []
        default: break
        }
        channel?.close()
        requests.failAll(reason)
        waiter.wakeAll()
    }

    private func error(_ reason: ConnectionError.Reason, of id: UInt32? = nil) -> ConnectionError {
        ConnectionError(endpoint: endpoint, reason: reason, delivery: id.map(delivery) ?? .nothingSent)
    }

    private func delivery(of id: UInt32) -> ConnectionError.Delivery {
        guard let exchange = requests[id] else { return .perhapsSent }
        // What still waits to be sent on an open connection may be sent later.
        let isSent = failure == nil || channel.map { $0.writtenCount > exchange.start } ?? false
        return isSent && !exchange.isRefused ? .perhapsSent : .nothingSent
    }

    // MARK: - Waiting

    // Streams have odd numbers.
    private static let connection = 0 as UInt32

    /// Waits until a condition on a response holds that events establish; the stream fails if that takes too long.
    ///
    /// - Parameter earlier: how often something had arrived before.
    private func wait(
        for id: UInt32, since earlier: Int, until deadline: Instant, _ condition: (HTTP2Exchange) -> Bool
    ) async throws(ConnectionError) {
        while true {
            guard let exchange = requests[id] else { throw error(.closed, of: id) }
            if condition(exchange) { return }
            if let reason = exchange.failure { throw error(reason, of: id) }
            let wake = await waiter.wait(for: id, until: deadline) {
                requests[id].map { condition($0) || $0.failure != nil } ?? true
            }
            switch wake {
            case .event: continue
            case .cancelled: fail(id, .cancelled)
            case .deadlineExceeded:
                if arrivals == earlier { noteSilence(during: id) }
                fail(id, .deadlineExceeded)
            }
        }
    }

    /// Notes that nothing has arrived while a call has waited, and closes the connection if no other call waits.
    private func noteSilence(during id: UInt32) {
        // The server is perhaps gone, with its machine or the way to it, which the system would notice much later.
        isSilent = true
        updateAvailability()
        if requests.haveEnded(except: id) { close(.deadlineExceeded) }
    }

    /// Waits while the connection is opened until a condition holds; closes the connection and fails if that takes too long.
    private func wait(until deadline: Instant, for condition: (isolated HTTP2Connection) -> Bool) async throws(ConnectionError) {
        while !condition(self) {
            if let failure { throw error(failure) }
            switch await waiter.wait(for: Self.connection, until: deadline, unless: { condition(self) || failure != nil }) {
            case .event: continue
            case .deadlineExceeded: close(.deadlineExceeded)
            case .cancelled: close(.cancelled)
            }
        }
    }
}
