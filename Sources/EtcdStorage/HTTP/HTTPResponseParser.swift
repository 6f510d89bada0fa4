/// What makes a response invalid.
enum HTTPViolation: String, Error, Hashable, Sendable {
    case statusLine = "its status line is malformed"
    case field = "a field of its head is malformed"
    case foldedField = "a field of its head is folded over several lines"
    case lineEnd = "a line does not end with a carriage return and a line feed"
    case headTooLarge = "its head is too large"
    case contentLength = "its length is malformed, or given twice"
    case transferEncoding = "its transfer encoding is not supported"
    case upgrade = "it changes the protocol, which was not asked for"
    case chunkSize = "the size of a chunk is malformed"
    case chunkEnd = "a chunk is longer than its size"
    case bodyTooLarge = "its body is too large"
    case incomplete = "it ends before its end"
    case surplus = "more bytes follow than belong to it"
}

/// Splits the bytes of one response to a POST or GET request into its head and its body, wherever they are divided.
///
/// Interim responses (1xx) are skipped. What RFC 9112 lets a recipient tolerate, but makes the end of a response ambiguous, is rejected.
/// After an error the parser must not be used again.
struct HTTPResponseParser: Sendable {
    /// What was found.
    enum Event: Hashable, Sendable {
        case head(HTTPResponseHead)
        /// A part of the body, which is not empty.
        case body(ArraySlice<UInt8>)
        /// The end of the response.
        case end
    }

    private enum State {
        case statusLine, fields, fixed(Int), chunkSize, chunk(Int), chunkEnd(UInt8), trailers, untilClose, ended
    }

    private let maximumBodySize: Int
    private let maximumHeadSize: Int
    private var state = State.statusLine
    // The beginning of a line whose end has not arrived.
    private var partialLine: [UInt8] = []
    private var headSize = 0
    private var bodySize = 0
    private var head = HTTPHeadParser()

    /// - Parameters:
    ///   - maximumBodySize: the largest size of a body, in bytes.
    ///   - maximumHeadSize: the largest size of a head, of the line before a chunk, or of the trailers.
    init(maximumBodySize: Int = .max, maximumHeadSize: Int = 65_536) {
        self.maximumBodySize = maximumBodySize
        self.maximumHeadSize = maximumHeadSize
    }

    /// Removes the next event from the beginning of the input; returns nil if more input is needed, or the response has ended.
    mutating func next(from input: inout ArraySlice<UInt8>) throws(HTTPViolation) -> Event? {
        while true {
            switch state {
            case .statusLine:
                guard let line = try line(from: &input) else { return nil }
                head = try HTTPHeadParser(statusLine: line)
                state = .fields
            case .fields:
                guard let line = try line(from: &input) else { return nil }
                guard line.isEmpty else {
                    try head.add(line)
                    continue
                }
                if try endHead() { return .head(head.head) }
            case .fixed(0):
                state = .ended
                return .end
            case .fixed(let remaining):
                guard let part = part(of: &input, atMost: remaining) else { return nil }
                state = .fixed(remaining - part.count)
                return .body(part)
            case .chunkSize:
                guard let line = try line(from: &input) else { return nil }
                headSize = 0
                let size = try chunkSize(line)
                state = size == 0 ? .trailers : .chunk(size)
            case .chunk(let remaining):
                guard let part = part(of: &input, atMost: remaining) else { return nil }
                state = part.count == remaining ? .chunkEnd(13) : .chunk(remaining - part.count)
                return .body(part)
            case .chunkEnd(let expected):
                guard let byte = input.popFirst() else { return nil }
                guard byte == expected else { throw .chunkEnd }
                state = expected == 13 ? .chunkEnd(10) : .chunkSize
            case .trailers:
                guard let line = try line(from: &input) else { return nil }
                guard line.isEmpty else {
                    _ = try HTTPHeadParser.field(line)
                    continue
                }
                state = .ended
                return .end
            case .untilClose:
                guard let part = part(of: &input, atMost: .max) else { return nil }
                bodySize += part.count
                guard bodySize <= maximumBodySize else { throw .bodyTooLarge }
                return .body(part)
            case .ended:
                return nil
            }
        }
    }

    /// Processes the end of the connection; returns ``Event/end`` if that is the end of the response, nil if it had ended before.
    mutating func finish() throws(HTTPViolation) -> Event? {
        switch state {
        case .ended: return nil
        case .untilClose:
            state = .ended
            return .end
        default: throw .incomplete
        }
    }

    /// Decides where the body ends; returns false if another head follows.
    private mutating func endHead() throws(HTTPViolation) -> Bool {
        switch try head.framing() {
        // The sizes of interim heads add up, so that a server cannot send them without end.
        case .interim: state = .statusLine
        case .fixed(let size):
            guard size <= maximumBodySize else { throw .bodyTooLarge }
            state = .fixed(size)
        case .chunked: state = .chunkSize
        case .untilClose: state = .untilClose
        }
        if case .statusLine = state { return false }
        headSize = 0
        return true
    }

    private mutating func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPViolation) -> Int {
        let digits = HTTPSyntax.trimmed(line.prefix { $0 != UInt8(ascii: ";") })
        guard digits.first != UInt8(ascii: "+"), digits.first != UInt8(ascii: "-"), line.first == digits.first,
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .chunkSize }
        guard size <= maximumBodySize - bodySize else { throw .bodyTooLarge }
        bodySize += size
        return size
    }

    private func part(of input: inout ArraySlice<UInt8>, atMost count: Int) -> ArraySlice<UInt8>? {
        let part = input.prefix(count)
        input = input.dropFirst(part.count)
        return part.isEmpty ? nil : part
    }

    /// Removes a line, and returns it without its end.
    private mutating func line(from input: inout ArraySlice<UInt8>) throws(HTTPViolation) -> ArraySlice<UInt8>? {
        let end = input.firstIndex(of: 10)
        let found = input[..<(end.map { $0 + 1 } ?? input.endIndex)]
        guard headSize + partialLine.count + found.count <= maximumHeadSize else { throw .headTooLarge }
        input = input[found.endIndex...]
        guard end != nil else {
            partialLine += found
            return nil
        }
        var line = found
        if !partialLine.isEmpty {
            line = (partialLine + found)[...]
            partialLine = []
        }
        headSize += line.count
        guard line.dropLast().last == 13 else { throw .lineEnd }
        return line.dropLast(2)
    }
}
