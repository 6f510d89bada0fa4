import Foundation
import ObservableStorage

@testable import EtcdStorage

/// A server of gRPC on 127.0.0.1 that treats each call as a script says, until the process ends.
final class GRPCServer: Sendable {
    /// The server's side of one call, with blocking functions.
    final class Call: Sendable {
        /// The number of the connection, from 0.
        let connection: Int
        /// The fields of the request.
        let fields: [HTTPField]
        private let id: UInt32
        private let peer: HTTP2Peer
        private let condition = NSCondition()
        private let state = Lock(State())

        private struct State {
            var splitter = GRPCMessageSplitter()
            var messages: [[UInt8]] = []
            var hasEnded = false
            var isClosed = false
            var hasHead = false
        }

        fileprivate init(_ id: UInt32, _ fields: [HTTPField], of peer: HTTP2Peer, connection: Int) {
            (self.id, self.fields, self.peer, self.connection) = (id, fields, peer, connection)
        }

        /// The service and the method.
        var path: String { fields[":path"] ?? "" }

        /// Receives the next message of the client; nil after the last one, or if the client has closed the call or the connection.
        func receive() -> [UInt8]? {
            wait { state in
                if !state.messages.isEmpty { return .some(state.messages.removeFirst()) }
                return state.hasEnded || state.isClosed ? .some(nil) : nil
            }
        }

        /// Waits until the client closes the call or the connection.
        func receiveEnd() {
            wait { $0.isClosed ? () : nil }
        }

        /// Sends a message.
        func send(_ message: [UInt8]) {
            send(bytes: GRPCMessageSplitter.framed(message))
        }

        /// Sends bytes of messages in a frame of their own.
        func send(bytes: [UInt8]) {
            sendHead()
            peer.send(.data, stream: id, bytes)
        }

        /// Ends the call with a status of gRPC.
        func end(_ status: Int = 0, _ message: String = "") {
            var trailers = [HTTPField(name: "grpc-status", value: "\(status)"), HTTPField(name: "grpc-message", value: message)]
            if !state.withLock({ $0.hasHead }) { trailers = Self.head + trailers }
            peer.send(.headers, [.endHeaders, .endStream], stream: id, HPACKEncoder.encode(trailers))
        }

        /// Answers with one message.
        func respond(_ message: [UInt8]) {
            send(message)
            end()
        }

        /// Gives up the call without an answer.
        func reset(_ code: UInt32 = 2) {
            var payload: [UInt8] = []
            payload.append(bigEndian: code)
            peer.send(.reset, stream: id, payload)
        }

        /// Closes the connection with all its calls.
        func closeConnection() {
            peer.close()
        }

        private static let head = [
            HTTPField(name: ":status", value: "200"), HTTPField(name: "content-type", value: "application/grpc"),
        ]

        private func sendHead() {
            let isFirst = state.withLock { state in
                defer { state.hasHead = true }
                return !state.hasHead
            }
            if isFirst { peer.send(.headers, .endHeaders, stream: id, HPACKEncoder.encode(Self.head)) }
        }

        private func wait<Value>(for find: (inout State) -> Value?) -> Value {
            condition.lock()
            defer { condition.unlock() }
            while true {
                if let value = state.withLock({ find(&$0) }) { return value }
                condition.wait()
            }
        }

        fileprivate func receive(_ bytes: [UInt8], isEnd: Bool) {
            update { state in
                guard let messages = try? state.splitter.append(bytes) else { return }
                state.messages += messages
                if isEnd { state.hasEnded = true }
            }
        }

        fileprivate func close() {
            update { $0.isClosed = true }
        }

        private func update(_ body: (inout State) -> Void) {
            condition.lock()
            state.withLock { body(&$0) }
            condition.broadcast()
            condition.unlock()
        }
    }

    let endpoint: Endpoint

    /// Starts to listen.
    ///
    /// - Parameter script: called on a thread of its own with each call.
    init(_ script: @escaping @Sendable (Call) -> Void) throws {
        endpoint = try LoopbackServer { number, peer in
            guard let peer = HTTP2Peer(accepting: peer) else { return }
            Self.serve(peer, number, script)
        }.endpoint
    }

    private static func serve(_ peer: HTTP2Peer, _ number: Int, _ script: @escaping @Sendable (Call) -> Void) {
        var calls: [UInt32: Call] = [:]
        var decoder = HPACKDecoder()
        while let (head, payload) = peer.receive() {
            switch head.kind {
            case .headers:
                guard let fields = try? decoder.decode(payload[...]) else { return peer.close() }
                let call = Call(head.stream, fields, of: peer, connection: number)
                calls[head.stream] = call
                Thread.detachNewThread { script(call) }
            case .data: calls[head.stream]?.receive(payload, isEnd: head.flags.contains(.endStream))
            case .reset: calls.removeValue(forKey: head.stream)?.close()
            case .settings where !head.flags.contains(.acknowledgement): peer.send(.settings, .acknowledgement, [])
            default: break
            }
        }
        for call in calls.values { call.close() }
    }
}
