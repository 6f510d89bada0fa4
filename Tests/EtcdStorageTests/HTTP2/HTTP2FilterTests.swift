import Dispatch
import Testing

@testable import EtcdStorage

@Suite("The filter of a connection of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2FilterTests {
    /// Says hello, waits for a welcome, and then inverts all bytes.
    private struct Inverter: ByteFilter {
        struct Refused: Error, CustomStringConvertible {
            let description = "no welcome"
        }

        /// How many times bytes can be sent, and received after the welcome, before that is refused.
        var (sends, receipts) = (Int.max, Int.max)
        var output = Array("hello\n".utf8)
        var input: [UInt8] = []
        var isReady = false

        mutating func takePendingOutput() -> [UInt8] {
            defer { output = [] }
            return output
        }

        mutating func received(_ bytes: [UInt8]) throws -> [UInt8] {
            if isReady {
                guard receipts > 0 else { throw refusal() }
                receipts -= 1
                return bytes.map(~)
            }
            input += bytes
            guard input.last == UInt8(ascii: "\n") else { return [] }
            guard input == Array("welcome\n".utf8) else { throw refusal() }
            isReady = true
            return []
        }

        func receivedEnd() throws {
            throw Refused()
        }

        mutating func send(_ bytes: [UInt8]) throws -> [UInt8] {
            precondition(isReady, "nothing is sent before the filter is ready")
            guard sends > 0 else { throw refusal() }
            sends -= 1
            return bytes.map(~)
        }

        mutating func close() {
            output += Array("bye\n".utf8)
        }

        private mutating func refusal() -> Refused {
            output += Array("alert\n".utf8)
            return Refused()
        }
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let settings = [HTTP2Frame.settings([.initialWindowSize: 1_000])].bytes.map(~)

    /// Begins as a server that inverts all bytes, and receives the preface of the client.
    private static func welcome(_ peer: Peer) {
        guard peer.receive(until: "hello\n") == "hello\n" else { return }
        for byte in "welcome\n".utf8 { peer.send([byte]) }
        guard peer.receive(until: preface.map(~)) != nil else { return }
        peer.send(settings)
    }

    /// Receives the header of the first request.
    private static func receiveRequest(_ peer: Peer) {
        _ = peer.receive(until: Array("grpc".utf8).map(~))
    }

    private let request = HTTPRequest(path: "/", fields: [HTTPField(name: "x", value: "grpc")])

    private func open(
        _ server: LoopbackServer, deadline: ContinuousClock.Instant = .distant, sends: Int = .max, receipts: Int = .max
    ) async throws(ConnectionError) -> HTTP2Connection {
        try await HTTP2Connection.open(server.endpoint, deadline: deadline) { Inverter(sends: sends, receipts: receipts) }
    }

    @Test("A request is sent after the handshake, and both directions are filtered")
    func exchange() async throws {
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            Self.receiveRequest(peer)
            peer.send([HTTP2Frame.headers(1, [":status": "200"]), .data(1, Array("ok".utf8), isEnd: true)].bytes.map(~))
            peer.receiveEnd()
        }
        let connection = try await open(server)
        #expect(try await connection.send(request, deadline: .distant).body == Array("ok".utf8))
        #expect(connection.isUsable)
    }

    @Test("A refusal by the filter tells its reason to the caller, and what it has to say to the server; no request was sent")
    func refusal() async throws {
        let (alerts, alert) = AsyncStream.makeStream(of: String?.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "hello\n")
            peer.send("go away\n")
            alert.yield(peer.receive(until: "alert\n"))
        }
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .filter("no welcome"), mayHaveArrived: false)) {
            try await open(server)
        }
        #expect(await alerts.first { _ in true } == "alert\n")
    }

    @Test("A handshake that takes too long sends no request")
    func deadline() async throws {
        let server = try LoopbackServer { _, peer in peer.receiveEnd() }
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .deadlineExceeded, mayHaveArrived: false)) {
            try await open(server, deadline: .now + .milliseconds(20))
        }
    }

    @Test("A filter that cannot be created, or that refuses the first bytes in either direction, is an error of the connection")
    func opening() async throws {
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            peer.receiveEnd()
        }
        let failure = ConnectionError(endpoint: server.endpoint, reason: .filter("no welcome"), mayHaveArrived: false)
        await #expect(throws: failure) {
            try await HTTP2Connection.open(server.endpoint, deadline: .distant) { throw Inverter.Refused() }
        }
        await #expect(throws: failure) { try await open(server, sends: 0) }
        await #expect(throws: failure) { try await open(server, receipts: 0) }
    }

    @Test("A request that the filter refuses to send ends the connection with an alert")
    func sending() async throws {
        let (alerts, alert) = AsyncStream.makeStream(of: Bool.self)
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            alert.yield(peer.receive(until: "alert\n") != nil)
        }
        // The preface and the acknowledgement of settings are sent.
        let connection = try await open(server, sends: 2)
        let failed = try await connectionError { () throws(ConnectionError) in try await connection.send(request, deadline: .distant) }
        #expect(failed.reason == .filter("no welcome"))
        #expect(await alerts.first { _ in true } == true)
        #expect(!connection.isUsable)
    }

    @Test("A response that the filter refuses ends the connection after the request was perhaps executed")
    func receiving() async throws {
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            Self.receiveRequest(peer)
            peer.send([0])
            peer.receiveEnd()
        }
        // The settings are received.
        let connection = try await open(server, receipts: 1)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .filter("no welcome"), mayHaveArrived: true)) {
            try await connection.send(request, deadline: .distant)
        }
    }

    @Test("The end of the connection is the filter's to judge, after the request was perhaps sent")
    func end() async throws {
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            Self.receiveRequest(peer)
            peer.finish()
            peer.receiveEnd()
        }
        let connection = try await open(server)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .truncated("no welcome"), mayHaveArrived: true)) {
            try await connection.send(request, deadline: .distant)
        }
    }

    @Test("Releasing a connection sends its GOAWAY through the filter, and ends its session")
    func release() async throws {
        let (ends, end) = AsyncStream.makeStream(of: [UInt8]?.self)
        let server = try LoopbackServer { _, peer in
            Self.welcome(peer)
            end.yield(peer.receive(until: Array("bye\n".utf8)))
        }
        var connection: HTTP2Connection? = try await open(server)
        connection = nil
        let received = await ends.first { _ in true } ?? nil
        #expect(received?.suffix(21) == HTTP2Frame.goAway(lastStream: 0).bytes.map(~) + "bye\n".utf8)
        withExtendedLifetime(connection) {}
    }

    /// Holds up the queue of the connection with each part that it received.
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

    @Test("A close of the server of which no event has come yet is noticed before a request is sent", arguments: 0..<50)
    func unnoticedClose(round: Int) async throws {
        let end = DispatchSemaphore(value: 0)
        let server = try HTTP2Server { connection in
            end.signal()
            guard let request = connection.receiveRequest() else { return }
            connection.send(.headers(request.stream, [":status": "200"], isEnd: true))
            connection.peer.finish {
                // The client reads the response when the end has arrived as well.
                end.signal()
            }
        }
        let connection = try await HTTP2Connection.open(server.endpoint, deadline: .distant) { Delay(end: end) }
        #expect(try await connection.send(HTTPRequest(path: "/"), deadline: .distant).status == 200)
        await #expect(throws: ConnectionError(endpoint: server.endpoint, reason: .closedByPeer, mayHaveArrived: false)) {
            try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        }
    }
}

// Filters that never end a session before the connection.
extension ByteFilter {
    var isClosedByPeer: Bool { false }
}
