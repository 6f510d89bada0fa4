/// A response whose body is read while it arrives, and whose request can still be continued.
///
/// Releasing the stream ends it.
final class HTTP2Stream: Sendable {
    /// A part of the response.
    enum Part: Sendable, Hashable {
        /// The next part of the body, which is not empty.
        case data([UInt8])
        /// The end, with the fields after the body, or those of the head if the response has no body.
        case end(trailers: [HTTPField])
    }

    let status: Int
    let fields: [HTTPField]
    private let id: UInt32
    private let connection: HTTP2Connection

    /// Creates the stream of a response that has begun.
    init(_ id: UInt32, of connection: HTTP2Connection, status: Int, fields: [HTTPField]) {
        (self.id, self.connection, self.status, self.fields) = (id, connection, status, fields)
    }

    deinit {
        close()
    }

    /// Waits for the next part of the response.
    ///
    /// Parts that arrived before a failure are returned before the failure is thrown. Only one call may wait at a time.
    nonisolated(nonsending) func next(deadline: ContinuousClock.Instant) async throws(ConnectionError) -> Part {
        try await connection.nextPart(of: id, deadline: deadline)
    }

    /// Sends a part of the request's body, without waiting for the server to receive it.
    ///
    /// - Throws: ``ConnectionError``, also if more than a megabyte would be pending.
    nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(ConnectionError) {
        try await connection.write(bytes, on: id)
    }

    /// Ends the stream; a call that waits fails.
    func close() {
        connection.close(id)
    }
}
