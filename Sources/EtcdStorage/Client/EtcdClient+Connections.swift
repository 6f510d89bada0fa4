import ObservableStorage

// One connection to each member, which all requests and streams share.
extension EtcdClient {
    private typealias Opening = Future<HTTP2Connection, ConnectionError>

    /// Uses the connection to a member, or a new one if there is none, or if it was lost before the request was sent.
    func onConnection<Result>(
        to member: Int, deadline: Instant, _ use: nonisolated(nonsending) (HTTP2Connection) async throws(ConnectionError) -> Result
    ) async throws(ConnectionError) -> Result {
        while true {
            while let connection = members[member].connection, connection.isUsable {
                do throws(ConnectionError) {
                    return try await use(connection)
                } catch {
                    // An idle connection was lost, which says nothing about the member.
                    let isLost = ![.cancelled, .deadlineExceeded, .invalidRequest].contains(error.reason)
                    guard !error.mayHaveArrived, isLost else { throw error }
                    if members[member].connection === connection { members[member].connection = nil }
                }
            }
            // In the same step as the check for a connection: the opening could end during a suspension.
            let opening = opening(of: member)
            let connection = try await opened(opening, of: member, deadline: deadline)
            do throws(ConnectionError) {
                return try await use(connection)
            } catch {
                // Other calls may have taken all of its streams; if it has never taken a request, the member has failed.
                guard error.reason == .noFurtherStreams, await connection.hasTakenRequest else { throw error }
            }
        }
    }

    /// The opening of a connection to a member, which all calls share; nil if none has begun, and the calling task is cancelled.
    private func opening(of member: Int) -> Opening? {
        if let opening = members[member].opening { return opening }
        if Task.isCancelled { return nil }
        let opening = Opening()
        members[member].opening = opening
        // In a task of its own, which continues, and retains the client, if the first call is cancelled or times out.
        Task(executorPreference: executor) { await self.finish(opening, of: member) }
        return opening
    }

    private func opened(_ opening: Opening?, of member: Int, deadline: Instant) async throws(ConnectionError) -> HTTP2Connection {
        if let opening, let result = await result(of: opening, until: deadline) { return try result.get() }
        let reason: ConnectionError.Reason = Task.isCancelled ? .cancelled : .deadlineExceeded
        throw ConnectionError(endpoint: members[member].endpoint, reason: reason, mayHaveArrived: false)
    }

    private func finish(_ opening: Opening, of member: Int) async {
        let result: Result<HTTP2Connection, ConnectionError>
        do throws(ConnectionError) {
            result = .success(try await open(member))
        } catch {
            result = .failure(error)
        }
        members[member].opening = nil
        if case .success(let connection) = result { members[member].connection = connection }
        complete(opening, with: result)
    }

    private func open(_ member: Int) async throws(ConnectionError) -> HTTP2Connection {
        let endpoint = members[member].endpoint
        let deadline = ContinuousClock.now + min(configuration.connectTimeout, configuration.requestTimeout)
        let current: TLSContext?
        do throws(StorageError) {
            current = try await tls?.current()
        } catch {
            throw ConnectionError(endpoint: endpoint, reason: .filter(String(describing: error)), mayHaveArrived: false)
        }
        let filter = current.map { tls in
            { @Sendable () throws -> any ByteFilter in try TLSSession(tls, host: endpoint.host, port: endpoint.port) }
        }
        return try await HTTP2Connection.open(endpoint, on: executor, deadline: deadline, filter: filter)
    }

    /// Waits for a result; returns nil at the deadline, or when the task is cancelled.
    func result<Value, Failure>(of future: Future<Value, Failure>, until deadline: Instant) async -> Result<Value, Failure>? {
        if let result = future.result.withLock({ $0 }) { return result }
        await waiter.wait(until: deadline) { future.result.withLock { $0 != nil } }
        return future.result.withLock { $0 }
    }

    func complete<Value, Failure>(_ future: Future<Value, Failure>, with result: Result<Value, Failure>) {
        future.result.withLock { $0 = result }
        waiter.wakeFinished()
    }
}

/// The result of what several calls wait for.
final class Future<Value: Sendable, Failure: Error>: Sendable {
    /// Nil until it is known.
    fileprivate let result = Lock<Result<Value, Failure>?>(nil)
}
