import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Calls of all kinds on a connection of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2MixTests {
    private static let limit = 40 as UInt32

    /// A server that echoes requests when they end and data of streams at once, refuses what begins with 0, and allows some streams only.
    private static func server() throws -> HTTP2Server {
        try HTTP2Server([.initialWindowSize: 100, .maximumStreams: limit]) { connection in
            var bodies: [UInt32: [UInt8]] = [:]
            while let (head, payload) = connection.peer.receive() {
                let stream = head.stream
                if head.kind == .reset { bodies[stream] = nil }
                if head.kind == .headers {
                    bodies[stream] = []
                    connection.send(HTTP2Frame(kind: .ping, payload: Array(1...8)))
                }
                guard head.kind == .data, let body = bodies[stream] else { continue }
                bodies[stream] = body + payload
                if !payload.isEmpty { connection.send(.number(.windowUpdate, stream: stream, UInt32(payload.count))) }
                if (body + payload).first == 0 {
                    connection.send(.number(.reset, stream: stream, HTTP2ErrorCode.refusedStream))
                    bodies[stream] = nil
                } else if payload == [255] {
                    if body.isEmpty { connection.send(.headers(stream, [":status": "200"])) }
                    connection.send(.data(stream, payload))
                } else if head.flags.contains(.endStream) {
                    connection.respond(to: stream, body + payload)
                    bodies[stream] = nil
                }
            }
        }
    }

    /// One call whose kind is random.
    private func call(on connection: HTTP2Connection, _ random: inout SeededGenerator) async throws {
        var body = (0..<Int.random(in: 1...400, using: &random)).map { _ in UInt8.random(in: 1...250, using: &random) }
        let kind = Int.random(in: 0..<6, using: &random)
        if kind == 0 { body[0] = 0 }
        let deadline = kind == 1 ? .now + .microseconds(Int.random(in: 0...2_000, using: &random)) : ContinuousClock.Instant.distant
        let yields = Int.random(in: 0...20, using: &random)
        let (request, streamed) = (HTTPRequest(path: "/", body: body), HTTPRequest(path: "/", body: [255]))
        let task = Task {
            if kind < 4 { return try await connection.send(request, deadline: deadline).body }
            let stream = try await connection.stream(streamed, deadline: deadline)
            for _ in 0..<3 {
                #expect(try await stream.next(deadline: deadline).bytes == [255])
                try await stream.write([255])
            }
            if yields < 10 { stream.close() }
            return []
        }
        if kind == 2 || kind == 5 {
            for _ in 0..<yields { await Task.yield() }
            task.cancel()
        }
        do {
            let received = try await task.value
            if kind < 4 { #expect(received == body && kind != 0) }
        } catch let error as ConnectionError {
            switch (kind, error.reason) {
            case (0, .reset(HTTP2ErrorCode.refusedStream)): #expect(!error.mayHaveArrived)
            case (1, .deadlineExceeded), (2, .cancelled), (5, .cancelled): break
            default: throw error
            }
        }
    }

    @Test("Calls that succeed, fail, are cancelled or expire leave nothing behind that would count as an open stream", arguments: 0..<4)
    func mix(seed: UInt64) async throws {
        let connection = try await Self.server().connect()
        // A connection that nobody waits for would close at a deadline.
        let first = try await connection.stream(HTTPRequest(path: "/", body: [255]), deadline: .distant)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 as Range<UInt64> {
                group.addTask {
                    var random = SeededGenerator(seed: seed << 32 | number)
                    for _ in 0..<20 { try await call(on: connection, &random) }
                }
            }
            try await group.waitForAll()
        }
        var streams = [first]
        while streams.count < Self.limit {
            streams.append(try await connection.stream(HTTPRequest(path: "/", body: [255]), deadline: .distant))
        }
        #expect(!connection.isUsable)
        let failed = try await connectionError { () throws(ConnectionError) in
            try await connection.send(HTTPRequest(path: "/"), deadline: .distant)
        }
        #expect(failed.reason == .noFurtherStreams && !failed.mayHaveArrived)
        for stream in streams { #expect(try await stream.next(deadline: .distant).bytes == [255]) }
    }
}
