import Dispatch
import FoundationSubset

/// A non-blocking TCP socket with events on a queue.
///
/// It is used on that queue only. Releasing it on any thread ends the events and closes the descriptor.
final class Socket {
    private let descriptor: Int32
    private let writeDescriptor: Int32
    private var readSource: (any DispatchSourceRead)?
    // Created when the send buffer is first full, which is rare.
    private var writeSource: (any DispatchSourceWrite)?
    private var isWriting = false
    private let queue: DispatchQueue
    private let onReadable: @Sendable () -> Void
    private let onWritable: @Sendable () -> Void

    /// Begins to connect; call ``isConnected()`` after the first event for writing.
    ///
    /// - Parameters:
    ///   - onReadable: called after ``startReading()`` when bytes, the end or an error can be read.
    ///   - onWritable: called while writing is resumed and bytes can be written.
    init(
        connectingTo address: SocketAddress, queue: DispatchQueue, onReadable: @escaping @Sendable () -> Void,
        onWritable: @escaping @Sendable () -> Void
    ) throws(ConnectionError.Reason) {
        let descriptor = Self.open(address.family)
        guard descriptor >= 0 else { throw .socket(call: "socket", code: errno) }
        // Each write is a complete request, which must not wait for more data.
        Self.set(TCP_NODELAY, of: descriptor, level: Int32(IPPROTO_TCP))
        // On Linux, Dispatch loses events if two sources of one descriptor are suspended and released independently.
        let writeDescriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        let code = writeDescriptor < 0 ? errno : address.withPointer { connect(descriptor, $0, $1) == 0 ? 0 : errno }
        guard code == 0 || code == EINPROGRESS || code == EINTR else {
            if writeDescriptor >= 0 { close(writeDescriptor) }
            close(descriptor)
            throw .socket(call: "connect", code: code)
        }
        self.descriptor = descriptor
        self.writeDescriptor = writeDescriptor
        self.queue = queue
        (self.onReadable, self.onWritable) = (onReadable, onWritable)
    }

    deinit {
        if let readSource { readSource.cancel() } else { close(descriptor) }
        if let writeSource {
            // A source must not be released while it is suspended, and its cancel handler would not run.
            if !isWriting { writeSource.resume() }
            writeSource.cancel()
        } else {
            close(writeDescriptor)
        }
    }

    /// Whether the connection is established; throws the reason if that failed.
    func isConnected() throws(ConnectionError.Reason) -> Bool {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size) != 0 { code = errno }
        guard code == 0 else { throw .socket(call: "connect", code: code) }
        var address = sockaddr()
        size = socklen_t(MemoryLayout<sockaddr>.size)
        return getpeername(descriptor, &address, &size) == 0
    }

    /// Reads up to a number of bytes; returns an empty array at the end, and nil if nothing has arrived.
    func read(atMost size: Int) throws(ConnectionError.Reason) -> [UInt8]? {
        var count = 0
        var code: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            repeat {
                count = recv(descriptor, buffer.baseAddress, size, 0)
                code = errno
            } while count < 0 && code == EINTR
            initialized = max(0, count)
        }
        if count >= 0 { return bytes }
        guard code == EAGAIN || code == EWOULDBLOCK else { throw .socket(call: "recv", code: code) }
        return nil
    }

    /// Writes bytes, and returns how many were accepted; 0 if the send buffer is full.
    func write(_ bytes: ArraySlice<UInt8>) throws(ConnectionError.Reason) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Self.sendFlags) }
            if count >= 0 { return count }
            if errno == EAGAIN || errno == EWOULDBLOCK { return 0 }
            guard errno == EINTR else { throw .socket(call: "send", code: errno) }
        }
    }

    /// Begins events for reading; called once.
    func startReading() {
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler(handler: onReadable)
        // A descriptor may be closed only after its source is cancelled.
        source.setCancelHandler { [descriptor] in close(descriptor) }
        source.activate()
        readSource = source
    }

    func resumeWriting() {
        guard !isWriting else { return }
        isWriting = true
        if let writeSource { return writeSource.resume() }
        let source = DispatchSource.makeWriteSource(fileDescriptor: writeDescriptor, queue: queue)
        source.setEventHandler(handler: onWritable)
        source.setCancelHandler { [writeDescriptor] in close(writeDescriptor) }
        source.activate()
        writeSource = source
    }

    func suspendWriting() {
        guard isWriting else { return }
        isWriting = false
        writeSource?.suspend()
    }

    fileprivate static func set(_ option: Int32, of descriptor: Int32, level: Int32) {
        var isOn: Int32 = 1
        setsockopt(descriptor, level, option, &isOn, socklen_t(MemoryLayout<Int32>.size))
    }
}

// Differences between platforms: the types of constants, and how to prevent that a write to a closed connection ends the process.
extension Socket {
    static let stream = number(SOCK_STREAM)

    fileprivate static func number(_ constant: Int32) -> Int32 { constant }

    // Glibc declares it as an enumeration.
    fileprivate static func number(_ constant: some RawRepresentable<UInt32>) -> Int32 { Int32(constant.rawValue) }
}

#if canImport(Darwin)
    extension Socket {
        static let sendFlags: Int32 = 0

        /// Creates a non-blocking socket that child processes do not inherit; -1 with `errno` if that fails.
        static func open(_ family: Int32) -> Int32 {
            let descriptor = socket(family, stream, 0)
            guard descriptor >= 0 else { return descriptor }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            set(SO_NOSIGPIPE, of: descriptor, level: SOL_SOCKET)
            return descriptor
        }
    }
#else
    extension Socket {
        private static let openFlags = number(SOCK_NONBLOCK) | number(SOCK_CLOEXEC)
        static let sendFlags = Int32(MSG_NOSIGNAL)

        /// Creates a non-blocking socket that child processes do not inherit; -1 with `errno` if that fails.
        static func open(_ family: Int32) -> Int32 {
            socket(family, stream | openFlags, 0)
        }
    }
#endif
