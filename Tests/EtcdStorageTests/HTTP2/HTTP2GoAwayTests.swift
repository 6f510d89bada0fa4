import Testing

@testable import EtcdStorage

@Suite("GOAWAY of a connection", .timeLimit(.minutes(10)))
struct HTTP2GoAwayTests {
    /// A server that answers a request and passes on the payload of its GOAWAY, or nil if the client closed without one.
    private func server(
        _ continuation: AsyncStream<[UInt8]?>.Continuation, violation: HTTP2Frame? = nil
    ) throws -> HTTP2Server {
        try HTTP2Server { connection in
            guard let request = connection.receiveRequest() else { return }
            if let violation { connection.send(violation) } else { connection.respond(to: request.stream) }
            continuation.yield(connection.peer.receive(.goAway)?.payload)
        }
    }

    @Test("A connection that is released tells the server so")
    func release() async throws {
        let (payloads, continuation) = AsyncStream.makeStream(of: [UInt8]?.self)
        var connection: HTTP2Connection? = try await server(continuation).connect()
        #expect(try await connection?.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        connection = nil
        let received = await payloads.first { _ in true }
        #expect(received == HTTP2Frame.goAway(lastStream: 0).payload)
    }

    @Test(
        "A server that violates the protocol gets the code of the violation",
        arguments: [
            (.data(0, [1]), 1), (.number(.windowUpdate, 0), 3), (HTTP2Frame(kind: .ping, payload: [1]), 6),
            (HTTP2Frame(kind: .headers, flags: .endHeaders, stream: 1, payload: [0xFF, 0]), 9),
        ] as [(HTTP2Frame, UInt32)])
    func violation(frame: HTTP2Frame, code: UInt32) async throws {
        let (payloads, continuation) = AsyncStream.makeStream(of: [UInt8]?.self)
        let connection = try await server(continuation, violation: frame).connect()
        await #expect(throws: ConnectionError.self) { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        let received = await payloads.first { _ in true }
        #expect(received == HTTP2Frame.goAway(lastStream: 0, code: code).payload)
    }

    @Test("A server that has closed the connection gets no GOAWAY")
    func closedByPeer() async throws {
        let (payloads, continuation) = AsyncStream.makeStream(of: [UInt8]?.self)
        let server = try LoopbackServer { _, peer in
            guard let connection = HTTP2Peer(accepting: peer) else { return }
            _ = connection.receive(.data)
            peer.finish()
            continuation.yield(connection.receive(.goAway)?.payload)
        }
        let connection = try await HTTP2Connection.open(server.endpoint, deadline: .distant)
        await #expect(throws: ConnectionError.self) { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        let received = await payloads.first { _ in true }
        #expect(received == .some(nil))
    }
}
