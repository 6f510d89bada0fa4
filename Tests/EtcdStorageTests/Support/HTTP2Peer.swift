import Foundation

@testable import EtcdStorage

/// The server's side of an HTTP/2 connection, frame by frame, with blocking calls.
///
/// The unchecked conformance holds because one thread receives, and frames are sent whole under the lock.
final class HTTP2Peer: @unchecked Sendable {
    private let peer: Peer
    private let lock = NSLock()

    /// Receives the preface of a client, and sends settings; nil if the client sends something else.
    ///
    /// - Parameters:
    ///   - settings: by default the client may send any number of bytes.
    ///   - window: the bytes that the client may send on the connection in addition to those of the standard.
    init?(
        accepting peer: Peer, _ settings: KeyValuePairs<HTTP2Setting, UInt32> = [.initialWindowSize: UInt32(Int32.max)],
        window: UInt32 = UInt32(Int32.max) - 65_535
    ) {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        guard peer.receive(count: preface.utf8.count) == Array(preface.utf8) else { return nil }
        self.peer = peer
        var bytes: [UInt8] = []
        HTTP2Setting.append(settings, to: &bytes)
        if window > 0 { HTTP2FrameHead.append(.windowUpdate, number: window, to: &bytes) }
        peer.send(bytes)
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

    /// Sends bytes as they are; returns whether the connection is still open.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        lock.withLock { peer.send(bytes) }
    }

    /// Ends the output to the client, and waits until it closes the connection.
    ///
    /// - Parameter whenEnded: called before the wait.
    func finish(whenEnded: () -> Void = {}) {
        peer.finish()
        whenEnded()
        while receive() != nil {}
    }

    /// Closes the connection for both sides.
    func close() {
        peer.shutDown()
    }
}
