import Dispatch
import FoundationSubset
import Testing

@testable import EtcdStorage

@Suite("HTTPConnection", .timeLimit(.minutes(10)))
struct HTTPConnectionTests {
    private let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"

    private func open(_ server: LoopbackServer) async throws(HTTPError) -> HTTPConnection {
        try await HTTPConnection.open(server.endpoint, deadline: .distant)
    }

    /// The error of a closure that has to throw one.
    private func error(of body: () async throws(HTTPError) -> some Sendable) async throws -> HTTPError {
        do throws(HTTPError) {
            _ = try await body()
        } catch {
            return error
        }
        throw MissingError()
    }

    private struct MissingError: Error {}

    // MARK: - Requests

    @Test("A request arrives with its fields and body")
    func request() async throws {
        let server = try LoopbackServer { _, peer in
            guard let (head, body) = peer.receiveRequest() else { return }
            let text = head + String(decoding: body, as: UTF8.self)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n" + text)
        }
        let connection = try await open(server)
        let request = HTTPRequest(path: "/a?b", fields: [HTTPField(name: "X", value: "y")], body: .complete([0x61, 0x62]))
        let response = try await connection.send(request, deadline: .distant)
        let expected = "POST /a?b HTTP/1.1\r\nHost: \(server.endpoint)\r\nX: y\r\nContent-Length: 2\r\n\r\nab"
        #expect(String(decoding: response.body, as: UTF8.self) == expected)
    }

    @Test("A connection serves many requests")
    func keepAlive() async throws {
        let server = try LoopbackServer { number, peer in
            while peer.receiveRequest() != nil { peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)") }
        }
        let connection = try await open(server)
        for _ in 0..<100 {
            let response = try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
            #expect(response.body == [0x30])
            #expect(connection.isReusable)
        }
    }

    @Test("A large body arrives whole, with a length and in chunks", arguments: [false, true])
    func largeBody(isChunked: Bool) async throws {
        let body = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            if isChunked {
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for start in stride(from: 0, to: body.count, by: 70_000) {
                    peer.send(HTTPChunk.encoded(Array(body[start...].prefix(70_000))))
                }
                peer.send(HTTPChunk.last)
            } else {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                peer.send(body)
            }
            peer.receiveEnd()
        }
        let connection = try await open(server)
        let response = try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        #expect(response.body == body)
        #expect(connection.isReusable)
    }

    @Test("A large request is sent whole while the server is slow to read it")
    func largeRequest() async throws {
        let mayRead = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _, peer in
            mayRead.wait()
            let size = peer.receiveRequest()?.body.count ?? 0
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n\(size)")
        }
        let connection = try await open(server)
        async let response = connection.send(
            HTTPRequest(path: "/", body: .complete(Array(repeating: 1, count: 20_000_000))), deadline: .distant)
        mayRead.signal()
        #expect(try await response.body == Array("20000000".utf8))
    }

    @Test("A body over the limit closes the connection")
    func bodyLimit() async throws {
        let connection = try await open(LoopbackServer(responding: hello))
        let failed = try await error { () throws(HTTPError) in
            try await connection.send(HTTPRequest(path: "/"), maximumBodySize: 4, deadline: .distant)
        }
        #expect(failed.reason == .invalidResponse(.bodyTooLarge) && failed.delivery == .perhapsSent)
        #expect(!connection.isReusable)
    }

    @Test("A request that would end its head early is not sent", arguments: ["a\r\nb", "a\nb", "a\u{0}"])
    func injection(value: String) async throws {
        let connection = try await open(LoopbackServer(responding: hello))
        for request in [HTTPRequest(path: "/", fields: [HTTPField(name: "X", value: value)]), HTTPRequest(path: "/" + value)] {
            let failed = try await error { () throws(HTTPError) in try await connection.send(request, deadline: .distant) }
            #expect(failed.reason == .invalidRequest && failed.delivery == .nothingSent)
        }
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A second call while one waits is refused without an effect on the first")
    func busy() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let mayRespond = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            arrived.yield()
            mayRespond.wait()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            peer.receiveEnd()
        }
        let connection = try await open(server)
        async let first = connection.send(HTTPRequest(path: "/"), deadline: .distant)
        _ = await requests.first { true }
        #expect(!connection.isReusable)
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        #expect(failed.reason == .busy && failed.delivery == .nothingSent)
        mayRespond.signal()
        #expect(try await first.status == 200)
        #expect(connection.isReusable)
    }

    // MARK: - Ends

    @Test("A response that lasts until the end is complete, and the connection is not reused")
    func untilClose() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.send("HTTP/1.1 200 OK\r\n\r\nall")
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).body == Array("all".utf8))
        #expect(!connection.isReusable)
    }

    @Test(
        "A server that closes after it read the request may have executed it",
        arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"])
    func closedAfterRequest(response: String) async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.send(response)
        }
        let connection = try await open(server)
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        #expect(failed.reason == .closedByPeer && failed.delivery == .perhapsSent)
    }

    @Test("A server that resets the connection may have executed the request")
    func reset() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.reset()
        }
        let connection = try await open(server)
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        #expect(failed.delivery == .perhapsSent)
    }

    @Test("A connection that the server closed while it was idle is not reusable, and sends nothing")
    func closedWhileIdle() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let response = hello
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.send(response)
            // The client reads the response and the end together or one after the other.
            ended.yield()
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        _ = await ends.first { true }
        while connection.isReusable && !Task.isCancelled { await Task.yield() }
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        #expect(failed.reason == .closedByPeer && failed.delivery == .nothingSent)
    }

    @Test("A response that nobody asked for closes the connection before it could answer the next request")
    func unrequestedResponse() async throws {
        let response = hello
        let server = try LoopbackServer { _, peer in
            while peer.receiveRequest() != nil { peer.send(response + response) }
        }
        let connection = try await open(server)
        let failed = try await error { () throws(HTTPError) in
            _ = try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
            return try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        }
        #expect(failed.reason == .invalidResponse(.surplus))
    }

    @Test("Bytes that come while nothing was asked for close the connection, and the next request is not sent")
    func bytesWhileIdle() async throws {
        let (sends, sent) = AsyncStream.makeStream(of: Void.self)
        let isIdle = DispatchSemaphore(value: 0)
        let response = hello
        let server = try LoopbackServer { _, peer in
            while peer.receiveRequest() != nil {
                peer.send(response)
                isIdle.wait()
                peer.send(response)
                sent.yield()
            }
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        isIdle.signal()
        _ = await sends.first { true }
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        #expect(failed.reason == .invalidResponse(.surplus) && failed.delivery == .nothingSent)
    }

    @Test("A connection that the server wants to be closed is closed, although the server does not")
    func announcedClose() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            peer.receiveEnd()
            ended.yield()
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        #expect(!connection.isReusable)
        _ = await ends.first { true }
        withExtendedLifetime(connection) {}
    }

    @Test("A response before the end of the request is received, and the connection is not reused")
    func earlyResponse() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
            mayEnd.wait()
        }
        defer { mayEnd.signal() }
        let connection = try await open(server)
        // More than the system buffers, so that a part is still waiting.
        let request = HTTPRequest(path: "/", body: .complete(Array(repeating: 1, count: 50_000_000)))
        #expect(try await connection.send(request, deadline: .distant).status == 413)
        #expect(!connection.isReusable)
    }

    @Test("A response is received although the server has closed the connection before it read the request")
    func responseAfterClose() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/", body: .complete([1])), deadline: .distant).status == 400)
        #expect(!connection.isReusable)
    }

    @Test("Closing makes the waiting call fail")
    func close() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            arrived.yield()
            peer.receiveEnd()
        }
        let connection = try await open(server)
        let task = Task { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        _ = await requests.first { true }
        connection.close()
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .closed, delivery: .perhapsSent)) { try await task.value }
    }

    // MARK: - Deadlines and cancellation

    @Test("A deadline closes the connection")
    func deadline() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            peer.receiveEnd()
            ended.yield()
        }
        let connection = try await open(server)
        var time = Duration.milliseconds(1)
        while true {
            let failed = try await error { () throws(HTTPError) in
                try await connection.send(HTTPRequest(path: "/"), deadline: .now + time)
            }
            #expect(failed.reason == .deadlineExceeded)
            // On a busy machine it may have passed before anything was sent.
            if failed.delivery == .perhapsSent { break }
            time *= 2
        }
        #expect(!connection.isReusable)
        _ = await ends.first { true }
    }

    @Test("A deadline that has passed sends nothing and leaves the connection open")
    func passedDeadline() async throws {
        let connection = try await open(LoopbackServer(responding: hello))
        let failed = try await error { () throws(HTTPError) in try await connection.send(HTTPRequest(path: "/"), deadline: .now) }
        #expect(failed.reason == .deadlineExceeded && failed.delivery == .nothingSent)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("Cancelling a task closes the connection")
    func cancellation() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            arrived.yield()
            peer.receiveEnd()
            arrived.yield()
        }
        let connection = try await open(server)
        let task = Task { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
        var iterator = requests.makeAsyncIterator()
        await iterator.next()
        task.cancel()
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .cancelled, delivery: .perhapsSent)) { try await task.value }
        await iterator.next()
    }

    @Test("A cancellation that comes after the response does not end the next request of the connection")
    func lateCancellation() async throws {
        let connection = try await open(LoopbackServer(responding: hello))
        for _ in 0..<200 {
            let task = Task { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
            _ = try await task.value
            task.cancel()
            #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        }
    }

    // MARK: - Opening

    @Test("A port on which nobody listens is an error of which nothing was sent")
    func refused() async throws {
        // The port of a server that has gone may be taken by another test, so one that never listens is used.
        let endpoint = HTTPEndpoint(host: "127.0.0.1", port: 1)
        let failed = try await error { () throws(HTTPError) in try await HTTPConnection.open(endpoint, deadline: .distant) }
        #expect(failed.reason == .socket(SocketError(call: "connect", code: ECONNREFUSED)) && failed.delivery == .nothingSent)
    }

    @Test("A name is resolved, and each of its addresses is tried")
    func name() async throws {
        let server = try LoopbackServer(responding: hello)
        // It may also mean the IPv6 address, where nobody listens.
        let endpoint = HTTPEndpoint(host: "localhost", port: server.endpoint.port)
        let connection = try await HTTPConnection.open(endpoint, deadline: .distant)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A name without an address is an error that tells the reason")
    func unknownName() async throws {
        let failed = try await error { () throws(HTTPError) in
            try await HTTPConnection.open(HTTPEndpoint(host: "no such host", port: 1), deadline: .distant)
        }
        guard case .unknownHost = failed.reason else { throw failed }
    }

    @Test("An endpoint with an IPv6 address is written with brackets")
    func endpointDescription() {
        #expect(HTTPEndpoint(host: "::1", port: 2379).description == "[::1]:2379")
        #expect(HTTPEndpoint(host: "etcd", port: 2379).description == "etcd:2379")
    }

    // MARK: - Lifetime

    @Test("A connection that is released closes, a thousand times")
    func release() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Int.self)
        let response = hello
        let server = try LoopbackServer { number, peer in
            while peer.receiveRequest() != nil { peer.send(response) }
            ended.yield(number)
        }
        var iterator = ends.makeAsyncIterator()
        for number in 0..<1000 {
            weak var released: HTTPConnection?
            do {
                let connection = try await open(server)
                released = connection
                if number.isMultiple(of: 2) { _ = try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
            }
            #expect(await iterator.next() == number)
            #expect(released == nil)
        }
    }
}
