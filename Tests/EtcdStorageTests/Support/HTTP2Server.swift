@testable import EtcdStorage

/// An HTTP/2 server on 127.0.0.1 that handles each connection according to a script, request by request.
struct HTTP2Server {
    /// A complete request.
    struct Request {
        let stream: UInt32
        let fields: [HTTPField]
        var body: [UInt8] = []
    }

    /// The server's side of a connection, with blocking calls.
    struct Connection {
        /// The number of the connection, from 0.
        let number: Int
        let peer: HTTP2Peer
        private var requests: [UInt32: Request] = [:]

        fileprivate init(_ peer: HTTP2Peer, number: Int) {
            (self.peer, self.number) = (peer, number)
        }

        /// Receives the next request that ends; nil if the client closed the connection.
        mutating func receiveRequest() -> Request? {
            while let (head, payload) = peer.receive() {
                switch head.kind {
                case .headers:
                    guard let fields = try? HPACK.decode(payload[...]) else { return nil }
                    requests[head.stream] = Request(stream: head.stream, fields: fields)
                case .data:
                    requests[head.stream]?.body += payload
                    if head.flags.contains(.endStream) { return requests.removeValue(forKey: head.stream) }
                default: break
                }
            }
            return nil
        }

        /// Waits until the client resets a stream, and returns its number; nil if the client closed the connection.
        func receiveReset() -> UInt32? {
            peer.receive(.reset)?.head.stream
        }

        /// Waits until the client closes the connection.
        func receiveEnd() {
            while peer.receive() != nil {}
        }

        /// Sends a complete response with trailers.
        func respond(to stream: UInt32, _ body: [UInt8] = []) {
            var frames: [HTTP2Frame] = [.headers(stream, [":status": "200"])]
            for start in stride(from: 0, to: body.count, by: 16_384) { frames.append(.data(stream, Array(body[start...].prefix(16_384)))) }
            send(frames + [.headers(stream, ["grpc-status": "0"], isEnd: true)])
        }

        func send(_ frames: HTTP2Frame...) {
            send(frames)
        }

        func send(_ frames: [HTTP2Frame]) {
            peer.send(frames.bytes)
        }

        /// Ends the output to the client, and waits until it closes the connection.
        func finish() {
            peer.finish()
        }
    }

    let endpoint: Endpoint

    /// Starts to listen.
    ///
    /// - Parameters:
    ///   - settings: those that the server begins with; by default the client may send any number of bytes.
    ///   - window: the bytes that the client may send on the connection in addition to those of the standard.
    ///   - accepts: called with the number of each connection before anything is sent on it; returns whether anything ever is.
    ///   - script: called with each connection, which closes when it returns.
    init(
        _ settings: KeyValuePairs<HTTP2Setting, UInt32> = [.initialWindowSize: UInt32(Int32.max)],
        window: UInt32 = UInt32(Int32.max) - 65_535, accepts: @escaping @Sendable (_ number: Int) -> Bool = { _ in true },
        _ script: @escaping @Sendable (inout Connection) -> Void
    ) throws {
        endpoint = try LoopbackServer { number, peer in
            guard accepts(number) else { return peer.receiveEnd() }
            guard let peer = HTTP2Peer(accepting: peer, settings, window: window) else { return }
            var connection = Connection(peer, number: number)
            script(&connection)
        }.endpoint
    }

    /// Starts to listen, and responds to each request with its body.
    static func echo() throws -> HTTP2Server {
        try HTTP2Server { connection in
            while let request = connection.receiveRequest() { connection.respond(to: request.stream, request.body) }
        }
    }

    func connect(deadline: ContinuousClock.Instant = .distant) async throws(ConnectionError) -> HTTP2Connection {
        try await HTTP2Connection.open(endpoint, deadline: deadline)
    }
}

/// The error of a closure that has to throw one.
func connectionError(of body: () async throws(ConnectionError) -> some Sendable) async throws -> ConnectionError {
    do throws(ConnectionError) {
        _ = try await body()
    } catch {
        return error
    }
    throw MissingError()
}

private struct MissingError: Error {}
