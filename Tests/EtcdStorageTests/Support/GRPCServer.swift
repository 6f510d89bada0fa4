import Foundation

@testable import EtcdStorage

/// A gRPC server on 127.0.0.1 that handles each call according to a script, until the process ends.
final class GRPCServer: Sendable {
    /// The server's side of one call, with blocking functions.
    ///
    /// The unchecked conformance holds because its state is used under its condition only.
    final class Call: @unchecked Sendable {
        /// How the client has ended a call, before or after its response.
        enum End: Hashable, Sendable {
            /// It has reset the stream of the call.
            case reset
            /// It has closed the connection.
            case connectionClosed
        }

        /// The number of the connection, from 0.
        let connection: Int
        /// The fields of the request.
        let fields: [HTTPField]
        private let id: UInt32
        private let peer: HTTP2Peer
        private let condition = NSCondition()
        private var splitter = GRPCMessageSplitter()
        private var messages: [[UInt8]] = []
        // Whether the client sends no more messages.
        private var isComplete = false
        private var clientEnd: End?
        private var hasHead = false
        private var hasEnded = false

        fileprivate init(_ id: UInt32, _ fields: [HTTPField], of peer: HTTP2Peer, connection: Int) {
            (self.id, self.fields, self.peer, self.connection) = (id, fields, peer, connection)
        }

        /// The service and the method.
        var path: String { fields[":path"] ?? "" }

        /// Whether one of both sides has ended the call.
        var isOver: Bool {
            condition.withLock { hasEnded || clientEnd != nil }
        }

        // MARK: Receiving

        /// Receives the next message of the client; nil after the last one, or if the client has ended the call.
        func receive() -> [UInt8]? {
            condition.withLock {
                while messages.isEmpty && !isComplete && clientEnd == nil { condition.wait() }
                return messages.isEmpty ? nil : messages.removeFirst()
            }
        }

        /// Waits until the client ends the call, or closes the connection.
        @discardableResult
        func receiveEnd() -> End {
            condition.withLock {
                while true {
                    if let clientEnd { return clientEnd }
                    condition.wait()
                }
            }
        }

        /// Waits until the client closes the connection, if not before, after the end of the call.
        func receiveConnectionEnd() {
            condition.withLock {
                while clientEnd != .connectionClosed { condition.wait() }
            }
        }

        fileprivate func receive(_ bytes: [UInt8], isEnd: Bool) throws {
            try condition.withLock {
                messages += try splitter.messages(in: bytes)
                isComplete = isComplete || isEnd
                condition.broadcast()
            }
        }

        fileprivate func receive(_ end: End) {
            condition.withLock {
                if clientEnd != .connectionClosed { clientEnd = end }
                condition.broadcast()
            }
        }

        // MARK: Sending

        /// Sends a message.
        func send(_ message: [UInt8]) {
            send(bytes: GRPCMessageSplitter.framed(message))
        }

        /// Sends bytes of messages in a frame of their own.
        func send(bytes: [UInt8]) {
            if let head = takeHead() { peer.send(.headers, .endHeaders, stream: id, HPACK.encode(head)) }
            peer.send(.data, stream: id, bytes)
        }

        /// Ends the call with a gRPC status.
        func end(_ status: Int = 0, _ message: String = "") {
            let trailers = [HTTPField(name: "grpc-status", value: "\(status)"), HTTPField(name: "grpc-message", value: message)]
            peer.send(.headers, [.endHeaders, .endStream], stream: id, HPACK.encode((takeHead() ?? []) + trailers))
            condition.withLock { hasEnded = true }
        }

        /// Responds with one message.
        func respond(_ message: [UInt8]) {
            send(message)
            end()
        }

        /// Resets the call without a response; by default because of an internal error, after which the server may have executed it.
        func reset(_ code: UInt32 = 2) {
            var payload: [UInt8] = []
            payload += code.bigEndianBytes
            peer.send(.reset, stream: id, payload)
            condition.withLock { hasEnded = true }
        }

        /// Announces that the connection takes no further calls, and that those after this one were not processed.
        func goAway() {
            var payload: [UInt8] = []
            payload += id.bigEndianBytes
            payload += HTTP2ErrorCode.noError.bigEndianBytes
            peer.send(.goAway, [], payload)
        }

        /// Allows the client to send another byte on the connection, to which it does not respond.
        func enlargeWindow() {
            var payload: [UInt8] = []
            payload += UInt32(1).bigEndianBytes
            peer.send(.windowUpdate, [], payload)
        }

        /// Closes the connection with all its calls.
        func closeConnection() {
            peer.close()
        }

        private func takeHead() -> [HTTPField]? {
            condition.withLock {
                defer { hasHead = true }
                if hasHead { return nil }
                return [HTTPField(name: ":status", value: "200"), HTTPField(name: "content-type", value: "application/grpc")]
            }
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
        while let (head, payload) = peer.receive() {
            do {
                switch head.kind {
                case .headers:
                    let call = Call(head.stream, try HPACK.decode(payload[...]), of: peer, connection: number)
                    calls[head.stream] = call
                    Thread.detachNewThread { script(call) }
                case .data: try calls[head.stream]?.receive(payload, isEnd: head.flags.contains(.endStream))
                case .reset: calls[head.stream]?.receive(.reset)
                case .settings where !head.flags.contains(.acknowledgement): peer.send(.settings, .acknowledgement, [])
                default: break
                }
            } catch {
                // No script expects this: its test fails without a response.
                peer.close()
            }
        }
        for call in calls.values { call.receive(.connectionClosed) }
    }
}

extension GRPCMessageSplitter {
    /// The messages that are complete after some bytes have arrived.
    mutating func messages(in bytes: [UInt8]) throws(EtcdFailure) -> [[UInt8]] {
        append(bytes)
        var messages: [[UInt8]] = []
        while let message = try next() { messages.append(message) }
        return messages
    }
}
