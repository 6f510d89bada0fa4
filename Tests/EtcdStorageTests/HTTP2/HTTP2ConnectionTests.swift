import Dispatch
import Testing

@testable import EtcdStorage

@Suite("HTTP2Connection", .timeLimit(.minutes(10)))
struct HTTP2ConnectionTests {
    /// Bytes of which some tell where they are, so that parts cannot be exchanged.
    private func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 1, count: count)
        for (number, index) in stride(from: 0, to: count, by: 100).enumerated() { bytes[index] = UInt8(truncatingIfNeeded: number &* 31) }
        return bytes
    }

    @Test("A request arrives with its fields and body, and its response comes back with trailers")
    func request() async throws {
        let (requests, request) = AsyncStream.makeStream(of: HTTP2Server.Request.self)
        let server = try HTTP2Server { connection in
            guard let received = connection.receiveRequest() else { return }
            request.yield(received)
            connection.send(
                .headers(received.stream, [":status": "200", "a": "b"]), .data(received.stream, [3]), .data(received.stream, [4]),
                .headers(received.stream, ["grpc-status": "0"], isEnd: true))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        #expect(connection.isUsable)
        let sent = HTTPRequest(path: "/a/b", fields: [HTTPField(name: "x", value: "y")], body: [1, 2])
        let response = try await connection.send(sent, deadline: .distant)
        #expect(response.status == 200 && response.fields["a"] == "b" && response.body == [3, 4])
        #expect(response.trailers == [HTTPField(name: "grpc-status", value: "0")])
        let received = try #require(await requests.first { _ in true })
        let fields = [":method": "POST", ":scheme": "http", ":path": "/a/b", ":authority": "\(server.endpoint)", "x": "y"]
        #expect(Dictionary(uniqueKeysWithValues: received.fields.map { ($0.name, $0.value) }) == fields)
        #expect(received.body == [1, 2])
    }

    @Test("A connection serves one request after the other")
    func keepAlive() async throws {
        let server = try HTTP2Server { connection in
            while let request = connection.receiveRequest() { connection.respond(to: request.stream, [UInt8(connection.number)]) }
        }
        let connection = try await server.connect()
        for _ in 0..<100 {
            #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).body == [0])
            #expect(connection.isUsable)
        }
    }

    @Test("A hundred requests at once are answered in any order on one connection")
    func simultaneous() async throws {
        let server = try HTTP2Server { connection in
            var requests: [HTTP2Server.Request] = []
            while requests.count < 100, let request = connection.receiveRequest() { requests.append(request) }
            for request in requests.reversed() { connection.respond(to: request.stream, request.body + [UInt8(connection.number)]) }
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 as Range<UInt8> {
                group.addTask {
                    let response = try await connection.send(HTTPRequest(path: "/", body: [number]), deadline: .distant)
                    #expect(response.body == [number, 0])
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A large request is sent whole while the server allows a little at a time")
    func largeRequest() async throws {
        let server = try HTTP2Server([.initialWindowSize: 50_000], window: 0) { connection in
            var body: [UInt8] = []
            while let (head, payload) = connection.peer.receive(.data) {
                body += payload
                if head.flags.contains(.endStream) { break }
                guard !payload.isEmpty else { continue }
                let count = UInt32(payload.count)
                connection.send(.number(.windowUpdate, count), .number(.windowUpdate, stream: head.stream, count))
            }
            connection.respond(to: 1, body)
            connection.receiveEnd()
        }
        let body = bytes(1_500_000)
        let connection = try await server.connect()
        #expect(try await connection.send(HTTPRequest(path: "/", body: body), deadline: .distant).body == body)
    }

    @Test("A large request is sent whole while the server is slow to read it")
    func slowServer() async throws {
        let mayRead = DispatchSemaphore(value: 0)
        let server = try HTTP2Server { connection in
            mayRead.wait()
            while let request = connection.receiveRequest() { connection.respond(to: request.stream, Array("\(request.body.count)".utf8)) }
        }
        let connection = try await server.connect()
        async let response = connection.send(HTTPRequest(path: "/", body: Array(repeating: 1, count: 20_000_000)), deadline: .distant)
        mayRead.signal()
        #expect(try await response.body == Array("20000000".utf8))
    }

    @Test("A large response arrives whole, and one over the limit fails its own call only")
    func largeResponse() async throws {
        let body = bytes(5_000_000)
        let server = try HTTP2Server { connection in
            while let request = connection.receiveRequest() { connection.respond(to: request.stream, body) }
        }
        let connection = try await server.connect()
        #expect(try await connection.send(HTTPRequest(path: "/"), maximumBodySize: body.count, deadline: .distant).body == body)
        async let other = connection.send(HTTPRequest(path: "/"), deadline: .distant)
        let failed = try await connectionError { () throws(ConnectionError) in
            try await connection.send(HTTPRequest(path: "/"), maximumBodySize: body.count - 1, deadline: .distant)
        }
        #expect(failed.reason == .responseTooLarge && failed.mayHaveArrived)
        #expect(try await other.body == body)
        #expect(connection.isUsable)
    }

    @Test("A request with characters that are not allowed is not sent", arguments: ["a\r\nb", "a\n", "a\u{0}", "a\u{7F}"])
    func invalidRequest(value: String) async throws {
        let connection = try await HTTP2Server.echo().connect()
        let requests = [
            HTTPRequest(path: "/", fields: [HTTPField(name: "x", value: value)]), HTTPRequest(path: "/" + value),
            HTTPRequest(path: "/", fields: [HTTPField(name: value, value: "")]), HTTPRequest(path: "/ "),
            HTTPRequest(path: "/", fields: [HTTPField(name: "Upper", value: "")]),
            HTTPRequest(path: "/", fields: [HTTPField(name: "", value: "")]),
        ]
        for request in requests {
            let failed = try await connectionError { () throws(ConnectionError) in try await connection.send(request, deadline: .distant) }
            #expect(failed.reason == .invalidRequest && !failed.mayHaveArrived)
        }
        #expect(try await connection.send(HTTPRequest(path: "/", body: [1]), deadline: .distant).body == [1])
    }

    @Test("A response before the end of its request is received, and the rest is not sent")
    func earlyResponse() async throws {
        let (resets, reset) = AsyncStream.makeStream(of: UInt32?.self)
        let server = try HTTP2Server([.initialWindowSize: 10]) { connection in
            _ = connection.peer.receive(.data)
            connection.send(.headers(1, [":status": "200"]), .headers(1, ["grpc-status": "8"], isEnd: true))
            reset.yield(connection.receiveReset())
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        let response = try await connection.send(HTTPRequest(path: "/", body: bytes(100)), deadline: .distant)
        #expect(response.trailers?["grpc-status"] == "8")
        #expect(await resets.first { _ in true } == 1)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A server that limits the streams is not asked for more of them until one has ended")
    func streamLimit() async throws {
        let mayRespond = DispatchSemaphore(value: 0)
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try HTTP2Server([.maximumStreams: 1, .initialWindowSize: 100]) { connection in
            while let request = connection.receiveRequest() {
                arrived.yield()
                mayRespond.wait()
                connection.respond(to: request.stream)
            }
        }
        let connection = try await server.connect()
        async let first = connection.send(HTTPRequest(path: "/"), deadline: .distant)
        _ = await requests.first { true }
        #expect(!connection.isUsable)
        let failed = try await connectionError { () throws(ConnectionError) in
            try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        }
        #expect(failed.reason == .noFurtherStreams && !failed.mayHaveArrived)
        mayRespond.signal()
        #expect(try await first.status == 200)
        #expect(connection.isUsable)
        mayRespond.signal()
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A connection that is released closes, a hundred times")
    func release() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Int.self)
        let server = try HTTP2Server { connection in
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
            ended.yield(connection.number)
        }
        var iterator = ends.makeAsyncIterator()
        for number in 0..<100 {
            weak var released: HTTP2Connection?
            do {
                let connection = try await server.connect()
                released = connection
                if number.isMultiple(of: 2) { _ = try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
            }
            #expect(await iterator.next() == number)
            #expect(released == nil)
        }
    }
}
