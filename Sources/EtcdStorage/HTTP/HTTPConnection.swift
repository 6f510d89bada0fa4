import Dispatch
import FoundationSubset
import ObservableStorage
import Synchronization

/// A connection to a server for requests one after the other, or for one stream.
///
/// All its work runs on one serial queue, which connections may share. When its deadline passes or its task is cancelled, a call closes the connection, because
/// the rest of the response could not be told from the next one. A connection that is released closes as well.
actor HTTPConnection {
    typealias Instant = ContinuousClock.Instant

    /// The server.
    nonisolated let endpoint: HTTPEndpoint
    private nonisolated let executor: DispatchQueueExecutor
    private nonisolated let isIdle = Atomic(false)
    private var channel: HTTPChannel?
    private var exchange: HTTPExchange?
    // Why the connection was closed; nil while it is open.
    private var failure: HTTPError.Reason?
    private var addresses: Result<[SocketAddress], ResolutionError>?
    private let waiter: EventWaiter

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the connection is open and waits for a request.
    nonisolated var isReusable: Bool {
        isIdle.load(ordering: .acquiring)
    }

    private init(_ endpoint: HTTPEndpoint, on executor: DispatchQueueExecutor) {
        (self.endpoint, self.executor) = (endpoint, executor)
        waiter = EventWaiter(queue: executor.queue)
    }

    // MARK: - Opening

    /// Connects to a server, and returns when requests can be sent.
    ///
    /// All addresses of the host are tried; each gets an equal share of the time that remains.
    ///
    /// - Parameters:
    ///   - executor: the queue of the connection. Calls by an actor on the same queue change no thread.
    ///   - filter: creates the filter of the bytes, on that queue.
    nonisolated(nonsending) static func open(
        _ endpoint: HTTPEndpoint, on executor: DispatchQueueExecutor = DispatchQueueExecutor(label: "HTTPConnection"), deadline: Instant,
        filter: @escaping @Sendable () throws -> any ByteFilter = { PlainBytes() }
    ) async throws(HTTPError) -> HTTPConnection {
        let connection = HTTPConnection(endpoint, on: executor)
        try await connection.connect(deadline: deadline, filter: filter)
        return connection
    }

    private func connect(deadline: Instant, filter: @Sendable () throws -> any ByteFilter) async throws(HTTPError) {
        if Task.isCancelled { throw error(.cancelled) }
        let socket = try await connectedSocket(deadline: deadline)
        do {
            channel = HTTPChannel(socket, filter: try filter())
        } catch {
            close(.filter(String(describing: error)))
        }
        try await wait(until: deadline) { $0.channel?.isReady == true }
        isIdle.store(true, ordering: .releasing)
    }

    private func connectedSocket(deadline: Instant) async throws(HTTPError) -> Socket {
        let addresses = try await resolvedAddresses(deadline: deadline)
        var reason = HTTPError.Reason.unknownHost("it has no address")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            do throws(HTTPError.Reason) {
                return try await connectedSocket(to: address, deadline: .now + share)
            } catch {
                reason = error
            }
            if reason == .cancelled { break }
        }
        throw error(reason)
    }

    private func connectedSocket(to address: SocketAddress, deadline: Instant) async throws(HTTPError.Reason) -> Socket {
        let reason: HTTPError.Reason
        do throws(SocketError) {
            let socket = try Socket(connectingTo: address, queue: executor.queue) { [weak self] in
                self?.assumeIsolated { $0.readable() }
            } onWritable: { [weak self] in
                self?.assumeIsolated { $0.writable() }
            }
            var wake = EventWaiter.Wake.event
            while wake == .event {
                if try socket.isConnected() { return socket }
                socket.resumeWriting()
                wake = await waiter.wait(until: deadline)
            }
            reason = wake == .cancelled ? .cancelled : .deadlineExceeded
        } catch {
            reason = .socket(error)
        }
        throw reason
    }

    private func resolvedAddresses(deadline: Instant) async throws(HTTPError) -> [SocketAddress] {
        if let numeric = SocketAddress.numeric(endpoint) { return numeric }
        DispatchQueue.global().async { [weak self, executor, endpoint] in
            let addresses = SocketAddress.all(of: endpoint)
            executor.queue.async { [weak self] in
                self?.assumeIsolated {
                    $0.addresses = addresses
                    $0.waiter.wake()
                }
            }
        }
        try await wait(until: deadline) { $0.addresses != nil }
        do {
            return try addresses?.get() ?? []
        } catch {
            throw self.error(.unknownHost(error.reason))
        }
    }

    // MARK: - Requests

    /// Sends a request and returns the whole response.
    ///
    /// If the connection was idle and the server closed it meanwhile, that is noticed before anything is sent.
    func send(_ request: HTTPRequest, maximumBodySize: Int = 64 << 20, deadline: Instant) async throws(HTTPError) -> HTTPResponse {
        try begin(request, HTTPExchange(maximumBodySize: maximumBodySize), deadline: deadline)
        try await wait(until: deadline) { $0.exchange?.isComplete == true }
        guard let exchange, let head = exchange.head else { throw error(.closed) }
        self.exchange = nil
        // A server that responds before it has the whole request does not read the rest.
        if !head.isPersistent || channel?.pendingCount != 0 { close(.closed) }
        isIdle.store(failure == nil, ordering: .releasing)
        return HTTPResponse(head: head, body: exchange.body)
    }

    /// Sends a request and returns when the head of the response is there; from then on the connection belongs to the stream.
    ///
    /// - Parameter bufferSize: how many bytes of the body are received before they are read; the server has to wait then.
    func stream(_ request: HTTPRequest, bufferSize: Int = 1 << 20, deadline: Instant) async throws(HTTPError) -> HTTPStream {
        try begin(request, HTTPExchange(bufferSize: bufferSize), deadline: deadline)
        try await wait(until: deadline) { $0.exchange?.head != nil }
        guard let head = exchange?.head else { throw error(.closed) }
        return HTTPStream(of: self, head: head)
    }

    /// Closes the connection; the call that uses it fails.
    nonisolated func close() {
        isIdle.store(false, ordering: .releasing)
        executor.queue.async { self.assumeIsolated { $0.close(.closed) } }
    }

    private func begin(_ request: HTTPRequest, _ exchange: HTTPExchange, deadline: Instant) throws(HTTPError) {
        if let failure { throw HTTPError(endpoint: endpoint, reason: failure, delivery: .nothingSent) }
        guard self.exchange == nil else { throw HTTPError(endpoint: endpoint, reason: .busy, delivery: .nothingSent) }
        if Task.isCancelled { throw error(.cancelled) }
        guard deadline > .now else { throw error(.deadlineExceeded) }
        guard let bytes = request.encoded(for: endpoint) else { throw error(.invalidRequest) }
        // The server may have closed the connection while it was idle.
        readable()
        if let failure { throw error(failure) }
        isIdle.store(false, ordering: .releasing)
        self.exchange = exchange
        channel?.beginRequest()
        do throws(HTTPError.Reason) {
            try channel?.send(bytes)
        } catch {
            close(error)
        }
    }

    /// The next part of the body of the stream; nil at its end.
    func nextPart(deadline: Instant) async throws(HTTPError) -> [UInt8]? {
        guard !waiter.isWaiting else { throw error(.busy) }
        try await wait(until: deadline) { $0.exchange?.body.isEmpty == false || $0.exchange?.isComplete == true }
        guard let part = exchange?.takeBody(), !part.isEmpty else { return nil }
        channel?.resumeReading()
        return part
    }

    /// Sends bytes of the body of the stream's request; fails if more than a number of bytes would wait to be sent.
    func write(_ bytes: [UInt8], limit: Int) throws(HTTPError) {
        if let failure { throw error(failure) }
        guard (channel?.pendingCount ?? 0) + bytes.count <= limit else { throw error(.sendBufferFull) }
        do throws(HTTPError.Reason) {
            try channel?.send(bytes)
        } catch {
            close(error)
            throw self.error(error)
        }
    }

    // MARK: - Events

    private func readable() {
        do throws(HTTPError.Reason) {
            switch try channel?.receive() {
            case .bytes(let bytes): try receive(bytes)
            case .end:
                exchange?.receiveEnd()
                close(.closedByPeer)
            case nil: return
            }
        } catch {
            close(error)
        }
        waiter.wake()
    }

    private func receive(_ bytes: [UInt8]) throws(HTTPError.Reason) {
        if bytes.isEmpty { return }
        do throws(HTTPViolation) {
            // Nothing was asked for.
            guard exchange != nil else { throw .surplus }
            try exchange?.receive(bytes)
        } catch {
            throw .invalidResponse(error)
        }
        if exchange?.isFull == true { channel?.suspendReading() }
    }

    private func writable() {
        channel?.flush()
        waiter.wake()
    }

    private func close(_ reason: HTTPError.Reason) {
        guard failure == nil else { return }
        failure = reason
        isIdle.store(false, ordering: .releasing)
        channel?.close()
        waiter.wake()
    }

    private func error(_ reason: HTTPError.Reason) -> HTTPError {
        // Without an exchange, the bytes that were sent are only those of a handshake.
        HTTPError(endpoint: endpoint, reason: reason, delivery: exchange == nil ? .nothingSent : channel?.delivery ?? .nothingSent)
    }

    /// Waits until a condition holds that events establish; closes the connection and fails if that takes too long.
    private func wait(until deadline: Instant, for condition: (isolated HTTPConnection) -> Bool) async throws(HTTPError) {
        while !condition(self) {
            if let failure { throw error(failure) }
            switch await waiter.wait(until: deadline) {
            case .event: continue
            case .deadlineExceeded: close(.deadlineExceeded)
            case .cancelled: close(.cancelled)
            }
        }
    }
}
