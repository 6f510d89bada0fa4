/// A transformation between the bytes of requests and responses and those on the wire, such as TLS.
///
/// A filter is created and used on the queue of its connection; its last calls may be on the thread that releases the connection. After a
/// call that throws, the connection still sends the pending output, such as an alert, and closes.
protocol ByteFilter {
    /// Whether requests can be sent. Until then the connection only exchanges the pending output and the received bytes.
    var isReady: Bool { get }

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
