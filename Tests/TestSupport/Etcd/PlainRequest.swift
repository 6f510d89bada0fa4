import Foundation

/// One HTTP request without any code of the library's, with which tests prepare and inspect servers.
public struct PlainRequest: Sendable {
    /// The answer to a request.
    public struct Answer: Sendable {
        /// The HTTP status.
        public let status: Int
        /// The body.
        public let body: String
    }

    /// An answer that is not HTTP: mostly none, from a server that is shutting down.
    public struct Malformed: Error {
        /// What was received.
        let text: String
    }

    private let path: String
    private let body: String?
    private let token: String?
    private let timeout: Duration

    /// - Parameters:
    ///   - path: the path on the server.
    ///   - body: the body; nil to get instead of to post.
    ///   - token: a token of etcd's authentication.
    ///   - timeout: how long to wait for each read.
    public init(path: String, body: String? = nil, token: String? = nil, timeout: Duration = .seconds(10)) {
        (self.path, self.body, self.token, self.timeout) = (path, body, token, timeout)
    }

    /// Sends it to a port of this machine.
    public func send(to port: Int) async throws -> Answer {
        try await onThread { try sendBlocking(to: port) }
    }

    /// Sends it, and blocks the thread until the answer.
    func sendBlocking(to port: Int) throws -> Answer {
        let socket = try LoopbackSocket.connected(to: port, timeout: timeout)
        // HTTP/1.0, so that the server neither divides its answer into chunks nor keeps the connection.
        var head = "\(body == nil ? "GET" : "POST") \(path) HTTP/1.0\r\nHost: localhost\r\n"
        if let token { head += "Authorization: \(token)\r\n" }
        if let body { head += "Content-Length: \(body.utf8.count)\r\n" }
        try socket.write(Array("\(head)\r\n\(body ?? "")".utf8))
        var received: [UInt8] = []
        while case let bytes = try socket.read(), !bytes.isEmpty { received += bytes }
        let text = String(decoding: received, as: UTF8.self)
        let words = text.prefix { !$0.isNewline }.split(separator: " ")
        guard let headEnd = text.range(of: "\r\n\r\n"), words.count > 1, let status = Int(words[1]) else { throw Malformed(text: text) }
        return Answer(status: status, body: String(text[headEnd.upperBound...]))
    }
}
