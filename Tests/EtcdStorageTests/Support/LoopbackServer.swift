import Foundation
import TestSupport
import Testing

@testable import EtcdStorage

/// A server on 127.0.0.1 that handles each connection according to a script, on a thread of its own, until the process ends.
final class LoopbackServer: Sendable {
    let endpoint: Endpoint

    /// Starts to listen.
    ///
    /// - Parameter script: called with the number of each connection, from 0; the connection closes when it returns.
    init(_ script: @escaping @Sendable (Int, Peer) -> Void) throws {
        let listener = try LoopbackSocket.listening(on: 0)
        endpoint = Endpoint(host: "127.0.0.1", port: UInt16(try listener.port))
        Thread.detachNewThread {
            var number = 0
            while let accepted = try? Peer(listener.accepted()) {
                let connection = number
                number += 1
                // Only the thread of the script uses it.
                nonisolated(unsafe) let peer = accepted
                Thread.detachNewThread { script(connection, peer) }
            }
        }
    }
}

/// The server's side of one connection, with blocking calls; it closes when it is released.
final class Peer {
    private let socket: LoopbackSocket
    private var received: [UInt8] = []

    init(_ socket: consuming LoopbackSocket) {
        self.socket = socket
    }

    /// Receives up to and including a text; nil if the client closed the connection before.
    func receive(until end: String) -> String? {
        receive(until: Array(end.utf8)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Receives up to and including some bytes; nil if the client closed the connection before.
    func receive(until end: [UInt8]) -> [UInt8]? {
        while true {
            if let range = received.firstRange(of: end) {
                defer { received.removeSubrange(..<range.upperBound) }
                return Array(received[..<range.upperBound])
            }
            guard let bytes = receive() else { return nil }
            received += bytes
        }
    }

    /// Receives a number of bytes; nil if the client closed the connection before.
    func receive(count: Int) -> [UInt8]? {
        while received.count < count {
            guard let bytes = receive() else { return nil }
            received += bytes
        }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    /// Waits until the client closes the connection.
    func receiveEnd() {
        while receive() != nil {}
    }

    func send(_ text: String) {
        send(Array(text.utf8))
    }

    /// Sends bytes; returns whether the connection is still open.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        do {
            try socket.write(bytes)
            return true
        } catch {
            return false
        }
    }

    /// Ends the output to the client, before the connection closes.
    func finish() {
        shutdown(socket.descriptor, Int32(SHUT_WR))
    }

    /// Ends the connection for both sides, so that a receiving thread continues.
    func shutDown() {
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
    }

    /// Closes the connection so that the client receives an error instead of the end.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Receives the next bytes; nil if the client closed the connection.
    func receive() -> [UInt8]? {
        let bytes = try? socket.read()
        return bytes?.isEmpty == false ? bytes : nil
    }
}

extension ContinuousClock.Instant {
    /// A deadline that does not expire in a test.
    static var distant: Self { .now + .seconds(300) }
}

/// Lets a deadline pass after something has happened, in as much time as this machine needs for that.
///
/// - Parameter body: returns false if the time was too short, to be called with a longer one.
func withEnoughTime(from first: Duration = .milliseconds(50), _ body: (Duration) async throws -> Bool) async throws {
    for factor in [1, 4, 16, 64, 256] {
        if try await body(first * factor) { return }
    }
    Issue.record("no time was long enough")
}
