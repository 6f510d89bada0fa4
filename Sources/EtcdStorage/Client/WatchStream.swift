import ObservableStorage

/// A watch at one member: a bidirectional gRPC stream. Releasing it ends it.
final class WatchStream: Sendable {
    private let stream: HTTP2Stream
    private let received = Lock(GRPCMessageSplitter())

    init(_ stream: HTTP2Stream) {
        self.stream = stream
    }

    /// Waits for the next messages. Only one call may wait at a time.
    ///
    /// - Returns: the messages that have arrived together; empty if only a part of one has.
    /// - Throws: ``EtcdFailure`` at the end of the stream; ``ConnectionError``.
    nonisolated(nonsending) func next(deadline: ContinuousClock.Instant) async throws -> [WatchResponse] {
        try received.withLock { try $0.check() }
        switch try await stream.next(deadline: deadline) {
        case .data(let bytes): return try received.withLock { try $0.append(bytes) }.map { try WatchResponse(message: $0) }
        case .end(let trailers):
            throw EtcdFailure(endOf: trailers, httpStatus: stream.status)
                ?? EtcdFailure(code: nil, message: "the member has ended the stream")
        }
    }

    /// Sends a heartbeat, to which the member responds after the events that it has sent.
    nonisolated(nonsending) func requestProgress() async throws(ConnectionError) {
        try await stream.write(GRPCMessageSplitter.framed(WatchRequest.progress.message))
    }

    /// Ends the watch; a call that waits fails.
    func close() {
        stream.close()
    }
}
