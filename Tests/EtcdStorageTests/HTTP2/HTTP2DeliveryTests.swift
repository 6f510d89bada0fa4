import Dispatch
import FoundationSubset
import Testing

@testable import EtcdStorage

@Suite("What a server can know of requests that fail", .timeLimit(.minutes(10)))
struct HTTP2DeliveryTests {
    private func send(on connection: HTTP2Connection, deadline: ContinuousClock.Instant = .distant) async throws -> ConnectionError {
        try await connectionError { () throws(ConnectionError) in
            try await connection.send(HTTPRequest(path: "/"), deadline: deadline)
        }
    }

    // MARK: - Ends

    @Test("A server that closes after it read the request may have executed it", arguments: [false, true])
    func closedAfterRequest(isAnswered: Bool) async throws {
        let server = try HTTP2Server { connection in
            guard let request = connection.receiveRequest() else { return }
            if isAnswered { connection.send(.headers(request.stream, [":status": "200"]), .data(request.stream, [1])) }
            connection.finish()
        }
        let connection = try await server.connect()
        let failed = try await send(on: connection)
        #expect(failed == ConnectionError(endpoint: server.endpoint, reason: .closedByPeer, mayHaveArrived: true))
        #expect(!connection.isUsable)
        let next = try await send(on: connection)
        #expect(next == ConnectionError(endpoint: server.endpoint, reason: .closedByPeer, mayHaveArrived: false))
    }

    @Test("A server cannot execute a request whose end was not sent", arguments: [100, 100_000], [false, true])
    func incomplete(size: Int, isClosed: Bool) async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        // What is more than 64 KB waits for its permission.
        let server = try HTTP2Server([:], window: 0) { connection in
            _ = connection.peer.receive(.data)
            arrived.yield()
            if isClosed { connection.finish() } else { connection.receiveEnd() }
        }
        let connection = try await server.connect()
        let request = Task {
            try await connectionError { () throws(ConnectionError) in
                let body = [UInt8](repeating: 0, count: size)
                return try await connection.send(HTTPRequest(path: "/", body: body), deadline: .distant)
            }
        }
        _ = await arrivals.first { true }
        if !isClosed { request.cancel() }
        #expect(try await request.value.mayHaveArrived == (size == 100))
    }

    @Test("A server that resets the connection may have executed the request")
    func resetConnection() async throws {
        let server = try LoopbackServer { _, peer in
            let connection = HTTP2Peer(accepting: peer)
            _ = connection?.receive(.data)
            peer.reset()
        }
        let connection = try await HTTP2Connection.open(server.endpoint, deadline: .distant)
        let failed = try await send(on: connection)
        #expect(failed.mayHaveArrived)
    }

    @Test("A connection that the server closed while it was idle is not usable, and sends nothing")
    func closedWhileIdle() async throws {
        let server = try HTTP2Server { connection in
            guard let request = connection.receiveRequest() else { return }
            connection.respond(to: request.stream)
            connection.finish()
        }
        let connection = try await server.connect()
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        while connection.isUsable && !Task.isCancelled { await Task.yield() }
        let failed = try await send(on: connection)
        #expect(failed == ConnectionError(endpoint: server.endpoint, reason: .closedByPeer, mayHaveArrived: false))
    }

    @Test("A server that goes away has not looked at the requests after the last one that it names, and answers the others")
    func goAway() async throws {
        let server = try HTTP2Server { connection in
            for _ in 0..<3 { _ = connection.receiveRequest() }
            connection.send(.goAway(lastStream: 3))
            connection.respond(to: 3)
            connection.respond(to: 1)
            connection.finish()
        }
        let connection = try await server.connect()
        let requests = (0..<3).map { _ in
            Task { () async -> Bool? in
                do throws(ConnectionError) {
                    _ = try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
                    return nil
                } catch {
                    return error.mayHaveArrived
                }
            }
        }
        var failures: [Bool?] = []
        for request in requests { failures.append(await request.value) }
        #expect(failures.count { $0 == nil } == 2 && failures.contains(false))
        #expect(!connection.isUsable)
        #expect(try await !send(on: connection).mayHaveArrived)
    }

    @Test("A connection that the server leaves after its last response was given is not used again")
    func goAwayWhileIdle() async throws {
        let server = try HTTP2Server { connection in
            guard let request = connection.receiveRequest() else { return }
            connection.respond(to: request.stream)
            connection.send(.goAway(lastStream: UInt32(Int32.max)))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        while connection.isUsable && !Task.isCancelled { await Task.yield() }
        let failed = try await send(on: connection)
        #expect(failed == ConnectionError(endpoint: server.endpoint, reason: .noFurtherStreams, mayHaveArrived: false))
    }

    @Test(
        "A request that the server refuses was not looked at, one that it gives up otherwise may have been",
        arguments: [
            (HTTP2ErrorCode.refusedStream, false), (HTTP2ErrorCode.cancel, true), (HTTP2ErrorCode.noError, true), (.max, true),
        ])
    func resetStream(code: UInt32, mayHaveArrived: Bool) async throws {
        let server = try HTTP2Server { connection in
            while let request = connection.receiveRequest() {
                if request.stream == 1 { connection.send(.number(.reset, stream: 1, code)) } else { connection.respond(to: request.stream) }
            }
        }
        let connection = try await server.connect()
        let failed = try await send(on: connection)
        #expect(failed == ConnectionError(endpoint: server.endpoint, reason: .reset(code: code), mayHaveArrived: mayHaveArrived))
        #expect(failed.description == "\(server.endpoint): the server reset the stream (code \(code))")
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A complete response counts, although the server resets the stream after it, or sends invalid bytes")
    func resetAfterResponse() async throws {
        let server = try HTTP2Server { connection in
            guard let first = connection.receiveRequest() else { return }
            connection.send(.headers(first.stream, [":status": "200"], isEnd: true), .number(.reset, stream: first.stream, 0))
            guard let second = connection.receiveRequest() else { return }
            connection.send(.headers(second.stream, [":status": "200"], isEnd: true), .data(0, []))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        for _ in 0..<2 { #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200) }
        #expect(!connection.isUsable)
    }

    @Test("Invalid bytes end the connection, and all its requests may have been executed")
    func invalidBytes() async throws {
        let server = try HTTP2Server { connection in
            for _ in 0..<2 { _ = connection.receiveRequest() }
            connection.send(.data(0, [1]))
            connection.receiveEnd()
        }
        let connection = try await server.connect()
        async let first = send(on: connection)
        async let second = send(on: connection)
        for failed in try await [first, second] {
            #expect(failed.reason == .invalidResponse(HTTP2Violation.streamNumber.rawValue) && failed.mayHaveArrived)
        }
        #expect(!connection.isUsable)
    }

    @Test(
        "An invalid response ends its own request only",
        arguments: [
            HTTP2Frame.headers(1, ["a": "b"]), .headers(1, [":status": "100"], isEnd: true), .data(1, [1]), .headers(1, [":status": "no"]),
        ])
    func invalidResponse(frame: HTTP2Frame) async throws {
        let server = try HTTP2Server { connection in
            _ = connection.receiveRequest()
            connection.send(frame)
            // What follows for the stream is passed over.
            connection.send(.headers(1, [":status": "200"], isEnd: true))
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        let failed = try await send(on: connection)
        #expect(failed.reason == .invalidResponse(HTTP2Violation.headerFields.rawValue) && failed.mayHaveArrived)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    // MARK: - Deadlines

    @Test("A deadline that has passed sends nothing and leaves the connection open")
    func passedDeadline() async throws {
        let connection = try await HTTP2Server.echo().connect()
        let failed = try await send(on: connection, deadline: .now)
        #expect(failed.reason == .deadlineExceeded && !failed.mayHaveArrived)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("A deadline before which nothing has arrived closes the connection, without a word about the stream")
    func silentServer() async throws {
        let (frames, received) = AsyncStream.makeStream(of: HTTP2FrameHead.Kind?.self)
        let server = try HTTP2Server { connection in
            while let (head, _) = connection.peer.receive() { received.yield(head.kind) }
            received.finish()
        }
        let connection = try await server.connect()
        let failed = try await timedOut(on: connection)
        #expect(failed.mayHaveArrived)
        #expect(!connection.isUsable)
        #expect(await !frames.contains(.reset))
        withExtendedLifetime(connection) {}
    }

    @Test("A deadline before which something has arrived resets the stream only")
    func slowServer() async throws {
        let server = try HTTP2Server { connection in
            while let request = connection.receiveRequest() {
                guard request.body.isEmpty else {
                    connection.respond(to: request.stream, request.body)
                    continue
                }
                connection.send(HTTP2Frame(kind: .ping, payload: Array(1...8)))
                guard connection.receiveReset() == request.stream else { return }
            }
        }
        // On a busy machine the ping may come too late.
        var time = Duration.milliseconds(5)
        while true {
            let connection = try await server.connect()
            let failed = try await send(on: connection, deadline: .now + time)
            #expect(failed.reason == .deadlineExceeded)
            time *= 2
            guard connection.isUsable, failed.mayHaveArrived else { continue }
            #expect(try await connection.send(HTTPRequest(path: "/", body: [1]), deadline: .distant).body == [1])
            break
        }
    }

    @Test("A server that sends without an end holds up neither requests nor their deadlines")
    func flood() async throws {
        let server = try HTTP2Server([.initialWindowSize: 100], window: 0) { connection in
            let updates = HTTP2Frame.number(.windowUpdate, 1).bytes
            let many = Array(repeating: updates, count: 10_000).flatMap { $0 }
            while connection.peer.send(many) {}
        }
        try await withEnoughTime { time in
            let connection = try await server.connect()
            for _ in 0..<3 {
                let failed = try await send(on: connection, deadline: .now + time)
                #expect(failed.reason == .deadlineExceeded)
            }
            // On a busy machine, nothing may have arrived in that time.
            return connection.isUsable
        }
    }

    @Test("A deadline before which nothing has arrived does not end other calls, whose deadlines are later")
    func otherDeadlines() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let mayRespond = DispatchSemaphore(value: 0)
        let server = try HTTP2Server { connection in
            guard let request = connection.receiveRequest() else { return }
            arrived.yield()
            mayRespond.wait()
            connection.respond(to: request.stream)
            while let request = connection.receiveRequest() { connection.respond(to: request.stream) }
        }
        let connection = try await server.connect()
        async let first = connection.send(HTTPRequest(path: "/"), deadline: .distant)
        _ = await requests.first { true }
        let failed = try await timedOut(on: connection)
        #expect(failed.mayHaveArrived)
        // Others should not try it before it is known to live.
        #expect(!connection.isUsable)
        mayRespond.signal()
        #expect(try await first.status == 200)
        #expect(connection.isUsable)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    /// Sends a request whose deadline passes after it was sent.
    private func timedOut(on connection: HTTP2Connection) async throws -> ConnectionError {
        var time = Duration.milliseconds(1)
        while true {
            let failed = try await send(on: connection, deadline: .now + time)
            #expect(failed.reason == .deadlineExceeded)
            // On a busy machine it may have passed before.
            if failed.mayHaveArrived { return failed }
            time *= 2
        }
    }

    // MARK: - Cancellation

    @Test("A task that was cancelled sends nothing")
    func cancelledBefore() async throws {
        let connection = try await HTTP2Server.echo().connect()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await send(on: connection)
        }
        task.cancel()
        let failed = try await task.value
        #expect(failed.reason == .cancelled && !failed.mayHaveArrived)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
    }

    @Test("Cancelling a task resets its stream, and does nothing to the others")
    func cancelled() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: UInt32?.self)
        let server = try HTTP2Server { connection in
            guard let first = connection.receiveRequest(), let second = connection.receiveRequest() else { return }
            arrived.yield(nil)
            arrived.yield(connection.receiveReset())
            for request in [first, second] { connection.respond(to: request.stream, request.body) }
            while let request = connection.receiveRequest() { connection.respond(to: request.stream, request.body) }
        }
        let connection = try await server.connect()
        async let other = connection.send(HTTPRequest(path: "/", body: [1]), deadline: .distant)
        let task = Task { try await send(on: connection) }
        var iterator = requests.makeAsyncIterator()
        _ = await iterator.next()
        task.cancel()
        let failed = try await task.value
        #expect(failed.reason == .cancelled && failed.mayHaveArrived)
        #expect(await iterator.next() != nil)
        #expect(try await other.body == [1])
        #expect(try await connection.send(HTTPRequest(path: "/", body: [2]), deadline: .distant).body == [2])
    }

    @Test("A cancellation that comes after the response does not end the next request")
    func lateCancellation() async throws {
        let connection = try await HTTP2Server.echo().connect()
        for _ in 0..<200 {
            let task = Task { try await connection.send(HTTPRequest(path: "/"), deadline: .distant) }
            _ = try await task.value
            task.cancel()
            #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        }
    }
}
