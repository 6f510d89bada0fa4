/// The part of the response to one request that has arrived.
struct HTTP2Exchange: Sendable {
    /// The number of bytes sent or pending on the connection before the request.
    let start: Int
    /// The maximum size of the body that has not been taken.
    let maximumBodySize: Int
    /// Whether the body is taken while it arrives.
    let isStream: Bool
    /// Whether a call waits for the next part of the body.
    var isAwaited = false
    /// The status of the response, from 200 to 999; nil until its head has arrived.
    private(set) var status: Int?
    private(set) var fields: [HTTPField] = []
    /// The part of the body that has arrived and has not been taken.
    private(set) var body: [UInt8] = []
    /// The fields after the body, or those of the head if the response has no body; nil until it has ended.
    private(set) var trailers: [HTTPField]?
    /// Why the response ends early; nil if it is complete or may still be completed.
    private(set) var failure: ConnectionError.Reason?
    /// Whether the server has announced that it has not processed the request.
    private(set) var isRefused = false

    /// Whether nothing more arrives.
    var hasEnded: Bool { trailers != nil || failure != nil }

    /// Adds the head or the trailers; does nothing after a failure.
    mutating func receive(_ fields: [HTTPField], isEnd: Bool) throws(HTTP2Violation) {
        guard failure == nil else { return }
        guard status == nil else {
            guard isEnd else { throw .headerFields }
            trailers = fields
            return
        }
        guard let text = fields[":status"], text.utf8.count == 3, let status = Int(text), status >= 100 else { throw .headerFields }
        // An interim response.
        if status < 200 {
            guard !isEnd else { throw .headerFields }
            return
        }
        (self.status, self.fields) = (status, fields)
        if isEnd { trailers = fields }
    }

    /// Appends bytes of the body; does nothing after a failure, so that a refused part leaves no gap.
    mutating func receive(_ bytes: ArraySlice<UInt8>, isEnd: Bool) throws(HTTP2Violation) {
        guard failure == nil else { return }
        guard status != nil else { throw .headerFields }
        guard body.count + bytes.count <= maximumBodySize else { throw .messageTooLarge }
        body += bytes
        if isEnd { trailers = [] }
    }

    /// Ends the response early, unless it has ended.
    mutating func fail(_ reason: ConnectionError.Reason, isRefused: Bool = false) {
        guard !hasEnded else { return }
        (failure, self.isRefused) = (reason, isRefused)
    }

    /// Removes and returns the part of the body that has arrived.
    mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }
}
