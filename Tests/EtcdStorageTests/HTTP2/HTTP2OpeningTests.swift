import Dispatch
import FoundationSubset
import Testing

@testable import EtcdStorage

@Suite("Opening of connections of HTTP/2", .timeLimit(.minutes(10)))
struct HTTP2OpeningTests {
    private func failure(_ endpoint: Endpoint, deadline: ContinuousClock.Instant = .distant) async throws -> ConnectionError {
        try await connectionError { () throws(ConnectionError) in try await HTTP2Connection.open(endpoint, deadline: deadline) }
    }

    @Test("A port on which nobody listens is an error of which nothing was sent")
    func refused() async throws {
        // The port of a server that has gone may be taken by another test, so one that never listens is used.
        let failed = try await failure(Endpoint(host: "127.0.0.1", port: 1))
        #expect(failed.reason == .socket(call: "connect", code: ECONNREFUSED) && !failed.mayHaveArrived)
    }

    @Test("A name is resolved, and each of its addresses is tried")
    func name() async throws {
        let server = try HTTP2Server.echo()
        // It may also mean the IPv6 address, where nobody listens.
        let endpoint = Endpoint(host: "localhost", port: server.endpoint.port)
        let connection = try await HTTP2Connection.open(endpoint, deadline: .distant)
        #expect(try await connection.send(HTTPRequest(path: "/", body: [1]), deadline: .distant).body == [1])
    }

    @Test("A name without an address is an error that tells the reason")
    func unknownName() async throws {
        let failed = try await failure(Endpoint(host: "no such host", port: 1))
        guard case .unknownHost = failed.reason, !failed.mayHaveArrived else { throw failed }
    }

    @Test("An endpoint with an IPv6 address is written with brackets")
    func endpointDescription() {
        #expect(Endpoint(host: "::1", port: 2379).description == "[::1]:2379")
        #expect(Endpoint(host: "etcd", port: 2379).description == "etcd:2379")
    }

    @Test(
        "A server of another protocol is detected, although it closes the connection",
        arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}\u{16}", "SSH-2.0-OpenSSH_9.6\r\n"])
    func otherProtocol(answer: String) async throws {
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "\r\n\r\n")
            peer.send(answer)
            peer.finish()
            peer.receiveEnd()
        }
        let failed = try await failure(server.endpoint)
        #expect(failed.reason == .invalidResponse(HTTP2Violation.notHTTP2.rawValue) && !failed.mayHaveArrived)
    }

    @Test("A server that closes the connection, or says nothing, is an error of which nothing was sent")
    func silentServers() async throws {
        let closing = try LoopbackServer { _, peer in
            peer.finish()
            peer.receiveEnd()
        }
        let closed = try await failure(closing.endpoint)
        #expect(closed.reason == .closedByPeer && !closed.mayHaveArrived)
        let silent = try LoopbackServer { _, peer in peer.receiveEnd() }
        let expired = try await failure(silent.endpoint, deadline: .now + .milliseconds(20))
        #expect(expired.reason == .deadlineExceeded && !expired.mayHaveArrived)
    }

    @Test("Cancelling a task that opens a connection closes it")
    func cancellation() async throws {
        let (events, event) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receive(until: "SM\r\n\r\n")
            event.yield()
            peer.receiveEnd()
            event.yield()
        }
        let task = Task { try await failure(server.endpoint) }
        var iterator = events.makeAsyncIterator()
        await iterator.next()
        task.cancel()
        let failed = try await task.value
        #expect(failed.reason == .cancelled && !failed.mayHaveArrived)
        await iterator.next()
        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await failure(server.endpoint)
        }
        cancelled.cancel()
        #expect(try await cancelled.value.reason == .cancelled)
    }

    @Test("Cancelling a task while the system connects does not wait for the system")
    func cancellationWhileConnecting() async throws {
        // The queue of connections that nobody accepts is full, so that the system does not answer further ones.
        let listener = try FullListener()
        let task = Task { try await failure(listener.endpoint) }
        for _ in 0..<100 { await Task.yield() }
        task.cancel()
        let failed = try await task.value
        #expect(failed.reason == .cancelled && !failed.mayHaveArrived)
        let expired = try await failure(listener.endpoint, deadline: .now + .milliseconds(5))
        #expect(expired.reason == .deadlineExceeded && !expired.mayHaveArrived)
    }
}

/// A port to which the system lets nobody connect at present.
private final class FullListener {
    let endpoint: Endpoint
    private let listener: Int32
    private var clients: [Int32] = []

    init() throws {
        listener = Socket.open(AF_INET)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 0) == 0 && getsockname(listener, $0, &size) == 0 ? 0 : errno
            }
        }
        endpoint = Endpoint(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port))
        guard code == 0 else { throw ConnectionError.Reason.socket(call: "listen", code: code) }
        let numeric = try SocketAddress.all(of: endpoint, isNumeric: true).get()
        for address in Array(repeating: numeric, count: 8).joined() {
            let client = Socket.open(AF_INET)
            clients.append(client)
            _ = address.withPointer { connect(client, $0, $1) }
        }
    }

    deinit {
        for descriptor in clients + [listener] { FoundationSubset.close(descriptor) }
    }
}
