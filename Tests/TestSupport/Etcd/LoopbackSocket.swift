import Foundation

/// A blocking TCP socket on 127.0.0.1, closed when it is released.
public struct LoopbackSocket: ~Copyable, Sendable {
    /// A system call that failed.
    public struct Failure: Error, CustomStringConvertible {
        /// The name of the call.
        let call: String
        /// Its `errno`.
        let code: Int32

        /// The call and the reason.
        public var description: String { "\(call): \(String(cString: strerror(code)))" }
    }

    /// The descriptor, owned by the socket.
    public let descriptor: Int32

    private init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        _ = close(descriptor)
    }

    /// Connects to a port; each later read and write fails after `timeout`, by default never.
    public static func connected(to port: Int, timeout: Duration = .zero) throws -> LoopbackSocket {
        let socket = try make()
        var limit = timeval()
        limit.tv_sec = numericCast(timeout.components.seconds)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            _ = setsockopt(socket.descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        try check("connect", withAddress(of: port) { connect(socket.descriptor, $0, $1) })
        return socket
    }

    /// Listens on a port; 0 for one that the system chooses.
    public static func listening(on port: Int) throws -> LoopbackSocket {
        let socket = try make()
        try socket.enable(SO_REUSEADDR)
        try check("bind", withAddress(of: port) { bind(socket.descriptor, $0, $1) })
        try check("listen", listen(socket.descriptor, 128))
        return socket
    }

    /// The port that it is bound to.
    public var port: Int {
        get throws {
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            try Self.check(
                "getsockname",
                withUnsafeMutablePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
                })
            return Int(UInt16(bigEndian: address.sin_port))
        }
    }

    /// Waits for the next connection to a socket that listens.
    public borrowing func accepted() throws -> LoopbackSocket {
        try LoopbackSocket(owning: Self.check("accept", accept(descriptor, nil, nil))).prepared()
    }

    /// Writes all the bytes.
    public borrowing func write(_ bytes: [UInt8]) throws {
        try Self.write(bytes, to: descriptor)
    }

    /// Writes all the bytes to a socket that another value owns.
    public static func write(_ bytes: [UInt8], to descriptor: Int32) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, sendFlags) }
            rest = rest.dropFirst(try check("send", count))
        }
    }

    /// The next bytes that arrive; none at the end.
    public borrowing func read(atMost limit: Int = 65_536) throws -> [UInt8] {
        let socket = descriptor
        var failure: Failure?
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let received = recv(socket, buffer.baseAddress, limit, 0)
            if received < 0 { failure = Failure(call: "recv", code: errno) }
            count = max(received, 0)
        }
        if let failure { throw failure }
        return bytes
    }

    private static func make() throws -> LoopbackSocket {
        try LoopbackSocket(owning: check("socket", socket(AF_INET, streamType, 0))).prepared()
    }

    private consuming func prepared() throws -> LoopbackSocket {
        // A server that a test starts meanwhile must not keep it open.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // What is written would wait for the acknowledgement of what was written before, which the other side's system delays.
        try enable(TCP_NODELAY, level: Int32(IPPROTO_TCP))
        if let noSignalOption { try enable(noSignalOption) }
        return self
    }

    private borrowing func enable(_ option: Int32, level: Int32 = SOL_SOCKET) throws {
        var on: Int32 = 1
        try Self.check("setsockopt", setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size)))
    }

    @discardableResult
    private static func check<Result: SignedInteger>(_ call: String, _ result: Result) throws -> Result {
        guard result >= 0 else { throw Failure(call: call, code: errno) }
        return result
    }

    private static func withAddress(of port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        return withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
        }
    }
}

#if canImport(Darwin)
    private let streamType = SOCK_STREAM
    private let sendFlags: Int32 = 0
    private let noSignalOption: Int32? = SO_NOSIGPIPE
#else
    private let streamType = Int32(SOCK_STREAM.rawValue)
    private let sendFlags = Int32(MSG_NOSIGNAL)
    private let noSignalOption: Int32? = nil
#endif
