/// A response whose body is read while it arrives, and whose request may still be written.
///
/// Releasing the stream ends it.
final class HTTP2Stream: Sendable {
    /// What arrives.
    enum Part: Sendable, Hashable {
        /// The next part of the body, of any size but not empty.
        case data([UInt8])
        /// The end, with the fields after the body, or those of the head if the response has ended with it.
        case end(trailers: [HTTPField])
    }

    /// The status of the response.
    let status: Int
    /// The fields of its head.
    let fields: [HTTPField]
    private let id: UInt32
    private let connection: HTTP2Connection

    /// Takes over a stream of a connection whose response has begun.
    init(_ id: UInt32, of connection: HTTP2Connection, status: Int, fields: [HTTPField]) {
        (self.id, self.connection, self.status, self.fields) = (id, connection, status, fields)
    }

    deinit {
        close()
    }

    /// Waits for the next part of the response.
    ///
    /// What arrived before a failure is returned before the failure is thrown. One call at a time may wait.
    nonisolated(nonsending) func next(deadline: ContinuousClock.Instant) async throws(ConnectionError) -> Part {
        try await connection.nextPart(of: id, deadline: deadline)
    }

    /// Sends a part of the body of the request, without waiting for the server to receive it.
    ///
    /// - Throws: ``ConnectionError``, also if more than a megabyte would wait to be sent.
    nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(ConnectionError) {
        try await connection.write(bytes, on: id)
    }

    /// Ends the stream; a call that waits fails.
    func close() {
        connection.close(id)
    }
}
