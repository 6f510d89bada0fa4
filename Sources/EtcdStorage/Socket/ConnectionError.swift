import FoundationSubset

/// Why a request to a server failed, and whether the server may have received it.
struct ConnectionError: Error, Hashable, Sendable, CustomStringConvertible {
    enum Reason: Hashable, Sendable {
        /// The host name cannot be resolved, with the resolver's reason.
        case unknownHost(String)
        case socket(call: String, code: Int32)
        /// The server closed the connection before the end of the response, or went away without processing the request.
        case closedByPeer
        /// The server reset the stream before the end of the response, with an HTTP/2 error code.
        case reset(code: UInt32)
        /// The server violated the protocol, with the violation.
        case invalidResponse(String)
        case responseTooLarge
        /// The filter of the connection refused the server or its bytes, with the reason.
        case filter(String)
        /// The server closed the connection before the end of what the filter has to receive, with the reason.
        case truncated(String)
        case deadlineExceeded
        case cancelled
        /// This side closed the connection or the stream.
        case closed
        /// The server allows no further streams at present, or is going away, or the stream numbers are used up.
        case noFurtherStreams
        /// The fields of the request contain characters that are not allowed.
        case invalidRequest
        /// The server does not read: too many bytes are pending.
        case sendBufferFull
    }

    let endpoint: Endpoint
    let reason: Reason
    /// Whether the server may have executed the request, because its end was sent, or may still be. Otherwise it can be sent to another
    /// server.
    let mayHaveArrived: Bool

    var description: String { "\(endpoint): \(reason)" }
}

extension ConnectionError.Reason: Error, CustomStringConvertible {
    var description: String {
        switch self {
        case .unknownHost(let reason): "the host cannot be found: \(reason)"
        case .socket(let call, let code): "\(call): \(String(cString: strerror(code)))"
        case .closedByPeer: "the server closed the connection"
        case .reset(let code): "the server reset the stream (code \(code))"
        case .invalidResponse(let violation): "the server's response is not valid: \(violation)"
        case .responseTooLarge: "the server's response is larger than allowed"
        case .filter(let reason), .truncated(let reason): reason
        case .deadlineExceeded: "the server did not respond in time"
        case .cancelled: "the task was cancelled"
        case .closed: "the connection is closed"
        case .noFurtherStreams: "the connection takes no further requests"
        case .invalidRequest: "the fields of the request contain characters that are not allowed"
        case .sendBufferFull: "the server does not read what is sent to it"
        }
    }
}
