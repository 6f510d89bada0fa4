import Dispatch
import Testing

@testable import EtcdStorage

@Suite("HTTP2Stream", .timeLimit(.minutes(10)))
struct HTTP2StreamTests {
    private func stream(on connection: HTTP2Connection, _ body: [UInt8] = [1]) async throws(ConnectionError) -> HTTP2Stream {
        try await connection.stream(HTTPRequest(path: "/", body: body), deadline: .distant)
    }

    private func stream(_ server: HTTP2Server) async throws(ConnectionError) -> HTTP2Stream {
        try await stream(on: server.connect())
    }

    /// The next bytes, which may come in several parts.
    private func read(_ count: Int, from stream: HTTP2Stream) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += try await stream.next(deadline: .distant).bytes }
        return bytes
    }

    private static func head(_ stream: UInt32) -> HTTP2Frame { .headers(stream, [":status": "200", "a": "b"]) }

    @Test("Both sides send as long as the stream is open")
    func duplex() async throws {
        let server = try HTTP2Server { connection in
            guard let (first, payload) = connection.peer.receive(.data), payload == [1], first.flags == [] else { return }
            connection.send(Self.head(1), .data(1, [2]))
            while let (_, payload) = connection.peer.receive(.data) {
                connection.send(.data(1, payload))
                if payload == [99] { connection.send(.headers(1, ["grpc-status": "0"], isEnd: true)) }
            }
        }
        let stream = try await stream(server)
        #expect(stream.status == 200 && stream.fields["a"] == "b")
        #expect(try await read(1, from: stream) == [2])
        for number in 0..<100 as Range<UInt8> {
            try await stream.write([number])
            #expect(try await read(1, from: stream) == [number])
        }
        for _ in 0..<2 {
            let (bytes, trailers) = try await stream.next(deadline: .distant)
            #expect(bytes.isEmpty && trailers == [HTTPField(name: "grpc-status", value: "0")])
        }
    }

    @Test("Writes arrive whole and in order while the server allows a little at a time, and other calls go on")
    func slowWrites() async throws {
        let server = try HTTP2Server([.initialWindowSize: 1_000]) { connection in
            var body: [UInt8] = []
            while let (head, payload) = connection.peer.receive(.data) {
                if head.flags.contains(.endStream) {
                    connection.respond(to: head.stream)
                    continue
                }
                if body.isEmpty { connection.send(Self.head(1)) }
                body += payload
                connection.send(.number(.windowUpdate, stream: 1, UInt32(payload.count)))
                if body.count == 200_001 { connection.peer.send(.data, stream: 1, body) }
            }
        }
        let connection = try await server.connect()
        let stream = try await stream(on: connection)
        for number in 0..<200 { try await stream.write(Array(repeating: UInt8(number), count: 1_000)) }
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        #expect(try await read(200_001, from: stream) == [1] + (0..<200).flatMap { Array(repeating: UInt8($0), count: 1_000) })
    }

    @Test("A response may be a head only, and a refusal has a body that can be read")
    func refusals() async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(.headers(1, [":status": "200", "grpc-status": "7"], isEnd: true))
            _ = connection.peer.receive(.data)
            connection.send(.headers(3, [":status": "401"]), .data(3, [1, 2], isEnd: true))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        let first = try await stream(on: connection)
        #expect(first.fields["grpc-status"] == "7")
        #expect(try await first.next(deadline: .distant).trailers == first.fields)
        let second = try await stream(on: connection)
        #expect(second.status == 401)
        #expect(try await read(2, from: second) == [1, 2])
        #expect(try await second.next(deadline: .distant).trailers == [])
    }

    @Test("What arrived before a failure is returned before it is thrown, whatever ends the stream", arguments: [false, true])
    func failureAfterParts(isReset: Bool) async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1), .data(1, [1]), .data(1, [2]))
            if isReset { connection.send(.number(.reset, stream: 1, 2)) }
            connection.finish()
        }
        let stream = try await stream(server)
        #expect(try await read(2, from: stream) == [1, 2])
        let reason = isReset ? ConnectionError.Reason.reset(code: 2) : .closedByPeer
        let failure = ConnectionError(endpoint: server.endpoint, reason: reason, mayHaveArrived: true)
        for _ in 0..<2 {
            await #expect(throws: failure) { try await stream.next(deadline: .distant) }
            await #expect(throws: failure) { try await stream.write([1]) }
        }
    }

    @Test("The server can refuse a stream before its head")
    func refusedStream() async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(.number(.reset, stream: 1, HTTP2ErrorCode.refusedStream))
            connection.receiveEnd()
        }
        let reason = ConnectionError.Reason.reset(code: HTTP2ErrorCode.refusedStream)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: reason, mayHaveArrived: false)) {
            try await stream(server)
        }
    }

    // MARK: - Back pressure

    @Test("A stream that is not read stops its server after a window, while other calls go on, and loses nothing")
    func backPressure() async throws {
        let (stops, stopped) = AsyncStream.makeStream(of: Void.self)
        // Of which some tell where they are.
        var block = [UInt8](repeating: 1, count: 4 << 20)
        for (number, index) in stride(from: 0, to: block.count, by: 1_000).enumerated() {
            block[index] = UInt8(truncatingIfNeeded: number &* 31)
        }
        let server = try HTTP2Server { [block] connection in
            var (sent, window) = (0, 1 << 20)
            while let (head, payload) = connection.peer.receive() {
                switch head.kind {
                case .data where head.stream == 1: connection.send(Self.head(1))
                case .data: connection.respond(to: head.stream)
                case .windowUpdate where head.stream == 1: window += Int(payload.bigEndian)
                default: continue
                }
                while window > 0, sent < block.count {
                    let part = block[sent...].prefix(min(window, 16_384))
                    connection.send(.data(1, Array(part)))
                    (sent, window) = (sent + part.count, window - part.count)
                }
                stopped.yield()
            }
        }
        let connection = try await server.connect()
        let stream = try await stream(on: connection)
        _ = await stops.first { true }
        for _ in 0..<10 { #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200) }
        var received: [UInt8] = []
        while received.count < block.count {
            let part = try await stream.next(deadline: .distant).bytes
            #expect(part.count <= 1 << 20)
            received += part
        }
        #expect(received == block)
    }

    @Test("A server that sends more than it was allowed ends the connection")
    func exceededWindow() async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send([Self.head(1)] + Array(repeating: .data(1, Array(repeating: 1, count: 16_384)), count: 65))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        let stream = try await stream(on: connection)
        while connection.isUsable && !Task.isCancelled { await Task.yield() }
        #expect(try await read(1 << 20, from: stream).count == 1 << 20)
        let reason = ConnectionError.Reason.invalidResponse(HTTP2Violation.windowOverflow.rawValue)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: reason, mayHaveArrived: true)) {
            try await stream.next(deadline: .distant)
        }
    }

    @Test("A stream whose server allows no more refuses to keep more than its buffer")
    func sendBuffer() async throws {
        let server = try HTTP2Server([.initialWindowSize: 10]) { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        let stream = try await stream(on: connection)
        for _ in 0..<10 { try await stream.write(Array(repeating: 1, count: 100_000)) }
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .sendBufferFull, mayHaveArrived: true)) {
            try await stream.write(Array(repeating: 1, count: 100_000))
        }
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A connection whose server does not read ends when too much waits to be sent")
    func unreadConnection() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            mayEnd.wait()
        }
        defer { mayEnd.signal() }
        let stream = try await stream(server)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .sendBufferFull, mayHaveArrived: true)) {
            for _ in 0..<1_000 { try await stream.write(Array(repeating: 1, count: 1_000_000)) }
        }
    }

    // MARK: - Ends

    @Test("A stream that is released or closed is reset, and its connection stays", arguments: [false, true])
    func release(isClosed: Bool) async throws {
        let (resets, reset) = AsyncStream.makeStream(of: UInt32?.self)
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            reset.yield(connection.receiveReset())
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        var stream: HTTP2Stream? = try await stream(on: connection)
        if isClosed { stream?.close() } else { stream = nil }
        #expect(await resets.first { _ in true } == 1)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        withExtendedLifetime(stream) {}
    }

    @Test("Closing a stream makes the waiting call and all later ones fail")
    func closeWhileWaiting() async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            connection.receiveEnd()
        }
        let stream = try await stream(server)
        let failure = ConnectionError(endpoint: server.endpoint, reason: .closed, mayHaveArrived: true)
        let next = Task { try await stream.next(deadline: .distant) }
        stream.close()
        await #expect(throws: failure) { try await next.value }
        await #expect(throws: failure) { try await stream.next(deadline: .distant) }
        await #expect(throws: failure) { try await stream.write([1]) }
    }

    @Test("A connection lives as long as one of its streams")
    func streamKeepsConnection() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            _ = connection.peer.receive(.data)
            connection.send(.data(1, [1]))
            connection.receiveEnd()
            ended.yield()
        }
        var stream: HTTP2Stream? = try await stream(server)
        try await stream?.write([1])
        #expect(try await stream?.next(deadline: .distant).bytes == [1])
        stream = nil
        _ = await ends.first { true }
    }

    @Test("Cancelling a call that waits resets the stream at once, and ends other calls")
    func cancellation() async throws {
        let (resets, reset) = AsyncStream.makeStream(of: UInt32?.self)
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            reset.yield(connection.receiveReset())
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        let stream = try await stream(on: connection)
        let other = Task { try await stream.next(deadline: .distant) }
        let task = Task { try await stream.next(deadline: .distant) }
        task.cancel()
        let failure = ConnectionError(endpoint: server.endpoint, reason: .cancelled, mayHaveArrived: true)
        for call in [task, other] { await #expect(throws: failure) { try await call.value } }
        #expect(await resets.first { _ in true } == 1)
        await #expect(throws: failure) { try await stream.write([1]) }
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A deadline before which nothing has arrived ends the stream, and the connection if nobody else uses it")
    func deadline() async throws {
        let (ends, ended) = AsyncStream.makeStream(of: Void.self)
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            connection.receiveEnd()
            ended.yield()
        }
        let stream = try await stream(server)
        let failure = ConnectionError(endpoint: server.endpoint, reason: .deadlineExceeded, mayHaveArrived: true)
        for _ in 0..<2 { await #expect(throws: failure) { try await stream.next(deadline: .now + .milliseconds(1)) } }
        _ = await ends.first { true }
        await #expect(throws: failure) { try await stream.write([1]) }
    }

    @Test("Several calls may wait, and each part is received once")
    func severalCalls() async throws {
        let server = try HTTP2Server { connection in
            _ = connection.peer.receive(.data)
            connection.send(Self.head(1))
            for number in 0..<20_000 { connection.send(.data(1, [UInt8(number % 250)])) }
            connection.send(.data(1, [], isEnd: true))
            connection.receiveEnd()
        }
        let stream = try await stream(server)
        let parts = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<3 {
                group.addTask {
                    var bytes: [UInt8] = []
                    while true {
                        let (part, trailers) = try await stream.next(deadline: .distant)
                        bytes += part
                        if trailers != nil { return bytes }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(parts.sorted() == (0..<20_000).map { UInt8($0 % 250) }.sorted())
    }
}
