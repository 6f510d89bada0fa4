import Dispatch
import Synchronization
import Testing

@testable import EtcdStorage

@Suite("A client of etcd", .timeLimit(.minutes(10)))
struct EtcdClientTests {
    private static let put = PutRequest(key: [1], value: [2])
    private static let noLeader = #"{"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}"#
    private static let refused = #"{"error":"etcdserver: invalid auth token","message":"etcdserver: invalid auth token","code":16}"#
    // Nobody can listen there.
    private static let closed = "127.0.0.1:1"

    private func client(_ endpoints: String..., isAuthenticated: Bool = false) throws -> EtcdClient {
        let credentials = EtcdConfiguration.Credentials(user: "root", password: "secret")
        return try EtcdClient(
            EtcdConfiguration(
                endpoints: endpoints, prefix: "", credentials: isAuthenticated ? credentials : nil, requestTimeout: .seconds(30)))
    }

    /// A server that counts its connections and requests.
    private final class Gateway: Sendable {
        let requests = Atomic(0)
        let connections = Atomic(0)

        /// Starts to listen.
        ///
        /// - Parameter respond: returns the status and body for the request with a number; nil to close the connection without a response.
        func listen(_ respond: @escaping @Sendable (_ number: Int, _ head: String) -> (Int, String)?) throws -> String {
            let server = try LoopbackServer { [self] _, peer in
                connections.add(1, ordering: .relaxed)
                while let (head, _) = peer.receiveRequest() {
                    let number = requests.add(1, ordering: .relaxed).oldValue
                    guard let (status, body) = respond(number, head) else { return }
                    peer.send("HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                }
            }
            return server.endpoint.description
        }
    }

    // MARK: - Members

    @Test("A member at which nobody listens is passed over, also by a request that is not repeatable")
    func refusedConnection() async throws {
        let gateway = Gateway()
        let client = try client(Self.closed, try gateway.listen { _, _ in (200, "{}") })
        for _ in 0..<10 { _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant) }
        #expect(gateway.requests.load(ordering: .relaxed) == 10)
        #expect(gateway.connections.load(ordering: .relaxed) == 1)
    }

    @Test("A member without a leader is passed over, also by a request that is not repeatable")
    func noLeader() async throws {
        let (first, second) = (Gateway(), Gateway())
        let client = try client(try first.listen { _, _ in (503, Self.noLeader) }, try second.listen { _, _ in (200, "{}") })
        for _ in 0..<3 { _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant) }
        #expect(first.requests.load(ordering: .relaxed) == 1)
        #expect(second.requests.load(ordering: .relaxed) == 3)
    }

    @Test("Several calls that fail at one member pass over that member only")
    func markedTwice() async throws {
        let gateways = [Gateway(), Gateway(), Gateway()]
        let endpoints = try gateways.map { try $0.listen { _, _ in (200, "{}") } }
        let client = try client(endpoints[0], endpoints[1], endpoints[2])
        for _ in 0..<2 { await client.markFailed(0) }
        _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant)
        #expect(gateways.map { $0.requests.load(ordering: .relaxed) } == [0, 1, 0])
    }

    @Test("A request that a member may have executed is not sent again unless it is repeatable")
    func unknownOutcome() async throws {
        let (first, second) = (Gateway(), Gateway())
        let endpoints = (try first.listen { _, _ in nil }, try second.listen { _, _ in (200, "{}") })
        let cautious = try client(endpoints.0, endpoints.1)
        let error = try await #require(throws: EtcdClientError.self) {
            try await cautious.call(Self.put, isRepeatable: false, deadline: .distant)
        }
        guard case .outcomeUnknown = error else { throw error }
        #expect(first.requests.load(ordering: .relaxed) == 1)
        #expect(second.requests.load(ordering: .relaxed) == 0)
        let bold = try client(endpoints.0, endpoints.1)
        _ = try await bold.call(Self.put, isRepeatable: true, deadline: .distant)
        #expect(first.requests.load(ordering: .relaxed) == 2)
        #expect(second.requests.load(ordering: .relaxed) == 1)
    }

    @Test("A refusal is thrown as the member's, and not sent again")
    func refusal() async throws {
        let gateway = Gateway()
        let body = #"{"error":"etcdserver: permission denied","code":7}"#
        let client = try client(try gateway.listen { _, _ in (403, body) })
        let failure = try await #require(throws: EtcdFailure.self) {
            try await client.call(Self.put, isRepeatable: true, deadline: .distant)
        }
        #expect(failure.isPermissionDenied)
        #expect(gateway.requests.load(ordering: .relaxed) == 1)
    }

    @Test("A member with too much to do is asked again later")
    func overload() async throws {
        let gateway = Gateway()
        let body = #"{"error":"etcdserver: too many requests","code":8}"#
        let client = try client(try gateway.listen { number, _ in number < 2 ? (429, body) : (200, "{}") })
        _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant)
        #expect(gateway.requests.load(ordering: .relaxed) == 3)
    }

    @Test("If no member serves until the deadline, the last error is told")
    func unavailable() async throws {
        let client = try client(Self.closed, "localhost:1")
        let error = try await #require(throws: EtcdClientError.self) {
            try await client.call(Self.put, isRepeatable: true, deadline: .now + .milliseconds(100))
        }
        guard case .unavailable = error else { throw error }
        #expect(error.description.contains("connect"))
    }

    @Test("A member that is silent for longer than a request may take is passed over")
    func silence() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        defer { mayEnd.signal() }
        let silent = try LoopbackServer { _, _ in mayEnd.wait() }
        let gateway = Gateway()
        let endpoints = [silent.endpoint.description, try gateway.listen { _, _ in (200, "{}") }]
        let client = try EtcdClient(EtcdConfiguration(endpoints: endpoints, prefix: "", requestTimeout: .milliseconds(50)))
        _ = try await client.call(Self.put, isRepeatable: true, deadline: .distant)
    }

    @Test("What waits because no member serves goes on as soon as one does")
    func endOfPause() async throws {
        let client = try client(try Gateway().listen { _, _ in (200, "{}") })
        try await client.pause(for: .zero)
        let pause = await client.beginPause(for: .seconds(3600))
        _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant)
        try await pause.value
    }

    // MARK: - Connections

    @Test("A connection that the member closed while it was idle is replaced, and nothing is sent twice")
    func idleClose() async throws {
        let (closes, closed) = AsyncStream.makeStream(of: Void.self)
        let gateway = Gateway()
        let server = try LoopbackServer { _, peer in
            guard peer.receiveRequest() != nil else { return }
            gateway.requests.add(1, ordering: .relaxed)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            peer.finish()
            closed.yield()
        }
        let client = try client(server.endpoint.description)
        var iterator = closes.makeAsyncIterator()
        for _ in 0..<20 {
            _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant)
            await iterator.next()
        }
        #expect(gateway.requests.load(ordering: .relaxed) == 20)
    }

    @Test("Concurrent requests use several connections, of which some are kept")
    func concurrency() async throws {
        let gateway = Gateway()
        let client = try client(try gateway.listen { _, _ in (200, "{}") })
        for _ in 0..<10 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await client.call(Self.put, isRepeatable: false, deadline: .distant) } }
                try await group.waitForAll()
            }
        }
        #expect(gateway.requests.load(ordering: .relaxed) == 80)
        #expect(gateway.connections.load(ordering: .relaxed) <= 8)
    }

    // MARK: - Tokens

    /// A server that demands the newest token, of which it counts those that it gave.
    private final class TokenGateway: Sendable {
        let tokens = Atomic(0)
        let gateway = Gateway()
        let executed = Atomic(0)

        func listen() throws -> String {
            try gateway.listen { [self] _, head in
                if head.contains("/v3/auth/authenticate") {
                    return (200, #"{"token":"token\#(tokens.add(1, ordering: .relaxed).newValue)"}"#)
                }
                guard head.contains("Authorization: token\(tokens.load(ordering: .relaxed))\r\n") else {
                    return (401, EtcdClientTests.refused)
                }
                executed.add(1, ordering: .relaxed)
                return (200, "{}")
            }
        }
    }

    @Test("All requests share one token, which is renewed once when it is refused")
    func sharedToken() async throws {
        let gateway = TokenGateway()
        let client = try client(try gateway.listen(), isAuthenticated: true)
        for round in 1...3 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 { group.addTask { try await client.call(Self.put, isRepeatable: false, deadline: .distant) } }
                try await group.waitForAll()
            }
            #expect(gateway.executed.load(ordering: .relaxed) == 20 * round)
            #expect(gateway.tokens.load(ordering: .relaxed) == round * 2 - 1)
            // As if the token had expired.
            gateway.tokens.add(1, ordering: .relaxed)
        }
    }

    @Test("A token that is refused again and again is an error")
    func refusedToken() async throws {
        let gateway = Gateway()
        let endpoint = try gateway.listen { _, head in
            head.contains("/v3/auth/authenticate") ? (200, #"{"token":"x"}"#) : (401, Self.refused)
        }
        let client = try client(endpoint, isAuthenticated: true)
        let failure = try await #require(throws: EtcdFailure.self) {
            try await client.call(Self.put, isRepeatable: false, deadline: .distant)
        }
        #expect(failure.isTokenRefused)
    }

    @Test("A wrong password is an error of each request, until it is right")
    func wrongPassword() async throws {
        let gateway = Gateway()
        let wrong = #"{"error":"etcdserver: authentication failed, invalid user ID or password","code":3}"#
        let endpoint = try gateway.listen { number, head in
            head.contains("/v3/auth/authenticate") ? number < 2 ? (400, wrong) : (200, #"{"token":"x"}"#) : (200, "{}")
        }
        let client = try client(endpoint, isAuthenticated: true)
        for _ in 0..<2 {
            let failure = try await #require(throws: EtcdFailure.self) {
                try await client.call(Self.put, isRepeatable: false, deadline: .distant)
            }
            #expect(failure.isAuthenticationFailed)
        }
        _ = try await client.call(Self.put, isRepeatable: false, deadline: .distant)
    }

    // MARK: - Cancellation

    @Test(
        "A cancelled request ends at once: with the cancellation if it is repeatable, with an unknown outcome otherwise",
        arguments: [false, true])
    func cancellation(isRepeatable: Bool) async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer { _, peer in
            _ = peer.receiveRequest()
            arrived.yield()
            peer.receiveEnd()
        }
        let client = try client(server.endpoint.description)
        let task = Task { try await client.call(Self.put, isRepeatable: isRepeatable, deadline: .distant) }
        _ = await requests.first { true }
        task.cancel()
        switch await task.result {
        case .failure(is CancellationError): #expect(isRepeatable)
        case .failure(EtcdClientError.outcomeUnknown): #expect(!isRepeatable)
        case let result: Issue.record("unexpected: \(result)")
        }
    }
}

extension EtcdClient {
    /// Starts a delay, which has begun before whatever the client is asked next.
    fileprivate func beginPause(for delay: Duration) -> Task<Void, any Error> {
        Task { try await pause(for: delay) }
    }
}
