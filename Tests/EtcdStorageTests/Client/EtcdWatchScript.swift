import Foundation
import ObservableStorage

@testable import EtcdStorage

/// A member that answers each watch as a script says, to show faults that real ones have rarely.
final class ScriptedMember: Sendable {
    /// One watch as the member sees it.
    struct Connection {
        /// The revision that the client asked for.
        let startRevision: Int64
        private let peer: Peer

        fileprivate init(_ peer: Peer, startRevision: Int64) {
            (self.peer, self.startRevision) = (peer, startRevision)
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        }

        /// Sends a part of the stream.
        func send(_ text: String) {
            peer.send(HTTPChunk.encoded(Array(text.utf8)))
        }

        /// Sends a line with a result.
        func result(_ json: String) {
            send("{\"result\":\(json)}\n")
        }

        /// Says that the watch has begun.
        func create(revision: Int64 = 5, cluster: Int = 7) {
            result(#"{"header":{"cluster_id":"\#(cluster)","revision":"\#(revision)"},"created":true}"#)
        }

        /// Sends events, each with a key of one letter.
        func events(_ keys: KeyValuePairs<String, Int64>, isFragment: Bool = false) {
            let events = keys.map { #"{"kv":{"key":"\#(Data($0.utf8).base64EncodedString())","mod_revision":"\#($1)"}}"# }
            let fragment = isFragment ? #","fragment":true"# : ""
            result(#"{"header":{"cluster_id":"7","revision":"1000"}\#(fragment),"events":[\#(events.joined(separator: ","))]}"#)
        }

        /// Sends a progress answer.
        func progress(_ revision: Int64) {
            result(#"{"header":{"cluster_id":"7","revision":"\#(revision)"},"watch_id":"-1"}"#)
        }

        /// Waits for a heartbeat.
        func receiveHeartbeat() {
            _ = peer.receive(until: #"{"progress_request":{}}"#)
        }

        /// Ends the stream.
        func end() {
            peer.send(HTTPChunk.last)
        }

        /// Waits until the client closes the connection.
        func receiveEnd() {
            peer.receiveEnd()
        }
    }

    private struct State {
        var connections: [Int64] = []
        var authentications = 0
        var range = ""
        var transact: (@Sendable (_ request: String) -> String?)?
    }

    private let server: LoopbackServer
    private let state: Shared

    private final class Shared: Sendable {
        let value = Lock(State())
    }

    /// The revisions from which watches began.
    var startRevisions: [Int64] { state.value.withLock(\.connections) }

    /// The number of tokens that were asked for.
    var authentications: Int { state.value.withLock(\.authentications) }

    /// The port for clients.
    var port: Int { Int(server.endpoint.port) }

    /// Starts a member.
    ///
    /// - Parameters:
    ///   - range: the answer to every range request.
    ///   - script: treats a watch, with its number from 0; the connection closes when it returns.
    init(range: String = "{}", _ script: @escaping @Sendable (Int, Connection) -> Void) throws {
        let state = Shared()
        state.value.withLock { $0.range = range }
        self.state = state
        server = try LoopbackServer { _, peer in
            guard let head = peer.receive(until: "\r\n\r\n") else { return }
            if head.hasPrefix("POST /v3/watch ") {
                let first = peer.receive(until: "\n\r\n") ?? ""
                let start =
                    first.components(separatedBy: #""start_revision":""#).last?.components(separatedBy: "\"").first.flatMap(Int64.init) ?? 0
                let number = state.value.withLock {
                    $0.connections.append(start)
                    return $0.connections.count - 1
                }
                script(number, Connection(peer, startRevision: start))
            } else {
                let body = String(decoding: peer.receiveBody(of: head) ?? [], as: UTF8.self)
                let (range, transact) = state.value.withLock {
                    if head.hasPrefix("POST /v3/auth/authenticate ") { $0.authentications += 1 }
                    return ($0.range, $0.transact)
                }
                let answer: String? =
                    if head.hasPrefix("POST /v3/lease/grant ") {
                        #"{"ID":"9","TTL":"600"}"#
                    } else if head.hasPrefix("POST /v3/kv/txn "), let transact {
                        transact(body)
                    } else {
                        range
                    }
                guard let answer else { return }
                peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
            }
        }
    }

    /// Answers transactions from now on, or closes the connection without an answer.
    func answerTransactions(_ transact: @escaping @Sendable (_ request: String) -> String?) {
        state.value.withLock { $0.transact = transact }
    }

    /// Changes the answer to range requests.
    func setRange(_ json: String) {
        state.value.withLock { $0.range = json }
    }
}
