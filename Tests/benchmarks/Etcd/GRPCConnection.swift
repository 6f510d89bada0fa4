import Foundation
import ObservableStorage
import TestSupport

/// A connection to etcd that makes calls of gRPC with the fewest system calls, and without any of the library's code: the baseline, and a
/// writer that is the same for both sides.
///
/// It blocks on a queue of its own, and never a thread of the pool that the measured stores run on.
actor GRPCConnection {
    private enum Frame {
        static let data: UInt8 = 0
        static let headers: UInt8 = 1
        static let settings: UInt8 = 4
        static let ping: UInt8 = 6
        static let windowUpdate: UInt8 = 8
        static let end: UInt8 = 1
        static let endHeaders: UInt8 = 4
        static let acknowledgement: UInt8 = 1
    }

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let largestWindow: UInt32 = 1 << 31 - 1

    private let executor = DispatchQueueExecutor(label: "GRPCConnection")
    private let socket: LoopbackSocket
    private var stream: UInt32 = 1
    private var reader: FrameReader
    private var received: UInt32 = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(port: Int) throws {
        socket = try LoopbackSocket.connected(to: port)
        reader = FrameReader(of: socket.descriptor)
        // The server never has to wait until it may send more.
        let window = Self.frame(Frame.settings, [0, 4] + Self.bytes(Self.largestWindow))
        try socket.write(Self.preface + window + Self.frame(Frame.windowUpdate, Self.bytes(Self.largestWindow - 65_535)))
    }

    /// Makes a call with one message, and returns the message of the answer.
    @discardableResult
    func call(_ path: String, _ message: Message) throws -> [UInt8] {
        try begin(path, message, isEnd: true)
        var answer: [UInt8] = []
        while true {
            let frame = try reader.next()
            guard frame.stream == stream else { continue }
            if frame.type == Frame.data { answer += frame.payload }
            if frame.flags & Frame.end != 0 { break }
        }
        stream += 2
        try allowMore(than: answer.count)
        try Failure.unless(answer.count >= 5, "etcd refuses \(path)")
        return Array(answer.dropFirst(5))
    }

    /// Puts a value.
    func put(_ key: String, _ value: [UInt8]) throws {
        try call("/etcdserverpb.KV/Put", Message().bytes(1, key.utf8).bytes(2, value))
    }

    /// Puts values in one transaction.
    func put(all puts: [(key: String, value: [UInt8])]) throws {
        let operations = puts.reduce(Message()) { message, put in
            message.bytes(2, Message().bytes(2, Message().bytes(1, put.key.utf8).bytes(2, put.value).bytes).bytes)
        }
        try call("/etcdserverpb.KV/Txn", operations)
    }

    /// Watches a key for as long as the connection is open, which takes no other call then.
    ///
    /// - Parameter receive: is called on a thread for each message with events.
    func watch(_ key: String, _ receive: @escaping @Sendable () -> Void) throws {
        try begin("/etcdserverpb.Watch/Watch", Message().bytes(1, Message().bytes(1, key.utf8).number(3, 1).bytes), isEnd: false)
        let reader = FrameReader(of: dup(socket.descriptor))
        Thread.detachNewThread {
            defer { close(reader.descriptor) }
            var reader = reader
            do {
                while true {
                    let frame = try reader.next()
                    // What is told of the beginning has no events, which are the eleventh field.
                    if frame.type == Frame.data, frame.payload.contains(11 << 3 | 2) { receive() }
                }
            } catch {
                // The connection was ended.
            }
        }
    }

    /// Ends the connection, and the thread of a watch.
    nonisolated func end() {
        shutdown(socket.descriptor, Int32(SHUT_RDWR))
    }

    // MARK: - Frames

    /// The fields of a message of protobuf, in the order in which they are added.
    struct Message: Sendable {
        private(set) var bytes: [UInt8] = []

        /// Adds a field with bytes, or with another message.
        func bytes(_ field: UInt8, _ value: some Collection<UInt8>) -> Message {
            var copy = self
            copy.bytes.append(field << 3 | 2)
            copy.append(UInt64(value.count))
            copy.bytes += value
            return copy
        }

        /// Adds a field with a number.
        func number(_ field: UInt8, _ value: Int64) -> Message {
            var copy = self
            copy.bytes.append(field << 3)
            copy.append(UInt64(bitPattern: value))
            return copy
        }

        private mutating func append(_ value: UInt64) {
            var rest = value
            while rest >= 0x80 {
                bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
    }

    private func begin(_ path: String, _ message: Message, isEnd: Bool) throws {
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "localhost"), ("content-type", "application/grpc"),
            ("te", "trailers"),
        ]
        let block = fields.reduce(into: [UInt8]()) { block, field in
            block += [0, UInt8(field.0.utf8.count)] + field.0.utf8 + [UInt8(field.1.utf8.count)] + field.1.utf8
        }
        var bytes = Self.frame(Frame.headers, flags: Frame.endHeaders, stream: stream, block)
        var rest = ([0] + Self.bytes(UInt32(message.bytes.count)) + message.bytes)[...]
        repeat {
            let part = rest.prefix(16_384)
            rest = rest.dropFirst(part.count)
            bytes += Self.frame(Frame.data, flags: isEnd && rest.isEmpty ? Frame.end : 0, stream: stream, Array(part))
        } while !rest.isEmpty
        try socket.write(bytes)
    }

    private func allowMore(than count: Int) throws {
        received += UInt32(count)
        guard received > Self.largestWindow / 2 else { return }
        try socket.write(Self.frame(Frame.windowUpdate, Self.bytes(received)))
        received = 0
    }

    /// Reads frames, and acknowledges what the server wants to be acknowledged.
    private struct FrameReader: Sendable {
        let descriptor: Int32
        private var input: [UInt8] = []

        init(of descriptor: Int32) {
            self.descriptor = descriptor
        }

        /// Waits for the next frame.
        mutating func next() throws -> (type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) {
            while true {
                let length = input.count < 9 ? 0 : Int(input[0]) << 16 | Int(input[1]) << 8 | Int(input[2])
                guard input.count >= 9 + length else {
                    try receive()
                    continue
                }
                let (type, flags) = (input[3], input[4])
                let stream = input[5..<9].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
                let payload = Array(input[9..<(9 + length)])
                input.removeFirst(9 + length)
                if type == Frame.settings || type == Frame.ping, flags & Frame.acknowledgement == 0 {
                    let answer = GRPCConnection.frame(type, flags: Frame.acknowledgement, type == Frame.ping ? payload : [])
                    try LoopbackSocket.write(answer, to: descriptor)
                }
                return (type, flags, stream, payload)
            }
        }

        private mutating func receive() throws {
            let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
                let count = read(descriptor, buffer.baseAddress, buffer.count)
                if count > 0 { input += buffer[..<count] }
                return count
            }
            try Failure.unless(count >= 0, "an answer of etcd cannot be read")
            try Failure.unless(count > 0, "etcd has closed a connection")
        }
    }

    private static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8]) -> [UInt8] {
        Array(bytes(UInt32(payload.count)).dropFirst()) + [type, flags] + bytes(stream) + payload
    }

    private static func bytes(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
