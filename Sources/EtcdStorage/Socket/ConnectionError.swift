import FoundationSubset

/// Why a request to a server failed, and whether the server may have received it.
struct ConnectionError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What failed.
    enum Reason: Hashable, Sendable {
        /// The name of the host has no address, with the resolver's reason.
        case unknownHost(String)
        /// A call of the system failed.
        case socket(SocketError)
        /// The server closed the connection, or goes away without looking at the request, before the end of the response.
        case closedByPeer
        /// The server ended the stream before the end of the response, with its error code of HTTP/2.
        case reset(code: UInt32)
        /// The server sent what is no response of the protocol, with what is wrong.
        case invalidResponse(String)
        /// The response has more bytes than were allowed for it.
        case responseTooLarge
        /// The filter of the connection refused the server or its bytes, with its reason.
        case filter(String)
        /// The deadline passed.
        case deadlineExceeded
        /// The calling task was cancelled.
        case cancelled
        /// Another call waits on the stream.
        case busy
        /// The connection or the stream was closed by this side.
        case closed
        /// The server allows no further streams on the connection at present, or goes away, or the numbers of streams are used up.
        case noFurtherStreams
        /// The request has characters that are not allowed in its fields.
        case invalidRequest
        /// The server does not read: too many bytes are waiting to be sent to it.
        case sendBufferFull
    }

    /// What the server can know of a request that failed.
    enum Delivery: Hashable, Sendable {
        /// Not one byte of the request was sent, or the server has said that it has not looked at it: it can be repeated elsewhere.
        case nothingSent
        /// At least a part of the request was sent: the server may have executed it.
        case perhapsSent
    }

    /// The server.
    let endpoint: Endpoint
    /// What failed.
    let reason: Reason
    /// What the server can know of the request.
    let delivery: Delivery

    /// A sentence that names the server and the reason.
    var description: String {
        "\(endpoint): \(reason)"
    }
}

extension ConnectionError.Reason: Error, CustomStringConvertible {
    /// The reason in words.
    var description: String {
        switch self {
        case .unknownHost(let reason): "the host cannot be found: \(reason)"
        case .socket(let error): error.description
        case .closedByPeer: "the server closed the connection"
        case .reset(let code): "the server reset the stream (code \(code))"
        case .invalidResponse(let violation): "the server's response is not valid: \(violation)"
        case .responseTooLarge: "the server's response is larger than allowed"
        case .filter(let reason): reason
        case .deadlineExceeded: "the server did not respond in time"
        case .cancelled: "the task was cancelled"
        case .busy: "the stream is in use"
        case .closed: "the connection is closed"
        case .noFurtherStreams: "the connection takes no further requests"
        case .invalidRequest: "the request has characters that are not allowed in its fields"
        case .sendBufferFull: "the server does not read what is sent to it"
        }
    }
}

/// A call of the system that failed.
struct SocketError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the call.
    let call: String
    /// Its error number.
    let code: Int32

    /// The call and the system's text for the error.
    var description: String {
        "\(call): \(String(cString: strerror(code)))"
    }
}
