import ObservableStorage
import Testing

@testable import EtcdStorage

/// A member that responds to each watch according to a script, for faults that real members rarely have.
final class ScriptedMember: Sendable {
    /// One watch as the member sees it.
    struct Connection: Sendable {
        /// The revision that the client has requested.
        let startRevision: Int64
        private let call: GRPCServer.Call
        private let state: Shared

        fileprivate init(_ call: GRPCServer.Call, _ state: Shared, startRevision: Int64) {
            (self.call, self.state, self.startRevision) = (call, state, startRevision)
        }

        /// Sends bytes of messages as they are.
        func send(bytes: [UInt8]) {
            call.send(bytes: bytes)
        }

        /// Sends a message.
        func result(_ response: WatchResponse) {
            state.value.withLock { $0.written += response.events.filter { !$0.isDelete }.map(\.keyValue) }
            call.send(response.message)
        }

        /// Confirms that the watch has begun.
        func create(revision: Int64 = 5, cluster: UInt64 = 7) {
            result(WatchResponse(header: ResponseHeader(clusterID: cluster, revision: revision), isCreated: true))
        }

        /// Sends events, each with a key of one letter.
        func events(_ keys: KeyValuePairs<String, Int64>, isFragment: Bool = false) {
            let events = keys.map { WatchEvent(keyValue: KeyValue(key: Array($0.utf8), modRevision: $1)) }
            result(WatchResponse(header: ResponseHeader(clusterID: 7, revision: 1000), isFragment: isFragment, events: events))
        }

        /// Sends a progress response.
        func progress(_ revision: Int64) {
            result(WatchResponse(header: ResponseHeader(clusterID: 7, revision: revision)))
        }

        /// Replaces the keys that were written, as in a cluster that was restored.
        func replaceHistory(by written: [KeyValue]) {
            state.value.withLock { $0.written = written }
        }

        /// Waits for a heartbeat; returns false if the client ends the watch before.
        @discardableResult
        func receiveHeartbeat() -> Bool {
            while let message = call.receive() {
                if message == WatchRequest.progress { return true }
            }
            return false
        }

        /// Ends the stream with a gRPC status; the connection stays open.
        func end(_ status: Int, _ message: String) {
            call.end(status, message)
        }

        /// Waits until the client ends the watch.
        func receiveEnd() {
            call.receiveEnd()
        }
    }

    fileprivate struct State {
        var startRevisions: [Int64] = []
        /// The keys of all events and responses.
        var written: [KeyValue] = []
        var authentications = 0
        var largestResponse = 0
        var range: RangeRequest.Response
        var transact: (@Sendable (_ request: TxnRequest) throws(EtcdFailure) -> TxnRequest.Response?)?

        /// The response to a request for a single key.
        func response(to request: RangeRequest) -> RangeRequest.Response {
            var found = written.last { $0.key == request.key && $0.modRevision <= request.revision }.map { [$0] } ?? []
            if request.keysOnly { for index in found.indices { found[index].value = [] } }
            let header = range.header.clusterID == 0 ? ResponseHeader(clusterID: 7, revision: 1_000) : range.header
            return RangeRequest.Response(header: header, keyValues: found, count: Int64(found.count))
        }
    }

    private let server: GRPCServer
    private let state: Shared

    fileprivate final class Shared: Sendable {
        let value: Lock<State>

        init(_ state: State) {
            value = Lock(state)
        }
    }

    /// The revisions from which watches began.
    var startRevisions: [Int64] { state.value.withLock(\.startRevisions) }

    /// The number of requested tokens.
    var authentications: Int { state.value.withLock(\.authentications) }

    /// The size of the largest response to a request for a single key.
    var largestResponse: Int { state.value.withLock(\.largestResponse) }

    /// The port for clients.
    var port: Int { Int(server.endpoint.port) }

    /// Starts a member.
    ///
    /// - Parameters:
    ///   - range: the response to every request for a range; a single key is that of the last event or response up to the revision.
    ///   - script: handles a watch, with its number from 0. If it returns without an end of the watch, the connection closes.
    init(range: RangeRequest.Response = RangeRequest.Response(), _ script: @escaping @Sendable (Int, Connection) -> Void) throws {
        let state = Shared(State(written: try range.keyValues, range: range))
        self.state = state
        server = try GRPCServer { call in
            guard let message = call.receive() else { return }
            guard call.path == WatchRequest.path else { return Self.answer(call, message, state) }
            guard let request = Self.decoded({ try WatchMessage(message: message).create }) ?? nil else { return call.closeConnection() }
            let number = state.value.withLock {
                $0.startRevisions.append(request.startRevision)
                return $0.startRevisions.count - 1
            }
            script(number, Connection(call, state, startRevision: request.startRevision))
            if !call.isOver { call.closeConnection() }
        }
    }

    /// What a closure decodes; nil, and an issue, if it is malformed.
    private static func decoded<Message>(_ decode: () throws -> Message) -> Message? {
        do {
            return try decode()
        } catch {
            Issue.record(error)
            return nil
        }
    }

    private static func answer(_ call: GRPCServer.Call, _ message: [UInt8], _ state: Shared) {
        let (range, transact) = state.value.withLock {
            if call.path == "/etcdserverpb.Auth/Authenticate" { $0.authentications += 1 }
            return ($0.range, $0.transact)
        }
        switch call.path {
        case "/etcdserverpb.Auth/Authenticate": call.respond(AuthenticateRequest.Response(token: "secret").message)
        case "/etcdserverpb.Lease/LeaseGrant":
            let header = ResponseHeader(clusterID: 7, revision: 5)
            call.respond(LeaseRequest.Response(header: header, lease: 9, timeToLive: 600).message)
        case "/etcdserverpb.KV/Range":
            guard let request = decoded({ try RangeRequest(message: message) }) else { return call.reset() }
            guard request.rangeEnd.isEmpty else { return call.respond(range.message) }
            let response = state.value.withLock { $0.response(to: request) }.message
            state.value.withLock { $0.largestResponse = max($0.largestResponse, response.count) }
            call.respond(response)
        case "/etcdserverpb.KV/Txn":
            guard let transact else { return call.respond(TxnRequest.Response(header: range.header).message) }
            guard let request = decoded({ try TxnRequest(message: message) }) else { return call.reset() }
            do throws(EtcdFailure) {
                // The outcome of a transaction without a response stays unknown.
                guard let response = try transact(request) else { return call.reset() }
                call.respond(response.message)
            } catch {
                call.end(error.code ?? 2, error.message)
            }
        default: call.end(12, "unknown method")
        }
    }

    /// Responds to transactions from now on; if nil is returned, the stream is reset without a response, and the connection stays open.
    func answerTransactions(_ transact: @escaping @Sendable (_ request: TxnRequest) throws(EtcdFailure) -> TxnRequest.Response?) {
        state.value.withLock { $0.transact = transact }
    }

    /// Changes the response to range requests.
    func setRange(_ range: RangeRequest.Response) {
        let written = Self.decoded { try range.keyValues } ?? []
        state.value.withLock {
            $0.range = range
            $0.written += written
        }
    }
}
