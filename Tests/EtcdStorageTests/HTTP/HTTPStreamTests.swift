import Dispatch
import Testing

@testable import EtcdStorage

@Suite("HTTPStream", .timeLimit(.minutes(10)))
struct HTTPStreamTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private func stream(
        _ server: LoopbackServer, _ body: HTTPRequest.Body = .open(first: []), bufferSize: Int = 1 << 20
    ) async throws -> HTTPStream {
        let connection = try await HTTPConnection.open(server.endpoint, deadline: .distant)
        return try await connection.stream(HTTPRequest(path: "/", body: body), bufferSize: bufferSize, deadline: .distant)
    }

    private func text(of stream: HTTPStream, count: Int) async throws -> String {
        var bytes: [UInt8] = []
        while bytes.count < count, let part = try await stream.next(deadline: .distant) { bytes += part }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Both sides write on an open request, until each ends")
    func duplex() async throws {
        let server = try LoopbackServer { _, peer in
            let head = peer.receive(until: "\r\n\r\n") ?? ""
            guard head.contains("Connection: close\r\n"), head.contains("Transfer-Encoding: chunked\r\n") else { return }
            guard peer.receive(until: "5\r\nfirst\r\n") != nil else { return }
            peer.send(Self.head + "3\r\none\r\n")
            guard peer.receive(until: "6\r\nsecond\r\n") != nil else { return }
            peer.send("3\r\ntwo\r\n")
            guard peer.receive(until: "0\r\n\r\n") != nil else { return }
            peer.send("0\r\n\r\n")
            peer.receiveEnd()
        }
        let stream = try await stream(server, .open(first: Array("first".utf8)))
        #expect(stream.head.status == 200)
        #expect(try await text(of: stream, count: 3) == "one")
        try await stream.write(Array("second".utf8))
        #expect(try await text(of: stream, count: 3) == "two")
        try await stream.finishBody()
        #expect(try await stream.next(deadline: .distant) == nil)
        #expect(try await stream.next(deadline: .distant) == nil)
    }

    @Test("What arrived before a failure is returned before it is thrown")
    func failureAfterParts() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(Self.head + "3\r\none\r\n3\r\ntw")
        }
        let stream = try await stream(server)
        #expect(try await text(of: stream, count: 5) == "onetw")
        for _ in 0..<2 {
            await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .closedByPeer, delivery: .perhapsSent)) {
                try await stream.next(deadline: .distant)
            }
        }
    }

    @Test("A stream keeps no more than its buffer while it is not read, and loses nothing")
    func backPressure() async throws {
        let block = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(64 << 20)\r\n\r\n")
            for _ in 0..<64 { peer.send(block) }
            peer.receiveEnd()
        }
        let stream = try await stream(server, bufferSize: 1 << 18)
        var received = 0
        while let part = try await stream.next(deadline: .distant) {
            #expect(part.count <= 1 << 18 + 65_536)
            let offset = received % block.count
            #expect(part == Array((block[offset...] + block).prefix(part.count)))
            received += part.count
        }
        #expect(received == 64 << 20)
    }

    @Test("A deadline closes the stream")
    func deadline() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(Self.head)
            peer.receiveEnd()
            ended.yield()
        }
        let stream = try await stream(server)
        for _ in 0..<2 {
            await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .deadlineExceeded, delivery: .perhapsSent)) {
                try await stream.next(deadline: .now + .milliseconds(1))
            }
        }
        _ = await ends.first { true }
        await #expect(throws: HTTPError.self) { try await stream.write([1]) }
    }

    @Test("A stream that is released or closed closes its connection", arguments: [false, true])
    func release(isClosed: Bool) async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(Self.head)
            peer.receiveEnd()
            ended.yield()
        }
        let connection = try await HTTPConnection.open(server.endpoint, deadline: .distant)
        var stream: HTTPStream? = try await connection.stream(HTTPRequest(path: "/", body: .open(first: [])), deadline: .distant)
        if isClosed { stream?.close() } else { stream = nil }
        _ = await ends.first { true }
        withExtendedLifetime(stream) {}
    }

    @Test("A stream whose server does not read refuses to keep more than its buffer")
    func sendBuffer() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(Self.head)
            mayEnd.wait()
        }
        defer { mayEnd.signal() }
        let stream = try await stream(server)
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .sendBufferFull, delivery: .perhapsSent)) {
            for _ in 0..<10_000 { try await stream.write(Array(repeating: 1, count: 100_000)) }
        }
    }

    @Test("The body of a refusal can be read")
    func refusal() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
            peer.receiveEnd()
        }
        let stream = try await stream(server)
        #expect(stream.head.status == 401)
        #expect(try await text(of: stream, count: 2) == "no")
        #expect(try await stream.next(deadline: .distant) == nil)
    }
}
