import FoundationSubset
import ObservableStorage

/// Sends requests to the members of a cluster: to the preferred one, and to the others if it fails.
///
/// All members serve the same keys. The preferred member stays the same while it responds, so that a client reads its own writes at once
/// and its connections are reused.
///
/// The client, its connections and the watch share one queue, so that a request never switches threads: on an idle machine each switch
/// costs up to 0.1 ms.
actor EtcdClient {
    typealias Instant = ContinuousClock.Instant

    nonisolated let endpointCount: Int
    nonisolated let largestResponse: Int
    /// The queue of the client, which tasks prefer so as to call it without switching threads.
    nonisolated let executor = DispatchQueueExecutor(label: "EtcdClient", isPreferred: true)
    let configuration: EtcdConfiguration
    let tls: TLSContext?
    /// Each with the connection that all requests and streams share, nil before the first one and after it was lost, and the one that is being
    /// opened, if one is, for all calls that need it.
    var members: [(endpoint: Endpoint, connection: HTTP2Connection?, opening: Future<HTTP2Connection, ConnectionError>?)]
    /// The calls that wait for a connection or a token.
    let waiter: EventWaiter
    private var preferred = 0
    // The token of the user, for all calls.
    private var token: Future<String?, any Error>?
    // Why the last attempt to fetch a token has failed; nil after one that has not.
    private var tokenFailure: (any Error)?
    // The delays that end when a member serves a request.
    private var pauses: Set<Task<Void, any Error>> = []
    // Whether no member has served a request since a delay began.
    private var isAway = false

    /// How long a call may take: enough for two members to be tried.
    nonisolated var callTimeout: Duration { configuration.requestTimeout * 2 }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Creates a client, whose connections are opened when they are needed.
    ///
    /// - Parameters:
    ///   - largestResponse: the maximum size of a response in bytes.
    ///   - readFile: reads the files of certificates and keys.
    /// - Throws: `StorageError` if an endpoint, a certificate or a key cannot be used.
    init(
        _ configuration: EtcdConfiguration, largestResponse: Int = 64 << 20, readFile: @escaping TLSContext.FileReader = TLSContext.readFile
    ) throws {
        (self.configuration, self.largestResponse) = (configuration, largestResponse)
        waiter = EventWaiter(queue: executor.queue)
        members = try configuration.parsedEndpoints().map { ($0, nil, nil) }
        endpointCount = members.count
        tls = try configuration.tls.map { try TLSContext($0, readFile: readFile) }
    }

    /// Sends a request and returns the response.
    ///
    /// It is sent again, to the next member, if it did not arrive, if its outcome is unknown, or if the member has no leader or is
    /// overloaded: a request must have the same effect if it is executed several times. After all members have failed, there is a delay of up
    /// to two seconds, which ends when one of them serves another request.
    ///
    /// - Parameters:
    ///   - deadline: when the call times out, also while it waits for a token.
    ///   - needsToken: false for the request that fetches the token.
    /// - Throws: ``EtcdFailure`` from a member; ``EtcdUnavailable``; ``ConnectionError`` if the response to a request that only reads is
    ///   too large; `CancellationError` if the task is cancelled, whether or not the request has arrived.
    func call<Request: EtcdRequest>(_ request: Request, deadline: Instant, needsToken: Bool = true) async throws -> Request.Response {
        var attempts = EtcdAttempts(members: endpointCount)
        while true {
            let token = needsToken ? sharedToken() : nil
            var member = preferred
            do {
                let value = try await value(of: token, until: deadline)
                // The member that has issued the token is known to serve.
                member = preferred
                let limit = attempts.deadline(until: deadline, timeout: configuration.requestTimeout, now: .now)
                let call = HTTPRequest(calling: request.path, request.message, token: value)
                let response = try await onConnection(to: member, deadline: limit) { connection throws(ConnectionError) in
                    try await connection.send(call, maximumBodySize: largestResponse, deadline: limit)
                }
                let result = try request.response(of: response)
                endPauses()
                return result
            } catch {
                if !needsToken { tokenFailure = error }
                let retry: EtcdAttempts.Retry
                do {
                    retry = try attempts.retry(after: error, renewsToken: token != nil)
                } catch {
                    // An attempt without effect says nothing about earlier ones.
                    guard attempts.mayHaveArrived, !request.isRead, !(error is CancellationError) else { throw error }
                    throw EtcdUnavailable(error: error, mayHaveArrived: true)
                }
                if retry.renewsToken { discard(token) }
                if retry.changesMember { markFailed(member) }
                guard .now + retry.delay < deadline else {
                    let error = (error as? EtcdUnavailable)?.error ?? error
                    throw EtcdUnavailable(error: error, mayHaveArrived: attempts.mayHaveArrived && !request.isRead)
                }
                if retry.delay > .zero { try await pause(for: retry.delay) }
            }
        }
    }

    /// Grants a lease with a time to live in seconds.
    func grantLease(timeToLive: Int64) async throws -> LeaseRequest.Response {
        let granted = try await call(LeaseRequest.grant(timeToLive: timeToLive), deadline: .now + callTimeout)
        // Keys with lease 0 would never expire.
        guard granted.lease != 0, granted.timeToLive > 0 else { throw EtcdFailure(foreign: "it grants no lease") }
        return granted
    }

    /// Begins a watch at the preferred member.
    ///
    /// - Returns: the stream of the watch, and the member for ``markFailed(_:)``.
    /// - Throws: ``EtcdFailure`` from the member, or ``ConnectionError``; another member is preferred then. ``EtcdUnavailable`` if no member
    ///   has issued a token.
    func watch(_ request: WatchRequest, deadline: Instant) async throws -> (stream: HTTP2Stream, member: Int) {
        let token = try await value(of: sharedToken(), until: deadline)
        let member = preferred
        do {
            let request = HTTPRequest(calling: WatchRequest.path, request.message, token: token)
            let stream = try await onConnection(to: member, deadline: deadline) { connection throws(ConnectionError) in
                try await connection.stream(request, deadline: deadline)
            }
            if let failure = EtcdFailure(endOf: stream.fields, httpStatus: stream.status) { throw failure }
            endPauses()
            return (stream, member)
        } catch {
            markFailed(member)
            throw error
        }
    }

    /// Makes the next member the preferred one, if this one still is; nil for the preferred one.
    func markFailed(_ member: Int? = nil) {
        if member == nil || member == preferred { preferred = (preferred + 1) % endpointCount }
    }

    /// Waits before a retry: until the delay has passed, or until a member serves a request after an outage of all of them. While members
    /// serve other requests, that is no reason to retry sooner what they refuse.
    ///
    /// - Throws: `CancellationError` if the task is cancelled.
    func pause(for delay: Duration) async throws {
        let sleep = Task { try await Task.sleep(for: delay) }
        if isAway { pauses.insert(sleep) }
        isAway = true
        defer { pauses.remove(sleep) }
        await withTaskCancellationHandler {
            _ = await sleep.result
        } onCancel: {
            sleep.cancel()
        }
        try Task.checkCancellation()
    }

    private func endPauses() {
        isAway = false
        for sleep in pauses { sleep.cancel() }
        pauses = []
    }

    /// Makes the next request fetch a new token.
    func discardToken() {
        token = nil
    }

    /// The token of a user, which is fetched if there is none; nil if there is no user.
    private func sharedToken() -> Future<String?, any Error>? {
        guard let credentials = configuration.credentials else { return nil }
        if let token { return token }
        let future = Future<String?, any Error>()
        token = future
        // In a task of its own, which continues if the first call is cancelled or times out.
        Task(executorPreference: executor) { await self.fetch(future, of: credentials) }
        return future
    }

    /// Fetches a token; it is nil if etcd does not check users.
    private func fetch(_ token: Future<String?, any Error>, of credentials: EtcdConfiguration.Credentials) async {
        do {
            let response = try await call(credentials, deadline: .now + configuration.requestTimeout, needsToken: false)
            tokenFailure = nil
            complete(token, with: .success(response.token))
        } catch let failure as EtcdFailure where failure.isAuthenticationDisabled {
            tokenFailure = nil
            complete(token, with: .success(nil))
        } catch {
            discard(token)
            complete(token, with: .failure(error))
        }
    }

    private func value(of token: Future<String?, any Error>?, until deadline: Instant) async throws -> String? {
        guard let token else { return nil }
        if let result = await result(of: token, until: deadline) { return try result.get() }
        try Task.checkCancellation()
        let silence = ConnectionError(endpoint: members[preferred].endpoint, reason: .deadlineExceeded, mayHaveArrived: false)
        throw EtcdUnavailable(error: tokenFailure ?? silence, mayHaveArrived: false)
    }

    /// Discards a token that was refused, or could not be fetched, unless it has been replaced meanwhile.
    private func discard(_ token: Future<String?, any Error>?) {
        if self.token === token { discardToken() }
    }
}
