/// A line of an answer that is a stream: a result, or the error that ends it.
enum StreamMessage<Result: JSONReadable>: Sendable {
    /// A result.
    case result(Result)
    /// The end of the stream, and its reason.
    case failure(EtcdFailure)
}

extension StreamMessage: Equatable where Result: Equatable {}

extension StreamMessage: JSONReadable {
    init(from scanner: inout JSONScanner) throws(JSONError) {
        let start = scanner.offset
        var whole = scanner
        var message: StreamMessage?
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            switch name {
            case "result": message = .result(try Result(from: &scanner))
            case "error" where message == nil:
                // The other members of the object belong to the error in some shapes.
                message = .failure(try EtcdFailure(from: &whole))
                try scanner.skip()
            default: try scanner.skip()
            }
        }
        guard let message else { throw JSONError(offset: start, reason: "a result or an error was expected") }
        self = message
    }

    /// Reads a line.
    ///
    /// - Throws: ``EtcdFailure`` if it cannot be read.
    init(line: [UInt8]) throws(EtcdFailure) {
        do throws(JSONError) {
            try self.init(json: line)
        } catch {
            throw EtcdFailure(malformed: error, httpStatus: nil)
        }
    }
}

/// Divides the bytes of a stream into lines, wherever the pieces in which they arrive end.
struct LineSplitter: Sendable {
    private var rest: [UInt8] = []

    /// Adds bytes, and returns the lines that are complete, without their line feeds; empty lines are left out.
    mutating func append(_ bytes: [UInt8]) -> [[UInt8]] {
        var lines: [[UInt8]] = []
        // Only new bytes are searched: a line of many pieces takes linear time.
        var remaining = bytes[...]
        while let end = remaining.firstIndex(of: 0x0A) {
            rest += remaining[..<end]
            remaining = remaining[(end + 1)...]
            if let line = finish() { lines.append(line) }
        }
        rest += remaining
        return lines
    }

    /// Returns the last line at the end of the stream; nil if it is empty. The error that ends a stream has no line feed.
    mutating func finish() -> [UInt8]? {
        defer { rest = [] }
        return rest.isEmpty ? nil : rest
    }
}
