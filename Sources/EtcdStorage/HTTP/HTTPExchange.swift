/// The response to one request as far as it has arrived.
struct HTTPExchange: Sendable {
    // No more is reserved for a length that a server announces.
    private static let mostReserved = 16 << 20

    private var parser: HTTPResponseParser
    private let bufferSize: Int?
    /// The head; nil until it has arrived.
    private(set) var head: HTTPResponseHead?
    /// The part of the body that has arrived and was not taken.
    private(set) var body: [UInt8] = []
    /// Whether the response has ended.
    private(set) var isComplete = false

    /// A response that is received whole.
    init(maximumBodySize: Int) {
        parser = HTTPResponseParser(maximumBodySize: maximumBodySize)
        bufferSize = nil
    }

    /// A response whose body is taken while it arrives.
    init(bufferSize: Int) {
        parser = HTTPResponseParser()
        self.bufferSize = bufferSize
    }

    /// Whether no more should be received until the body is taken.
    var isFull: Bool {
        bufferSize.map { body.count >= $0 } ?? false
    }

    /// Adds bytes of the server.
    mutating func receive(_ bytes: [UInt8]) throws(HTTPViolation) {
        var input = bytes[...]
        while let event = try parser.next(from: &input) {
            switch event {
            case .head(let head):
                self.head = head
                if bufferSize == nil, let size = head.contentLength { body.reserveCapacity(min(size, Self.mostReserved)) }
            case .body(let part): body += part
            case .end: isComplete = true
            }
        }
        guard input.isEmpty else { throw .surplus }
    }

    /// Ends a response that lasts until the connection is closed; others remain incomplete.
    mutating func receiveEnd() {
        do throws(HTTPViolation) {
            if try parser.finish() == .end { isComplete = true }
        } catch {
            // The connection reports that it was closed.
        }
    }

    /// Removes and returns the part of the body that has arrived.
    mutating func takeBody() -> [UInt8] {
        defer { body = [] }
        return body
    }
}
