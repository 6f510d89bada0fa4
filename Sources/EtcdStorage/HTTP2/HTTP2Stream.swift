/// A response whose body is read while it arrives, and whose request can still be continued.
///
/// Releasing the stream ends it.
final class HTTP2Stream: Sendable {
    let status: Int
    let fields: [HTTPField]
    private let id: UInt32
    private let connection: HTTP2Connection

    init(_ id: UInt32, of connection: HTTP2Connection, status: Int, fields: [HTTPField]) {
        (self.id, self.connection, self.status, self.fields) = (id, connection, status, fields)
    }

    deinit {
        close()
    }

    /// Waits for more bytes of the body, or for the end of the response.
    ///
    /// Bytes that arrived before a failure are returned before the failure is thrown.
    ///
    /// - Returns: the bytes that were not returned yet, and at the end the fields after the body, or those of the head if the response has no
    ///   body.
    nonisolated(nonsending) func next(
        deadline: ContinuousClock.Instant
    ) async throws(ConnectionError) -> (bytes: [UInt8], trailers: [HTTPField]?) {
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
