/// A transformation between the bytes of requests and responses and those on the wire, such as TLS.
///
/// A filter is created and used on the queue of its connection; its last calls may be on the thread that releases the connection. After a
/// call that throws, the connection still sends the pending output, such as an alert, and closes.
protocol ByteFilter {
    /// Whether requests can be sent. Until then the connection only exchanges the pending output and the received bytes.
    var isReady: Bool { get }

    /// Whether the server has ended the session: it sends nothing more, although it may keep the socket open.
    var isClosedByPeer: Bool { get }

    /// Removes and returns bytes for the server that result from earlier calls, such as those of a handshake.
    mutating func takePendingOutput() -> [UInt8]

    /// Receives bytes of the server, and returns the bytes of responses in them.
    mutating func received(_ bytes: [UInt8]) throws -> [UInt8]

    /// Receives the end of the server's bytes; throws if they may be truncated.
    mutating func receivedEnd() throws

    /// Returns the bytes to send for those of a request.
    mutating func send(_ bytes: [UInt8]) throws -> [UInt8]

    /// Ends the session; its last bytes are pending output.
    mutating func close()
}

/// Connects a socket with a protocol: passes bytes through the filter, and buffers them until the socket accepts them.
///
/// It is used on the queue of the socket only, and may be released on any thread, which closes it.
final class SocketChannel {
    private static let readSize = 65_536

    // Nil once closed.
    private var socket: Socket?
    private var filter: (any ByteFilter)?
    private var output: ArraySlice<UInt8> = []
    private var writeError: ConnectionError.Reason?
    /// The last bytes of the protocol, sent when the channel closes if the socket accepts them at once.
    var closingBytes: [UInt8] = []
    /// The number of bytes that the socket has accepted.
    private(set) var writtenCount = 0

    /// - Parameters:
    ///   - socket: a connected socket.
    ///   - filter: nil if bytes are sent as they are.
    init(_ socket: Socket, filter: (any ByteFilter)?) {
        self.socket = socket
        self.filter = filter
        socket.startReading()
        flush()
    }

    deinit {
        close()
    }

    var isReady: Bool { filter?.isReady ?? true }

    /// The number of bytes that the socket has not accepted yet.
    var pendingCount: Int { output.count }

    /// Sends bytes, or buffers them until the socket accepts them.
    func send(_ bytes: [UInt8]) throws(ConnectionError.Reason) {
        output += filter?.takePendingOutput() ?? []
        do {
            let filtered = try filter?.send(bytes) ?? bytes
            if output.isEmpty { output = filtered[...] } else { output += filtered }
        } catch {
            flush()
            throw .filter(String(describing: error))
        }
        flush()
    }

    /// Writes as much as the socket accepts, and the rest after an event.
    func flush() {
        output += filter?.takePendingOutput() ?? []
        guard let socket else { return }
        while writeError == nil && !output.isEmpty {
            do throws(ConnectionError.Reason) {
                let count = try socket.write(output)
                if count == 0 { return socket.resumeWriting() }
                writtenCount += count
                output = output.dropFirst(count)
            } catch {
                // Reported after everything is read: the server may have sent the reason before it closed.
                writeError = error
            }
        }
        output = []
        socket.suspendWriting()
    }

    /// Receives the bytes that have arrived: those of the protocol, empty if the filter needs more, or has used them itself; nil if none have
    /// arrived.
    ///
    /// - Throws: also at the end of the server's bytes.
    func receive() throws(ConnectionError.Reason) -> [UInt8]? {
        if filter?.isClosedByPeer == true { throw writeError ?? .closedByPeer }
        guard let bytes = try socket?.read(atMost: Self.readSize) else { return nil }
        defer { flush() }
        do {
            guard bytes.isEmpty else { return try filter?.received(bytes) ?? bytes }
            try filter?.receivedEnd()
        } catch {
            let reason = String(describing: error)
            throw bytes.isEmpty ? .truncated(reason) : .filter(reason)
        }
        throw writeError ?? .closedByPeer
    }

    /// Sends the closing bytes and ends the session of the filter if the socket accepts that at once, and closes the socket.
    func close() {
        guard socket != nil else { return }
        if output.isEmpty, !closingBytes.isEmpty {
            do {
                output = (try filter?.send(closingBytes) ?? closingBytes)[...]
            } catch {
                // The server still sees the end of the connection.
            }
        }
        filter?.close()
        flush()
        socket = nil
        output = []
    }
}
