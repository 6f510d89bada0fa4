/// The response to one request as far as it has arrived.
struct HTTP2Exchange: Sendable {
    /// The number of bytes that were sent on the connection, or waited to be, before the request.
    let start: Int
    /// How large the body may become while it is not taken.
    let maximumBodySize: Int
    /// Whether the body is taken while it arrives.
    let isStream: Bool
    /// Whether a call waits for the next part of the body.
    var isAwaited = false
    /// The status of the response; nil until its head has arrived.
    private(set) var status: Int?
    /// The fields of the head.
    private(set) var fields: [HTTPField] = []
    /// The part of the body that has arrived and was not taken.
    private(set) var body: [UInt8] = []
    /// What came after the body, or the fields of the head if the response has ended with it; nil until it has ended.
    private(set) var trailers: [HTTPField]?
    /// Why there is no rest of the response; nil if it is complete, or may still be.
    private(set) var failure: ConnectionError.Reason?
    /// Whether the server has said that it has not looked at the request.
    private(set) var isRefused = false

    init(start: Int, maximumBodySize: Int, isStream: Bool) {
        (self.start, self.maximumBodySize, self.isStream) = (start, maximumBodySize, isStream)
    }

    /// Whether nothing more arrives.
    var hasEnded: Bool { trailers != nil || failure != nil }

    /// Adds the head, or what follows the body; does nothing after a failure.
    mutating func receive(_ fields: [HTTPField], isEnd: Bool) throws(HTTP2Violation) {
        guard failure == nil else { return }
        guard status == nil else {
            guard isEnd else { throw .headerFields }
            trailers = fields
            return
        }
        guard let text = fields[":status"], text.utf8.count == 3, let status = Int(text), status >= 100 else { throw .headerFields }
        // An interim response, which says nothing yet.
        if status < 200 {
            guard !isEnd else { throw .headerFields }
            return
        }
        (self.status, self.fields) = (status, fields)
        if isEnd { trailers = fields }
    }

    /// Adds bytes of the body; does nothing after a failure, so that a part that was refused is not passed over.
    mutating func receive(_ bytes: ArraySlice<UInt8>, isEnd: Bool) throws(HTTP2Violation) {
        guard failure == nil else { return }
        guard status != nil else { throw .headerFields }
        guard body.count + bytes.count <= maximumBodySize else { throw .messageTooLarge }
        body += bytes
        if isEnd { trailers = [] }
    }

    /// Notes that the rest of the response does not come.
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
