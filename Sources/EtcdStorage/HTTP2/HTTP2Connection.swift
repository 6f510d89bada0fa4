import Dispatch
import ObservableStorage
import Synchronization

/// A connection to a server for any number of concurrent requests and streams.
///
/// All its work runs on one serial queue, which connections may share. A call whose deadline passes or whose task is cancelled ends its
/// stream. If the server has sent nothing at all until a deadline, the connection takes no further requests until it does, and closes unless
/// other calls still wait. Releasing the connection closes it.
actor HTTP2Connection {
    typealias Instant = ContinuousClock.Instant

    // A server with more than this in its way does not read any more.
    private static let sendBufferSize = 64 << 20
    private static let largestReadCount = 16

    nonisolated let endpoint: Endpoint
    nonisolated let executor: DispatchQueueExecutor
    private nonisolated let isAvailable = Atomic(false)
    let scheme: String
    private(set) var channel: SocketChannel?
    /// The frames of the connection. Every call may produce output, which ``flush()`` sends.
    var session = HTTP2Session()
    private(set) var arrivals = 0
    // Whether nothing has arrived since a call began to wait whose deadline has passed.
    private var isSilent = false
    /// Why the connection was closed; nil while it is open.
    private(set) var failure: ConnectionError.Reason?
    let waiter: EventWaiter

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    nonisolated var isUsable: Bool { isAvailable.load(ordering: .acquiring) }

    var hasTakenRequest: Bool { session.hasOpened }

    private init(_ endpoint: Endpoint, scheme: String, on executor: DispatchQueueExecutor) {
        (self.endpoint, self.scheme, self.executor) = (endpoint, scheme, executor)
        waiter = EventWaiter(queue: executor.queue)
    }

    // MARK: - Opening

    /// Connects to a server, and returns when it has shown that it speaks HTTP/2.
    ///
    /// All addresses of the host are tried; each gets an equal share of the remaining time.
    ///
    /// - Parameters:
    ///   - executor: the queue of the connection. Calls by an actor on the same queue do not switch threads.
    ///   - filter: creates the filter that encrypts the bytes, on that queue; nil if they are not encrypted.
    nonisolated(nonsending) static func open(
        _ endpoint: Endpoint, on executor: DispatchQueueExecutor = DispatchQueueExecutor(label: "HTTP2Connection"), deadline: Instant,
        filter: (@Sendable () throws -> any ByteFilter)? = nil
    ) async throws(ConnectionError) -> HTTP2Connection {
        let connection = HTTP2Connection(endpoint, scheme: filter == nil ? "http" : "https", on: executor)
        try await connection.connect(deadline: deadline, filter: filter)
        return connection
    }

    private func connect(deadline: Instant, filter: (@Sendable () throws -> any ByteFilter)?) async throws(ConnectionError) {
        if Task.isCancelled { throw error(.cancelled) }
        let socket: Socket
        do throws(ConnectionError.Reason) {
            socket = try await connectedSocket(deadline: deadline)
        } catch {
            throw self.error(error)
        }
        do {
            channel = SocketChannel(socket, filter: try filter?())
        } catch {
            close(.filter(String(describing: error)))
        }
        try await wait(until: deadline) { $0.channel?.isReady == true }
        flush()
        channel?.closingBytes = HTTP2FrameHead.goAway(code: HTTP2ErrorCode.noError)
        try await wait(until: deadline) { $0.session.hasSettings }
        updateAvailability()
    }

    private func connectedSocket(deadline: Instant) async throws(ConnectionError.Reason) -> Socket {
        let addresses = try await addresses(deadline: deadline)
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
        throw reason
    }

    private func addresses(deadline: Instant) async throws(ConnectionError.Reason) -> [SocketAddress] {
        if case .success(let addresses) = SocketAddress.all(of: endpoint, isNumeric: true) { return addresses }
        let resolution = Lock<Result<[SocketAddress], ConnectionError.Reason>?>(nil)
        DispatchQueue.global().async { [endpoint, executor, waiter] in
            let result = SocketAddress.all(of: endpoint, isNumeric: false)
            resolution.withLock { $0 = result }
            executor.queue.async { waiter.wakeFinished() }
        }
        let wake = await waiter.waitOnQueue(until: deadline) { resolution.withLock { $0 != nil } }
        if let result = resolution.withLock({ $0 }) { return try result.get() }
        throw wake == .cancelled ? .cancelled : .deadlineExceeded
    }

    private func connectedSocket(to address: SocketAddress, deadline: Instant) async throws(ConnectionError.Reason) -> Socket {
        let socket = try Socket(connectingTo: address, queue: executor.queue) { [weak self] in
            self?.assumeIsolated { $0.read() }
        } onWritable: { [weak self] in
            self?.assumeIsolated { if let channel = $0.channel { channel.flush() } else { $0.waiter.wakeAll() } }
        }
        var wake = EventWaiter.Wake.event
        while wake == .event {
            if try socket.isConnected() { return socket }
            socket.resumeWriting()
            wake = await waiter.waitOnQueue(until: deadline) { false }
        }
        throw wake == .cancelled ? .cancelled : .deadlineExceeded
    }

    /// Waits for a condition while the connection is opened; closes the connection and throws if the wait ends without it.
    private func wait(until deadline: Instant, for condition: @escaping (isolated HTTP2Connection) -> Bool) async throws(ConnectionError) {
        while !condition(self) {
            if let failure { throw error(failure) }
            switch await waiter.waitOnQueue(until: deadline, unless: { condition(self) || self.failure != nil }) {
            case .event: continue
            case .deadlineExceeded: close(.deadlineExceeded)
            case .cancelled: close(.cancelled)
            }
        }
    }

    // MARK: - Events

    /// Receives what has arrived: without switching threads in between, but no more than a megabyte, because a server that sends endlessly
    /// must not block the queue.
    func read() {
        var count = 0
        do throws(ConnectionError.Reason) {
            while count < Self.largestReadCount, let bytes = try channel?.receive() {
                count += 1
                try receive(bytes)
            }
        } catch {
            close(error)
        }
        // Each request reads, mostly nothing, and would ask all calls that wait.
        if count > 0 { waiter.wakeFinished() }
    }

    private func receive(_ bytes: [UInt8]) throws(ConnectionError.Reason) {
        if bytes.isEmpty { return }
        arrivals += 1
        isSilent = false
        do throws(HTTP2Violation) {
            try session.receive(bytes)
        } catch {
            channel?.closingBytes = HTTP2FrameHead.goAway(code: error.code)
            throw .invalidResponse(error.rawValue)
        }
        flush()
        updateAvailability()
    }

    func flush() {
        let output = session.takeOutput()
        guard failure == nil, !output.isEmpty else { return }
        do throws(ConnectionError.Reason) {
            try channel?.send(output)
            guard channel?.pendingCount ?? 0 <= Self.sendBufferSize else { throw .sendBufferFull }
        } catch {
            close(error)
        }
    }

    func updateAvailability() {
        isAvailable.store(failure == nil && !isSilent && session.canOpen, ordering: .releasing)
    }

    /// Takes no further requests until something arrives, because nothing has while a call waited; closes the connection if no other call
    /// waits.
    func recordSilence(during id: UInt32) {
        // The server may have disappeared with its machine or its network, which the system would notice much later.
        isSilent = true
        updateAvailability()
        if session.exchanges.allSatisfy({ $0 == id || $1.hasEnded }) { close(.deadlineExceeded) }
    }

    // MARK: - Closing

    /// Closes the connection; the calls that use it fail.
    private func close(_ reason: ConnectionError.Reason) {
        guard failure == nil else { return }
        failure = reason
        isAvailable.store(false, ordering: .releasing)
        switch reason {
        // The server does not listen any more, or cannot be understood.
        case .closedByPeer, .socket, .filter, .truncated: channel?.closingBytes = []
        default: break
        }
        channel?.close()
        session.failAll(reason)
        waiter.wakeFinished()
    }

    /// The error of the connection, or of a stream.
    func error(_ reason: ConnectionError.Reason, of id: UInt32? = nil) -> ConnectionError {
        ConnectionError(endpoint: endpoint, reason: reason, mayHaveArrived: id.map(mayHaveArrived) ?? false)
    }

    private func mayHaveArrived(_ id: UInt32) -> Bool {
        guard let exchange = session.exchanges[id] else { return true }
        // On an open connection, pending bytes may be sent later.
        let isSent = failure == nil || channel.map { $0.writtenCount > exchange.start } ?? false
        return isSent && !exchange.isRefused
    }
}
