/// A response whose body is read while it arrives, and whose request may still be written.
///
/// Releasing the stream closes its connection.
final class HTTPStream: Sendable {
    // A server that does not read more than this has stopped.
    private static let sendBufferSize = 1 << 20

    /// The head of the response, which may be a refusal.
    let head: HTTPResponseHead
    private let connection: HTTPConnection

    /// Takes over a connection whose response has begun.
    init(of connection: HTTPConnection, head: HTTPResponseHead) {
        self.connection = connection
        self.head = head
    }

    deinit {
        connection.close()
    }

    /// Waits for the next part of the body, of any size but not empty; returns nil at the end.
    ///
    /// What arrived before a failure is returned before the failure is thrown. One call at a time may wait.
    nonisolated(nonsending) func next(deadline: ContinuousClock.Instant) async throws(HTTPError) -> [UInt8]? {
        try await connection.nextPart(deadline: deadline)
    }

    /// Sends a part of the body of a request that is open, without waiting for the server to receive it.
    ///
    /// - Throws: ``HTTPError``, also if more than a megabyte would wait to be sent.
    nonisolated(nonsending) func write(_ bytes: [UInt8]) async throws(HTTPError) {
        try await connection.write(HTTPChunk.encoded(bytes), limit: Self.sendBufferSize)
    }

    /// Ends the body of a request that is open; the server may end the response then.
    nonisolated(nonsending) func finishBody() async throws(HTTPError) {
        try await connection.write(HTTPChunk.last, limit: Self.sendBufferSize)
    }

    /// Closes the connection; a call that waits fails.
    func close() {
        connection.close()
    }
}
