import Dispatch
import Testing

@testable import EtcdStorage

@Suite("The filter of an HTTP connection", .timeLimit(.minutes(10)))
struct HTTPFilterTests {
    /// Says hello, waits for a welcome, and then inverts all bytes.
    private struct Inverter: ByteFilter {
        struct Refused: Error, CustomStringConvertible {
            let description = "no welcome"
        }

        var output = Array("hello\n".utf8)
        var input: [UInt8] = []
        var isReady = false

        mutating func takePendingOutput() -> [UInt8] {
            defer { output = [] }
            return output
        }

        mutating func received(_ bytes: [UInt8]) throws -> [UInt8] {
            if isReady { return bytes.map(~) }
            input += bytes
            guard input.last == UInt8(ascii: "\n") else { return [] }
            guard input == Array("welcome\n".utf8) else {
                output += Array("alert\n".utf8)
                throw Refused()
            }
            isReady = true
            return []
        }

        func receivedEnd() throws {
            throw Refused()
        }

        func send(_ bytes: [UInt8]) -> [UInt8] {
            precondition(isReady, "a request is sent only when the filter is ready")
            return bytes.map(~)
        }

        mutating func close() {
            output += Array("bye\n".utf8)
        }
    }

    private func open(_ server: LoopbackServer, deadline: ContinuousClock.Instant = .distant) async throws(HTTPError) -> HTTPConnection {
        try await HTTPConnection.open(server.endpoint, deadline: deadline) { Inverter() }
    }

    @Test("A request is sent after the handshake, and both directions are filtered")
    func exchange() async throws {
        let server = try LoopbackServer { _, peer in
            guard peer.receive(until: "hello\n") == "hello\n" else { return }
            for byte in "welcome\n".utf8 { peer.send([byte]) }
            guard peer.receive(until: "\r\n\r\n".utf8.map(~)) != nil else { return }
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8.map(~))
            peer.receiveEnd()
        }
        let connection = try await open(server)
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).body == Array("ok".utf8))
        #expect(connection.isReusable)
    }

    @Test("A refusal by the filter tells its reason to the caller, and what it has to say to the server; no request was sent")
    func refusal() async throws {
        let (alerts, alert) = AsyncStream.makeStream(of: String?.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "hello\n")
            peer.send("go away\n")
            alert.yield(peer.receive(until: "alert\n"))
        }
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .filter("no welcome"), delivery: .nothingSent)) {
            try await open(server)
        }
        #expect(await alerts.first { _ in true } == "alert\n")
    }

    @Test("A handshake that takes too long sends no request")
    func deadline() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        defer { mayEnd.signal() }
        let server = try LoopbackServer { _, _ in mayEnd.wait() }
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .deadlineExceeded, delivery: .nothingSent)) {
            try await open(server, deadline: .now + .milliseconds(20))
        }
    }

    @Test("A filter that cannot be created is an error of the connection")
    func creation() async throws {
        let server = try LoopbackServer { _, peer in peer.receiveEnd() }
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .filter("no welcome"), delivery: .nothingSent)) {
            try await HTTPConnection.open(server.endpoint, deadline: .distant) { throw Inverter.Refused() }
        }
    }

    @Test("The end of the connection is the filter's to judge, after the request perhaps sent")
    func end() async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "hello\n")
            peer.send("welcome\n")
            _ = peer.receive(until: "\r\n\r\n".utf8.map(~))
        }
        let connection = try await open(server)
        await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .filter("no welcome"), delivery: .perhapsSent)) {
            try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        }
    }

    /// Holds up the connection's queue with each part that it received.
    private struct Delay: ByteFilter {
        let end: DispatchSemaphore
        var isReady: Bool { true }

        func takePendingOutput() -> [UInt8] { [] }

        func received(_ bytes: [UInt8]) -> [UInt8] {
            end.wait()
            return bytes
        }

        func receivedEnd() {}

        func send(_ bytes: [UInt8]) -> [UInt8] { bytes }

        func close() {}
    }

    @Test("A close of the server of which no event has come yet is noticed before a request is sent")
    func unnoticedClose() async throws {
        let end = DispatchSemaphore(value: 0)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            peer.finish()
            // The client reads the response when the end has arrived as well.
            end.signal()
            peer.receiveEnd()
        }
        // The event comes before the second request in some of the rounds.
        for _ in 0..<50 {
            let connection = try await HTTPConnection.open(server.endpoint, deadline: .distant) { Delay(end: end) }
            #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
            await #expect(throws: HTTPError(endpoint: server.endpoint, reason: .closedByPeer, delivery: .nothingSent)) {
                try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
            }
        }
    }

    @Test("Closing ends the session of the filter")
    func close() async throws {
        let (ends, end) = AsyncStream.makeStream(of: String?.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "hello\n")
            peer.send("welcome\n")
            end.yield(peer.receive(until: "bye\n"))
        }
        let connection = try await open(server)
        connection.close()
        #expect(await ends.first { _ in true } == "bye\n")
    }
}
