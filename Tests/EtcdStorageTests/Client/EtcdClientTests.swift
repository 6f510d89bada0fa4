import Dispatch
import Synchronization
import TestSupport
import Testing

@testable import EtcdStorage

@Suite("A client of etcd", .timeLimit(.minutes(10)))
struct EtcdClientTests {
    private static let put = PutRequest(key: [1], value: [2])
    // Nobody can listen there.
    private static let closed = "127.0.0.1:1"

    private func client(_ endpoints: String..., isAuthenticated: Bool = false) throws -> EtcdClient {
        let credentials = EtcdConfiguration.Credentials(user: "root", password: "secret")
        return try EtcdClient(
            EtcdConfiguration(
                endpoints: endpoints, prefix: "", credentials: isAuthenticated ? credentials : nil, requestTimeout: .seconds(30),
                connectTimeout: .seconds(30)))
    }

    /// What a member answers to a call.
    private enum Answer {
        case message([UInt8])
        case failure(Int, String)

        /// A message without fields.
        static let success = message([])
        static let noLeader = failure(14, "etcdserver: no leader")
        static let tokenRefused = failure(16, "etcdserver: invalid auth token")
    }

    /// A member that counts its connections and calls.
    private final class Member: Sendable {
        let calls = Atomic(0)
        let connections = Atomic(0)

        /// Starts to listen.
        ///
        /// - Parameter respond: returns the answer to the call with a number; nil to close the connection without one.
        func listen(_ respond: @escaping @Sendable (_ number: Int, _ call: GRPCServer.Call) -> Answer?) throws -> String {
            let server = try GRPCServer { [self] call in
                connections.max(call.connection + 1, ordering: .relaxed)
                guard call.receive() != nil else { return }
                switch respond(calls.add(1, ordering: .relaxed).oldValue, call) {
                case .message(let message): call.respond(message)
                case .failure(let code, let message): call.end(code, message)
                case nil: call.closeConnection()
                }
            }
            return server.endpoint.description
        }
    }

    // MARK: - Members

    @Test("A member at which nobody listens is passed over")
    func refusedConnection() async throws {
        let member = Member()
        let client = try client(Self.closed, try member.listen { _, _ in .success })
        for _ in 0..<10 { _ = try await client.call(Self.put, deadline: .distant) }
        #expect(member.calls.load(ordering: .relaxed) == 10)
        #expect(member.connections.load(ordering: .relaxed) == 1)
    }

    @Test("A member without a leader is passed over")
    func noLeader() async throws {
        let (first, second) = (Member(), Member())
        let client = try client(try first.listen { _, _ in .noLeader }, try second.listen { _, _ in .success })
        for _ in 0..<3 { _ = try await client.call(Self.put, deadline: .distant) }
        #expect(first.calls.load(ordering: .relaxed) == 1)
        #expect(second.calls.load(ordering: .relaxed) == 3)
    }

    @Test("Several calls that fail at one member pass over that member only")
    func markedTwice() async throws {
        let members = [Member(), Member(), Member()]
        let endpoints = try members.map { try $0.listen { _, _ in .success } }
        let client = try client(endpoints[0], endpoints[1], endpoints[2])
        for _ in 0..<2 { await client.markFailed(0) }
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(members.map { $0.calls.load(ordering: .relaxed) } == [0, 1, 0])
    }

    @Test("A request that a member may have executed is sent again to another one")
    func unknownOutcome() async throws {
        let (first, second) = (Member(), Member())
        let client = try client(try first.listen { _, _ in nil }, try second.listen { _, _ in .success })
        _ = try await client.call(Self.put, deadline: .distant)
        #expect([first, second].map { $0.calls.load(ordering: .relaxed) } == [1, 1])
    }

    @Test(
        "After a response about a lease without a header, another member is asked",
        arguments: [LeaseRequest.grant(timeToLive: 60), .keepAlive(7), .revoke(7)])
    func noHeader(request: LeaseRequest) async throws {
        let lease = LeaseRequest.Response(header: ResponseHeader(clusterID: 7), lease: 7, timeToLive: 60)
        let client = try client(try Member().listen { _, _ in .success }, try Member().listen { _, _ in .message(lease.message) })
        #expect(try await client.call(request, deadline: .distant) == lease)
    }

    @Test("A refusal is thrown as the member's, and not sent again")
    func refusal() async throws {
        let member = Member()
        let client = try client(try member.listen { _, _ in .failure(7, "etcdserver: permission denied") })
        let failure = try await #require(throws: EtcdFailure.self) {
            try await client.call(Self.put, deadline: .distant)
        }
        #expect(failure.isPermissionDenied)
        #expect(member.calls.load(ordering: .relaxed) == 1)
    }

    @Test("A member with too much to do is asked again later")
    func overload() async throws {
        let member = Member()
        let overloaded = Answer.failure(8, "etcdserver: too many requests")
        let client = try client(try member.listen { number, _ in number < 2 ? overloaded : .success })
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(member.calls.load(ordering: .relaxed) == 3)
    }

    @Test("If no member serves until the deadline, the last error is reported, also if a token is needed", arguments: [false, true])
    func unavailable(isAuthenticated: Bool) async throws {
        let client = try client(Self.closed, "localhost:1", isAuthenticated: isAuthenticated)
        try await withEnoughTime { time in
            let error = try await #require(throws: EtcdUnavailable.self) {
                try await client.call(Self.put, deadline: .now + time)
            }
            #expect(!error.mayHaveArrived)
            // On a busy machine, the time may be over before the system has refused a connection.
            return error.description.contains("connect")
        }
    }

    @Test("What waits because no member serves goes on as soon as one does")
    func endOfPause() async throws {
        let client = try client(try Member().listen { _, _ in .success })
        try await client.pause(for: .zero)
        let pause = await client.beginPause(for: .seconds(3600))
        _ = try await client.call(Self.put, deadline: .distant)
        try await pause.value
    }

    // MARK: - Silence

    @Test("A member that accepts connections but says nothing is passed over")
    func silentConnection() async throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let silent = try LoopbackServer { _, peer in
            peer.receiveEnd()
            end.finish()
        }
        let endpoints = [silent.endpoint.description, try Member().listen { _, _ in .success }]
        // The other member is tried again if it takes longer.
        let client = try EtcdClient(
            EtcdConfiguration(endpoints: endpoints, prefix: "", requestTimeout: .seconds(30), connectTimeout: .milliseconds(50)))
        _ = try await client.call(Self.put, deadline: .distant)
        // Its connection is closed.
        for await _ in ends {}
    }

    @Test("A member that is silent for longer than a request may take is left, and its connection is closed and not used again")
    func silence() async throws {
        try await withEnoughTime(from: .seconds(1)) { time in
            let (connections, closed) = (Recorder<Int>(), Recorder<Int>())
            let silent = try Member().listen { number, call in
                connections.record(call.connection)
                if number == 1 {
                    call.receiveConnectionEnd()
                    closed.record(call.connection)
                }
                return .success
            }
            let other = Member()
            let client = try client(silent, try other.listen { _, _ in .success })
            _ = try await client.call(Self.put, deadline: .distant)
            do {
                // Each member has half of the time.
                _ = try await client.call(Self.put, deadline: .now + time)
            } catch is EtcdUnavailable {
                // On a busy machine, that of the other one may be too short.
                return false
            }
            #expect(other.calls.load(ordering: .relaxed) == 1)
            #expect(try await closed.elements(count: 1) == [0])
            await client.markFailed(1)
            _ = try await client.call(Self.put, deadline: .distant)
            #expect(connections.elements == [0, 0, 1])
            return true
        }
    }

    @Test("A call that is not answered is given up alone while the member answers others on its connection")
    func silentCall() async throws {
        try await withEnoughTime { time in
            let (calls, arrived) = AsyncStream.makeStream(of: Void.self)
            let mayAnswer = DispatchSemaphore(value: 0)
            let ends = Recorder<GRPCServer.Call.End>()
            let member = Member()
            let endpoint = try member.listen { number, call in
                switch number {
                case 0:
                    arrived.finish()
                    mayAnswer.wait()
                case 1:
                    // The other call is answered while this one waits.
                    mayAnswer.signal()
                    ends.record(call.receiveEnd())
                default: break
                }
                return .success
            }
            let client = try client(endpoint)
            async let answered = client.call(Self.put, deadline: .distant)
            for await _ in calls {}
            let error = try await #require(throws: EtcdUnavailable.self) {
                try await client.call(Self.put, deadline: .now + time)
            }
            guard error.mayHaveArrived else {
                // On a busy machine, the time may be over before it is sent.
                mayAnswer.signal()
                _ = try await answered
                return false
            }
            _ = try await answered
            #expect(try await ends.elements(count: 1) == [.reset])
            _ = try await client.call(Self.put, deadline: .distant)
            #expect(member.connections.load(ordering: .relaxed) == 1)
            return true
        }
    }

    // MARK: - Connections

    @Test("A connection that the member closed while it was idle is replaced, and nothing is sent twice")
    func idleClose() async throws {
        let (closes, closed) = AsyncStream.makeStream(of: Void.self)
        let member = Member()
        let endpoint = try member.listen { _, call in
            call.respond([])
            call.closeConnection()
            closed.yield()
            return nil
        }
        let client = try client(endpoint)
        var iterator = closes.makeAsyncIterator()
        for _ in 0..<20 {
            _ = try await client.call(Self.put, deadline: .distant)
            await iterator.next()
        }
        #expect(member.calls.load(ordering: .relaxed) == 20)
    }

    @Test("The end of a connection is noticed before a request is sent, also if it follows other bytes that were not read")
    func unreadEnd() async throws {
        let (mayClose, isClosed) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let member = Member()
        let endpoint = try member.listen { number, call in
            guard number == 0 else { return .success }
            call.respond([])
            mayClose.wait()
            call.enlargeWindow()
            call.closeConnection()
            isClosed.signal()
            return nil
        }
        let client = try client(endpoint)
        _ = try await client.call(Self.put, deadline: .distant)
        try await withTaskExecutorPreference(client.executor) {
            try await client.call(Self.put) {
                mayClose.signal()
                isClosed.wait()
            }
        }
        #expect(member.calls.load(ordering: .relaxed) == 2)
    }

    @Test("A connection that the member closes goes on with the calls that it has accepted; the others are sent again on a new one")
    func closingConnection() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let (isOtherThere, isOtherAnswered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let connections = Recorder<Int>()
        let endpoint = try Member().listen { number, call in
            connections.record(call.connection)
            switch number {
            case 0:
                arrived.finish()
                isOtherThere.wait()
                call.goAway()
                isOtherAnswered.wait()
            case 1:
                isOtherThere.signal()
                call.receiveEnd()
            default: isOtherAnswered.signal()
            }
            return .success
        }
        let client = try client(endpoint)
        async let accepted = client.call(Self.put, deadline: .distant)
        for await _ in arrivals {}
        _ = try await client.call(Self.put, deadline: .distant)
        _ = try await accepted
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(connections.elements == [0, 0, 1, 1])
    }

    @Test("A call that the member refuses before it looks at it is sent again")
    func refusedCall() async throws {
        let member = Member()
        let endpoint = try member.listen { number, call in
            if number == 0 { call.reset(HTTP2ErrorCode.refusedStream) }
            return .success
        }
        _ = try await client(endpoint).call(Self.put, deadline: .distant)
        #expect(member.calls.load(ordering: .relaxed) == 2)
    }

    @Test("Concurrent requests share one connection, and those before there is one share its opening")
    func concurrency() async throws {
        let member = Member()
        let endpoint = try member.listen { _, _ in .success }
        for number in 1...100 {
            let client = try client(endpoint)
            try await withThrowingTaskGroup { group in
                for _ in 0..<40 { group.addTask { try await client.call(Self.put, deadline: .distant) } }
                try await group.waitForAll()
            }
            #expect(member.calls.load(ordering: .relaxed) == 40 * number)
            #expect(member.connections.load(ordering: .relaxed) == number)
        }
    }

    @Test("An opening goes on when the call is given up that has begun it, and others use its connection", arguments: [true, false])
    func abandonedOpening(isCancelled: Bool) async throws {
        let (begins, begun) = AsyncStream.makeStream(of: Void.self)
        let (mayAccept, connections) = (DispatchSemaphore(value: 0), Recorder<Int>())
        let accepts = { @Sendable (number: Int) in
            begun.yield()
            mayAccept.wait()
            connections.record(number)
            return true
        }
        let server = try HTTP2Server(accepts: accepts, Self.answer)
        let configuration = EtcdConfiguration(
            endpoints: [server.endpoint.description], prefix: "", requestTimeout: .seconds(300), connectTimeout: .seconds(300))
        let client = try EtcdClient(configuration)
        let first = Task {
            try await client.call(Self.put, deadline: .now + (isCancelled ? .seconds(300) : .milliseconds(100)))
        }
        _ = await begins.first { true }
        let second = Task { try await client.call(Self.put, deadline: .now + .seconds(300)) }
        if isCancelled { first.cancel() }
        await #expect(throws: (any Error).self) { try await first.value }
        mayAccept.signal()
        _ = try await second.value
        #expect(connections.elements == [0])
    }

    @Test("An opening takes no longer than a response may, so that the next attempt makes another one")
    func stuckOpening() async throws {
        let server = try HTTP2Server(accepts: { $0 > 0 }, Self.answer)
        let configuration = EtcdConfiguration(
            endpoints: [server.endpoint.description], prefix: "", requestTimeout: .milliseconds(200), connectTimeout: .seconds(3_600))
        // On a busy machine, more of them may take too long.
        _ = try await EtcdClient(configuration).call(Self.put, deadline: .distant)
    }

    /// Answers each call with an empty message.
    private static func answer(_ connection: inout HTTP2Server.Connection) {
        while let request = connection.receiveRequest() { connection.respond(to: request.stream, GRPCMessageSplitter.framed([])) }
    }

    @Test("Calls that have waited for the same connection, which takes one at a time, are all answered by its member")
    func limitedConnection() async throws {
        let server = try HTTP2Server([.maximumStreams: 1, .initialWindowSize: 1 << 20], Self.answer)
        let other = Member()
        let client = try client(server.endpoint.description, try other.listen { _, _ in .success })
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 { group.addTask { try await client.call(Self.put, deadline: .distant) } }
            try await group.waitForAll()
        }
        #expect(other.connections.load(ordering: .relaxed) == 0)
    }

    @Test("A member whose connections take no request at all has failed: another one is tried")
    func uselessConnection() async throws {
        let server = try HTTP2Server([.maximumStreams: 0]) { $0.receiveEnd() }
        let other = Member()
        let client = try client(server.endpoint.description, try other.listen { _, _ in .success })
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(other.calls.load(ordering: .relaxed) == 1)
    }

    @Test("A watch and other requests share one connection, which stays when the watch ends")
    func watch() async throws {
        let ends = Recorder<GRPCServer.Call.End>()
        let member = Member()
        let endpoint = try member.listen { _, call in
            if call.path == WatchRequest.path {
                call.send(WatchResponse(isCreated: true).message)
                ends.record(call.receiveEnd())
            }
            return .success
        }
        let client = try client(endpoint)
        let (stream, _) = try await client.watch(WatchRequest(key: [1]), deadline: .distant)
        _ = try await client.call(Self.put, deadline: .distant)
        var splitter = GRPCMessageSplitter()
        #expect(try await stream.next(&splitter, deadline: .distant)?.isCreated == true)
        stream.close()
        #expect(try await ends.elements(count: 1) == [.reset])
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(member.connections.load(ordering: .relaxed) == 1)
    }

    @Test("Damage behind the messages of a watch is reported right after them")
    func damagedWatch() async throws {
        let endpoint = try Member().listen { _, call in
            call.send(bytes: GRPCMessageSplitter.framed(WatchResponse(isCreated: true).message) + [1, 0, 0, 0, 1])
            call.receiveEnd()
            return .success
        }
        let (stream, _) = try await client(endpoint).watch(WatchRequest(key: [1]), deadline: .distant)
        var splitter = GRPCMessageSplitter()
        #expect(try await stream.next(&splitter, deadline: .distant)?.isCreated == true)
        let failure = await #expect(throws: EtcdFailure.self) { try await stream.next(&splitter, deadline: .distant) }
        #expect(failure?.message == "the response cannot be read: it is compressed")
    }

    private static let otherAnswerBytes: [(bytes: [UInt8], reason: String)] = {
        let message = GRPCMessageSplitter.framed([])
        return [
            ([], "0 messages"), (message + message, "2 messages"), ([0], "within a message"), ([0, 0, 0, 0, 1], "within a message"),
            (message + [0, 0], "within a message"), (message + [1, 0, 0, 0, 0], "compressed"),
        ]
    }()

    @Test(
        "An answer that is not one message is an error that says so, and its outcome is unknown",
        arguments: otherAnswerBytes)
    func otherAnswers(bytes: [UInt8], reason: String) throws {
        let trailers = [HTTPField(name: "grpc-status", value: "0")]
        let failure = #expect(throws: EtcdFailure.self) {
            try HeaderResponse(of: HTTP2Exchange(body: bytes, trailers: trailers))
        }
        #expect(failure?.isOutcomeUnknown == true && failure?.message.contains(reason) == true)
    }

    @Test("The connection closes when the client is released")
    func release() async throws {
        let ends = Recorder<GRPCServer.Call.End>()
        let endpoint = try Member().listen { _, call in
            call.respond([])
            ends.record(call.receiveEnd())
            return nil
        }
        _ = try await client(endpoint).call(Self.put, deadline: .distant)
        #expect(try await ends.elements(count: 1) == [.connectionClosed])
    }

    @Test("A watch that a member refuses throws the member's failure, and the next member is preferred")
    func refusedWatch() async throws {
        let (first, second) = (Member(), Member())
        let client = try client(try first.listen { _, _ in .noLeader }, try second.listen { _, _ in .success })
        let failure = try await #require(throws: EtcdFailure.self) {
            _ = try await client.watch(WatchRequest(key: [1]), deadline: .distant)
        }
        #expect(failure.isUnavailable)
        _ = try await client.call(Self.put, deadline: .distant)
        #expect([first, second].map { $0.calls.load(ordering: .relaxed) } == [1, 1])
    }

    // MARK: - Tokens

    /// A member that demands the newest token, of which it counts those that it gave.
    private final class TokenMember: Sendable {
        let tokens = Atomic(0)
        let executed = Atomic(0)

        func listen() throws -> String {
            try Member().listen { [self] _, call in
                if call.path == "/etcdserverpb.Auth/Authenticate" {
                    let token = "token\(tokens.add(1, ordering: .relaxed).newValue)"
                    return .message(AuthenticateRequest.Response(token: token).message)
                }
                guard call.fields["token"] == "token\(tokens.load(ordering: .relaxed))" else { return .tokenRefused }
                executed.add(1, ordering: .relaxed)
                return .success
            }
        }
    }

    @Test("All requests share one token, which is renewed once when it is refused")
    func sharedToken() async throws {
        let member = TokenMember()
        let client = try client(try member.listen(), isAuthenticated: true)
        for round in 1...3 {
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 { group.addTask { try await client.call(Self.put, deadline: .distant) } }
                try await group.waitForAll()
            }
            #expect(member.executed.load(ordering: .relaxed) == 20 * round)
            #expect(member.tokens.load(ordering: .relaxed) == round * 2 - 1)
            // As if the token had expired.
            member.tokens.add(1, ordering: .relaxed)
        }
    }

    @Test("A token that is refused again and again is an error")
    func refusedToken() async throws {
        let token = AuthenticateRequest.Response(token: "x").message
        let endpoint = try Member().listen { _, call in call.path == "/etcdserverpb.Auth/Authenticate" ? .message(token) : .tokenRefused }
        let client = try client(endpoint, isAuthenticated: true)
        let failure = try await #require(throws: EtcdFailure.self) {
            try await client.call(Self.put, deadline: .distant)
        }
        #expect(failure.isTokenRefused)
    }

    @Test("A wrong password is an error of each request, until it is right")
    func wrongPassword() async throws {
        let wrong = Answer.failure(3, "etcdserver: authentication failed, invalid user ID or password")
        let right = Answer.message(AuthenticateRequest.Response(token: "x").message)
        let endpoint = try Member().listen { number, call in
            call.path == "/etcdserverpb.Auth/Authenticate" ? number < 2 ? wrong : right : .success
        }
        let client = try client(endpoint, isAuthenticated: true)
        for _ in 0..<2 {
            let failure = try await #require(throws: EtcdFailure.self) {
                try await client.call(Self.put, deadline: .distant)
            }
            #expect(failure.isAuthenticationFailed)
        }
        _ = try await client.call(Self.put, deadline: .distant)
    }

    @Test("Why the last attempt to fetch a token has failed is reported also while the next one takes longer than the call")
    func tokenFailure() async throws {
        let endpoint = try Member().listen { number, call in
            if number == 0 { return .failure(3, "etcdserver: authentication failed, invalid user ID or password") }
            call.receiveEnd()
            return nil
        }
        let client = try client(endpoint, isAuthenticated: true)
        await #expect(throws: EtcdFailure.self) { try await client.call(Self.put, deadline: .distant) }
        let error = await #expect(throws: EtcdUnavailable.self) {
            try await client.call(Self.put, deadline: .now + .milliseconds(50))
        }
        #expect(error?.isRefusal == true && error?.mayHaveArrived == false)
    }

    @Test("While no member issues a token, a call ends at its own deadline, or when it is cancelled, and a watch does")
    func silentAuthentication() async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let mayAnswer = DispatchSemaphore(value: 0)
        let paths = Recorder<String>()
        let endpoint = try Member().listen { _, call in
            paths.record(call.path)
            guard call.path == "/etcdserverpb.Auth/Authenticate" else { return .success }
            arrived.yield()
            mayAnswer.wait()
            // For another one.
            mayAnswer.signal()
            return .message(AuthenticateRequest.Response(token: "x").message)
        }
        let client = try client(endpoint, isAuthenticated: true)
        let cancelled = Task { try await client.call(Self.put, deadline: .distant) }
        _ = await requests.first { true }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let error = await #expect(throws: EtcdUnavailable.self) {
            try await client.call(Self.put, deadline: .now + .milliseconds(50))
        }
        #expect(error?.mayHaveArrived == false)
        await #expect(throws: EtcdUnavailable.self) {
            _ = try await client.watch(WatchRequest(key: [1]), deadline: .now + .milliseconds(50))
        }
        // The token is still awaited, for later calls.
        mayAnswer.signal()
        _ = try await client.call(Self.put, deadline: .distant)
        #expect(paths.elements == ["/etcdserverpb.Auth/Authenticate", Self.put.path])
    }

    // MARK: - Cancellation

    @Test("A cancelled request ends at once, also after an attempt that may have arrived", arguments: [0, 1])
    func cancellation(failures: Int) async throws {
        let (requests, arrived) = AsyncStream.makeStream(of: Void.self)
        let endpoint = try Member().listen { number, call in
            if number < failures { return nil }
            arrived.yield()
            call.receiveEnd()
            return nil
        }
        let client = try client(endpoint)
        let task = Task { try await client.call(Self.put, deadline: .distant) }
        _ = await requests.first { true }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

extension EtcdClient {
    /// Starts a delay, which has begun before whatever the client is asked next.
    fileprivate func beginPause(for delay: Duration) -> Task<Void, any Error> {
        Task { try await pause(for: delay) }
    }

    /// Sends a request after something has happened while the client could read nothing.
    ///
    /// The task has to prefer the executor, so that nothing is read between both.
    fileprivate func call(_ request: some EtcdRequest, after event: @Sendable () -> Void) async throws {
        event()
        _ = try await call(request, deadline: .distant)
    }
}
