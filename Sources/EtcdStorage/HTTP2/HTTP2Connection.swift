import Dispatch
import FoundationSubset
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
    private static let streamBufferSize = 1 << 20
    private static let largestReadCount = 16

    /// The server.
    nonisolated let endpoint: Endpoint
    private nonisolated let executor: DispatchQueueExecutor
    private nonisolated let isAvailable = Atomic(false)
    private let scheme: String
    private var channel: SocketChannel?
    private var session = HTTP2Session()
    private var exchanges: [UInt32: HTTP2Exchange] = [:]
    // How often something was received.
    private var arrivals = 0
    private var hasSettings = false
    // Whether nothing has arrived since a call began to wait whose deadline has passed.
    private var isSilent = false
    // Why the connection was closed; nil while it is open.
    private var failure: ConnectionError.Reason?
    private var addresses: Result<[SocketAddress], ResolutionError>?
    private let waiter: EventWaiter

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the connection takes another request.
    nonisolated var isUsable: Bool {
        isAvailable.load(ordering: .acquiring)
    }

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
        try await wait(until: deadline) { $0.hasSettings }
        updateAvailability()
    }

    private func connectedSocket(deadline: Instant) async throws(ConnectionError) -> Socket {
        let addresses = try await resolvedAddresses(deadline: deadline)
        var reason = ConnectionError.Reason.unknownHost("it has no address")
        for (index, address) in addresses.enumerated() {
            let share = (deadline - .now) / (addresses.count - index)
            do throws(ConnectionError.Reason) {
                return try await connectedSocket(to: address, deadline: .now + share)
            } catch {
                reason = error
            }
            if reason == .cancelled { break }
        }
        throw error(reason)
    }

    private func connectedSocket(to address: SocketAddress, deadline: Instant) async throws(ConnectionError.Reason) -> Socket {
        let reason: ConnectionError.Reason
        do throws(SocketError) {
            let socket = try Socket(connectingTo: address, queue: executor.queue) { [weak self] in
                self?.assumeIsolated { _ = $0.read() }
            } onWritable: { [weak self] in
                self?.assumeIsolated { $0.writable() }
            }
            var wake = EventWaiter.Wake.event
            while wake == .event {
                if try socket.isConnected() { return socket }
                socket.resumeWriting()
                wake = await waiter.wait(for: Self.connection, until: deadline) { false }
            }
            reason = wake == .cancelled ? .cancelled : .deadlineExceeded
        } catch {
            reason = .socket(error)
        }
        throw reason
    }

    private func resolvedAddresses(deadline: Instant) async throws(ConnectionError) -> [SocketAddress] {
        if let numeric = SocketAddress.numeric(endpoint) { return numeric }
        DispatchQueue.global().async { [weak self, executor, endpoint] in
            let addresses = SocketAddress.all(of: endpoint)
            executor.queue.async { [weak self] in
                self?.assumeIsolated {
                    $0.addresses = addresses
                    $0.waiter.wake(Self.connection)
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
    /// If the server closed the connection while nothing was asked, that is noticed before anything is sent.
    func send(_ request: HTTPRequest, maximumBodySize: Int = 64 << 20, deadline: Instant) async throws(ConnectionError) -> HTTPResponse {
        let id = try begin(request, maximumBodySize: maximumBodySize, isStream: false, deadline: deadline)
        defer { end(id) }
        try await wait(for: id, until: deadline) { $0.trailers != nil }
        guard let exchange = exchanges[id], let status = exchange.status, let trailers = exchange.trailers else {
            throw error(.closed, of: id)
        }
        return HTTPResponse(status: status, fields: exchange.fields, body: exchange.body, trailers: trailers)
    }

    /// Sends a request whose body is continued, and returns when the head of the response is there.
    func stream(_ request: HTTPRequest, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream {
        let id = try begin(request, maximumBodySize: HTTP2Session.windowSize, isStream: true, deadline: deadline)
        do throws(ConnectionError) {
            try await wait(for: id, until: deadline) { $0.status != nil }
            guard let status = exchanges[id]?.status else { throw error(.closed, of: id) }
            return HTTP2Stream(id, of: self, status: status, fields: exchanges[id]?.fields ?? [])
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

    private func begin(
        _ request: HTTPRequest, maximumBodySize: Int, isStream: Bool, deadline: Instant
    ) throws(ConnectionError) -> UInt32 {
        if let failure { throw error(failure) }
        if Task.isCancelled { throw error(.cancelled) }
        guard deadline > .now else { throw error(.deadlineExceeded) }
        guard let fields = request.fields(for: endpoint, scheme: scheme) else { throw error(.invalidRequest) }
        // The server may have closed the connection while nothing was asked, also after something else that was not read yet. One that sends
        // without an end must not hold up the queue.
        var count = 0
        while count < Self.largestReadCount, read() { count += 1 }
        guard failure == nil, session.canOpen else { throw error(failure ?? .closed) }
        let start = (channel?.writtenCount ?? 0) + (channel?.pendingCount ?? 0)
        let id = session.open(fields, request.body, isEnd: !isStream)
        exchanges[id] = HTTP2Exchange(start: start, maximumBodySize: maximumBodySize, isStream: isStream)
        flush()
        updateAvailability()
        return id
    }

    /// The next part of the body of a stream, or its end.
    func nextPart(of id: UInt32, deadline: Instant) async throws(ConnectionError) -> HTTP2Stream.Part {
        // Also a call that an event has woken, and that has not looked yet whether it has to wait again, must not be joined by another.
        guard exchanges[id]?.isAwaited != true else { throw error(.busy, of: id) }
        exchanges[id]?.isAwaited = true
        defer { exchanges[id]?.isAwaited = false }
        try await wait(for: id, until: deadline) { !$0.body.isEmpty || $0.trailers != nil }
        guard let part = exchanges[id]?.takeBody() else { throw error(.closed, of: id) }
        guard !part.isEmpty else { return .end(trailers: exchanges[id]?.trailers ?? []) }
        session.use(part.count, of: id)
        flush()
        return .data(part)
    }

    /// Sends bytes of the body of a stream's request; fails if too many would wait to be sent.
    func write(_ bytes: [UInt8], on id: UInt32) throws(ConnectionError) {
        guard let exchange = exchanges[id], failure == nil else { throw error(failure ?? .closed, of: id) }
        if let reason = exchange.failure { throw error(reason, of: id) }
        guard session.pendingCount(of: id) + bytes.count <= Self.streamBufferSize else { throw error(.sendBufferFull, of: id) }
        session.send(bytes, on: id, isEnd: false)
        flush()
    }

    /// Ends a stream of which only the part that has arrived can still be read.
    private func fail(_ id: UInt32, _ reason: ConnectionError.Reason) {
        exchanges[id]?.fail(reason)
        session.close(id)
        flush()
    }

    /// Ends a stream of which nothing more is wanted.
    private func end(_ id: UInt32) {
        guard exchanges.removeValue(forKey: id) != nil else { return }
        session.close(id)
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
        session.receive(bytes)
        do throws(HTTP2Violation) {
            while let event = try session.nextEvent() { handle(event) }
        } catch {
            throw .invalidResponse(error.rawValue)
        }
        flush()
        updateAvailability()
    }

    private func handle(_ event: HTTP2Session.Event) {
        let id = event.stream
        do throws(HTTP2Violation) {
            switch event {
            case .settings: hasSettings = true
            case .fields(_, let fields, let isEnd): try exchanges[id]?.receive(fields, isEnd: isEnd)
            case .data(_, let bytes, let isEnd):
                try exchanges[id]?.receive(bytes, isEnd: isEnd)
                if exchanges[id]?.isStream == false { session.use(bytes.count, of: id) }
            case .reset(_, let code): exchanges[id]?.fail(.closedByPeer, isRefused: code == HTTP2ErrorCode.refusedStream)
            case .goAway(let last):
                for id in exchanges.keys where id > last {
                    exchanges[id]?.fail(.closedByPeer, isRefused: true)
                    waiter.wake(id)
                }
            }
        } catch {
            fail(id, error == .messageTooLarge ? .responseTooLarge : .invalidResponse(error.rawValue))
        }
        // Others wait for the end of the response.
        if let exchange = exchanges[id], exchange.isStream || exchange.hasEnded { waiter.wake(id) }
    }

    private func writable() {
        channel?.flush()
        waiter.wake(Self.connection)
    }

    private func flush() {
        let output = session.takeOutput()
        guard failure == nil, !output.isEmpty else { return }
        do throws(ConnectionError.Reason) {
            try channel?.send(output)
            guard channel?.pendingCount ?? 0 <= Self.sendBufferSize else { throw .sendBufferFull }
        } catch {
            close(error)
        }
    }

    private func updateAvailability() {
        isAvailable.store(failure == nil && !isSilent && session.canOpen, ordering: .releasing)
    }

    private func close(_ reason: ConnectionError.Reason) {
        guard failure == nil else { return }
        failure = reason
        isAvailable.store(false, ordering: .releasing)
        channel?.close()
        for id in exchanges.keys { exchanges[id]?.fail(reason) }
        waiter.wakeAll()
    }

    private func error(_ reason: ConnectionError.Reason, of id: UInt32? = nil) -> ConnectionError {
        ConnectionError(endpoint: endpoint, reason: reason, delivery: id.map(delivery) ?? .nothingSent)
    }

    private func delivery(of id: UInt32) -> ConnectionError.Delivery {
        guard let exchange = exchanges[id] else { return .perhapsSent }
        // What still waits to be sent on an open connection may be sent later.
        let isSent = failure == nil || channel.map { $0.writtenCount > exchange.start } ?? false
        return isSent && !exchange.isRefused ? .perhapsSent : .nothingSent
    }

    // MARK: - Waiting

    // Streams have odd numbers.
    private static let connection = 0 as UInt32

    /// Waits until a condition on a response holds that events establish; the stream fails if that takes too long.
    private func wait(for id: UInt32, until deadline: Instant, _ condition: (HTTP2Exchange) -> Bool) async throws(ConnectionError) {
        let earlier = arrivals
        while true {
            guard let exchange = exchanges[id] else { throw error(.closed, of: id) }
            if condition(exchange) { return }
            if let reason = exchange.failure { throw error(reason, of: id) }
            let wake = await waiter.wait(for: id, until: deadline) {
                exchanges[id].map { condition($0) || $0.failure != nil } ?? true
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
        if exchanges.allSatisfy({ $0 == id || $1.hasEnded }) { close(.deadlineExceeded) }
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
