import Foundation
import Testing

@testable import EtcdStorage

/// A server on 127.0.0.1 that treats each connection as a script says, on a thread of its own, until the process ends.
final class LoopbackServer: Sendable {
    let endpoint: Endpoint

    /// Starts to listen.
    ///
    /// - Parameter script: called with the number of each connection, from 0; the connection closes when it returns.
    init(_ script: @escaping @Sendable (Int, Peer) -> Void) throws {
        let listener = socket(AF_INET, SocketConstants.stream, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 128) == 0 && getsockname(listener, $0, &size) == 0 ? 0 : errno
            }
        }
        guard code == 0 else { throw SocketError(call: "listen", code: code) }
        endpoint = Endpoint(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread {
            var number = 0
            while true {
                let descriptor = accept(listener, nil, nil)
                guard descriptor >= 0 else { break }
                let connection = number
                number += 1
                Thread.detachNewThread { script(connection, Peer(descriptor)) }
            }
        }
    }
}

/// The server's side of one connection, with blocking calls; it closes when it is released.
final class Peer {
    private let descriptor: Int32
    private var received: [UInt8] = []

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        // A frame would wait for the acknowledgement of the one before, which the client's system delays.
        var isOn: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }

    deinit {
        close(descriptor)
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
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, SocketConstants.sendFlags) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Ends the bytes to the client, before the connection closes.
    func finish() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Ends the connection for both sides, so that a thread which receives goes on.
    func shutDown() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Closes the connection so that the client receives an error instead of the end.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private func receive() -> [UInt8]? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, initialized in
            count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            initialized = max(0, count)
        }
        return count > 0 ? bytes : nil
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
