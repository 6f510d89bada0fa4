import Foundation

@testable import EtcdStorage

/// The server's side of a connection of HTTP/2, frame by frame, with blocking calls.
///
/// The unchecked conformance holds because one thread receives, and frames are sent whole under the lock.
final class HTTP2Peer: @unchecked Sendable {
    private let peer: Peer
    private let lock = NSLock()

    /// Receives the preface of a client, and sends settings that let it send as much as it likes; nil if the client sends something else.
    init?(accepting peer: Peer) {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        guard peer.receive(count: preface.utf8.count) == Array(preface.utf8) else { return nil }
        self.peer = peer
        var settings: [UInt8] = []
        HTTP2Setting.append([.initialWindowSize: UInt32(Int32.max)], to: &settings)
        HTTP2FrameHead.append(.windowUpdate, number: UInt32(Int32.max) - 65_535, to: &settings)
        peer.send(settings)
    }

    /// Receives a frame; nil if the client closed the connection.
    func receive() -> (head: HTTP2FrameHead, payload: [UInt8])? {
        guard let bytes = peer.receive(count: HTTP2FrameHead.size) else { return nil }
        let head = HTTP2FrameHead(bytes[...])
        return peer.receive(count: head.length).map { (head, $0) }
    }

    /// Receives frames up to one of a kind; nil if the client closed the connection.
    func receive(_ kind: HTTP2FrameHead.Kind) -> (head: HTTP2FrameHead, payload: [UInt8])? {
        while let frame = receive() {
            if frame.head.kind == kind, !(kind == .settings && frame.head.flags.contains(.acknowledgement)) { return frame }
        }
        return nil
    }

    /// Sends a frame, in several if the payload is that of a body and too large for one.
    func send(_ kind: HTTP2FrameHead.Kind, _ flags: HTTP2FrameHead.Flags = [], stream: UInt32 = 0, _ payload: [UInt8]) {
        var bytes: [UInt8] = []
        var rest = payload[...]
        repeat {
            let part = rest.prefix(HTTP2FrameHead.defaultPayloadSize)
            rest = rest.dropFirst(part.count)
            HTTP2FrameHead.append(kind, rest.isEmpty ? flags : [], stream: stream, part, to: &bytes)
        } while !rest.isEmpty
        send(bytes)
    }

    /// Sends bytes as they are.
    func send(_ bytes: [UInt8]) {
        lock.withLock { peer.send(bytes) }
    }

    /// Closes the connection for both sides.
    func close() {
        peer.shutDown()
    }
}
