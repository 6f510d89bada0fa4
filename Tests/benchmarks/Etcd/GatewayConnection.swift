import Foundation
import ObservableStorage
import TestSupport

/// A connection to the JSON gateway of etcd with the fewest system calls: the baseline, and a writer that is the same for both sides.
///
/// It blocks on a queue of its own, and never a thread of the pool that the measured stores run on.
actor GatewayConnection {
    private let executor = DispatchQueueExecutor(label: "GatewayConnection")
    private let port: Int
    private var descriptor: Int32

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(port: Int) throws {
        self.port = port
        descriptor = try Self.connected(to: port)
    }

    deinit {
        close(descriptor)
    }

    /// Sends a request with a short answer on the open connection, and returns the body of the answer.
    @discardableResult
    func post(_ path: String, _ body: String) throws -> String {
        try send("POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", on: descriptor)
        var received: [UInt8] = []
        while try receive(&received, from: descriptor) {
            let text = String(decoding: received, as: UTF8.self)
            guard let end = text.range(of: "\r\n\r\n") else { continue }
            guard let field = text.range(of: "Content-Length: "), let length = Int(text[field.upperBound...].prefix { $0.isNumber }) else {
                throw Failure("etcd's answer has no length: \(text)")
            }
            let answer = text[end.upperBound...]
            guard answer.utf8.count >= length else { continue }
            try Failure.unless(text.hasPrefix("HTTP/1.1 200"), text)
            return String(answer)
        }
        throw Failure("etcd has closed a connection")
    }

    /// Sends a request on a connection that the server closes after its answer, and returns the number of bytes of the answer.
    func postOnce(_ path: String, _ body: String) throws -> Int {
        let once = try Self.connected(to: port)
        defer { close(once) }
        try send("POST \(path) HTTP/1.0\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", on: once)
        var received: [UInt8] = []
        received.reserveCapacity(1 << 20)
        while try receive(&received, from: once) {}
        try Failure.unless(received.starts(with: Array("HTTP/1.0 200".utf8)), String(decoding: received, as: UTF8.self))
        return received.count
    }

    /// Puts a value.
    func put(_ key: String, _ value: [UInt8]) throws {
        try post("/v3/kv/put", Self.put(key, value))
    }

    /// Puts values in one transaction.
    func put(all puts: [(key: String, value: [UInt8])]) throws {
        let operations = puts.map { "{\"request_put\":\(Self.put($0.key, $0.value))}" }.joined(separator: ",")
        // An answer to many operations is divided into chunks on the open connection.
        _ = try postOnce("/v3/kv/txn", "{\"success\":[\(operations)]}")
    }

    /// Watches a key for as long as the connection is open, which takes no other request then.
    ///
    /// - Parameter receive: is called on a thread for each event.
    func watch(_ key: String, _ receive: @escaping @Sendable () -> Void) throws {
        let body = "{\"create_request\":{\"key\":\"\(Self.base64(key.utf8))\",\"start_revision\":\"1\"}}"
        try send("POST /v3/watch HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)", on: descriptor)
        let descriptor = dup(descriptor)
        Thread.detachNewThread {
            defer { close(descriptor) }
            let mark = Data("\"events\":".utf8)
            withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
                while case let count = read(descriptor, buffer.baseAddress, buffer.count), count > 0 {
                    if Data(buffer[..<count]).range(of: mark) != nil { receive() }
                }
            }
        }
    }

    /// Ends the connection, and the thread of a watch.
    func end() {
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// Bytes as the gateway takes them.
    static func base64(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString()
    }

    private static func put(_ key: String, _ value: [UInt8]) -> String {
        "{\"key\":\"\(base64(key.utf8))\",\"value\":\"\(base64(value))\"}"
    }

    // MARK: - Sockets

    private func send(_ text: String, on descriptor: Int32) throws {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            try Failure.unless(count > 0, "a request cannot be sent to etcd")
            rest = rest.dropFirst(count)
        }
    }

    /// Appends bytes that arrive; returns false at the end.
    private func receive(_ bytes: inout [UInt8], from descriptor: Int32) throws -> Bool {
        let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
            let count = read(descriptor, buffer.baseAddress, buffer.count)
            if count > 0 { bytes += buffer[..<count] }
            return count
        }
        try Failure.unless(count >= 0, "an answer of etcd cannot be read")
        return count > 0
    }

    private static func connected(to port: Int) throws -> Int32 {
        let descriptor = try made()
        let status = LoopbackSocket.withAddress(of: port) { connect(descriptor, $0, $1) }
        if status != 0 { close(descriptor) }
        try Failure.unless(status == 0, "etcd cannot be reached at port \(port)")
        return descriptor
    }

    private static func made() throws -> Int32 {
        let descriptor = socket(AF_INET, streamType, 0)
        try Failure.unless(descriptor >= 0, "there are too many open files")
        // Programs that are started meanwhile must not keep it open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
    }
}

#if canImport(Darwin)
    private let streamType = SOCK_STREAM
#else
    private let streamType = Int32(SOCK_STREAM.rawValue)
#endif
