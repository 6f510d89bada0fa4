import FoundationSubset
import ObservableStorage

/// The client's side of one TLS connection, as a transformation of bytes: it knows neither sockets nor time.
///
/// It is used where a filter is. The first output is the start of the handshake. Every call that takes something may
/// lead to more output. The first error ends the session, and each later call throws it again.
final class TLSSession: ByteFilter {
    private enum State {
        case handshake, open, closed
        case failed(TLSError)
    }

    /// Whether the server has announced that it sends no more.
    private(set) var isClosedByPeer = false
    private var state = State.handshake
    private let context: TLSContext
    private let openSSL: OpenSSL
    private let session: OpaquePointer
    // Both belong to the session.
    private let input: OpaquePointer?
    private let output: OpaquePointer?
    private let peer: String
    private let name: String

    /// Begins a session with a host, whose certificate has to be for its name or address.
    ///
    /// It reads the files of the configuration again, if there are any.
    init(_ context: TLSContext, host: String, port: UInt16) throws {
        let context = try context.current()
        self.context = context
        openSSL = context.openSSL
        peer = "\(host):\(port)"
        name = context.configuration.serverName ?? host
        openSSL.clearErrors()
        guard let session = openSSL.sessionNew(context.pointer) else {
            throw StorageError.openSSL("it creates no session: \(openSSL.takeErrorReason().text)")
        }
        self.session = session
        input = openSSL.bufferNew(openSSL.memoryMethod())
        output = openSSL.bufferNew(openSSL.memoryMethod())
        openSSL.sessionSetBuffers(session, input, output)
        openSSL.sessionSetConnectState(session)
        try requireName()
        try advanceHandshake()
    }

    deinit {
        openSSL.sessionFree(session)
    }

    var isReady: Bool {
        if case .open = state { true } else { false }
    }

    func takePendingOutput() -> [UInt8] {
        let count = openSSL.bufferCount(output)
        // Also because an array without capacity is one object for all threads, whose count the initializer would write.
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, taken in
            taken = Int(max(0, openSSL.bufferRead(output, bytes.baseAddress, Int32(clamping: count))))
        }
    }

    func received(_ bytes: [UInt8]) throws(TLSError) -> [UInt8] {
        // What follows the closing alert has no meaning, and would be kept for ever.
        guard try isUsable(), !isClosedByPeer, !bytes.isEmpty else { return [] }
        openSSL.clearErrors()
        guard openSSL.bufferWrite(input, bytes, Int32(clamping: bytes.count)) == bytes.count else {
            throw fail(.malformed(peer: peer, reason: "\(bytes.count) bytes can't be kept in memory"))
        }
        try advanceHandshake()
        guard isReady else { return [] }
        var content: [UInt8] = []
        content.reserveCapacity(bytes.count)
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.recordSize) { record throws(TLSError) in
            while case let count = openSSL.sessionRead(session, record.baseAddress, Int32(record.count)), try didSucceed(count) {
                content.append(contentsOf: UnsafeBufferPointer(rebasing: record[..<Int(count)]))
            }
        }
        return content
    }

    func receivedEnd() throws(TLSError) {
        guard try isUsable(), !isClosedByPeer else { return }
        throw fail(.truncated(peer: peer, isReady: isReady))
    }

    /// Encrypts bytes, once ``isReady``.
    func send(_ bytes: [UInt8]) throws(TLSError) -> [UInt8] {
        guard try isUsable() else { return [] }
        precondition(isReady, "Content can only be sent after the handshake")
        openSSL.clearErrors()
        var rest = bytes[...]
        while !rest.isEmpty {
            let part = rest.prefix(Self.recordSize)
            let count = part.withUnsafeBytes { openSSL.sessionWrite(session, $0.baseAddress, Int32($0.count)) }
            // The output has no limit, and nothing renegotiates, so a record is always written at once.
            guard try didSucceed(count) else { throw fail(.malformed(peer: peer, reason: "OpenSSL does not write")) }
            rest = rest.dropFirst(Int(count))
        }
        return takePendingOutput()
    }

    func close() {
        if isReady {
            openSSL.clearErrors()
            _ = openSSL.sessionShutDown(session)
            openSSL.clearErrors()
        }
        if case .failed = state { return }
        state = .closed
    }

    /// Whether bytes have a meaning still.
    private func isUsable() throws(TLSError) -> Bool {
        switch state {
        case .handshake, .open: true
        case .closed: false
        case .failed(let error): throw error
        }
    }

    private func requireName() throws(StorageError) {
        let parameters = openSSL.sessionParameters(session)
        // As browsers and Go: the subject is no name of a host, and an asterisk stands for a whole label.
        let neverCheckSubject: UInt32 = 0x20
        let noPartialWildcards: UInt32 = 0x4
        openSSL.parametersSetHostFlags(parameters, neverCheckSubject | noPartialWildcards)
        if openSSL.parametersSetAddress(parameters, name) == 1 { return }
        openSSL.clearErrors()
        // An empty name would turn the check off.
        let setServerName: Int32 = 55
        guard !name.isEmpty, openSSL.parametersSetHost(parameters, name, name.utf8.count) == 1,
            name.withCString({ openSSL.sessionControl(session, setServerName, 0, UnsafeMutableRawPointer(mutating: $0)) }) == 1
        else {
            throw .invalidConfiguration(item: "\"\(name)\"", reason: "it is not a host name", remedy: "correct the endpoint or serverName")
        }
    }

    private func advanceHandshake() throws(TLSError) {
        guard case .handshake = state else { return }
        guard try didSucceed(openSSL.sessionHandshake(session)) else { return }
        // A server of another protocol could take a request for one of its own: nothing is sent to it (RFC 9113, section 3.2).
        guard selectedProtocol == TLSContext.protocolName else { throw fail(.noHTTP2(peer: peer, selected: selectedProtocol)) }
        state = .open
    }

    /// The protocol that the server has selected; nil if it has selected none.
    private var selectedProtocol: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        openSSL.sessionProtocol(session, &start, &count)
        guard let start, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// Whether a function of the session did what it should; otherwise it needs more of the server's bytes, or there are no more.
    private func didSucceed(_ result: Int32) throws(TLSError) -> Bool {
        guard result <= 0 else { return true }
        switch openSSL.sessionError(session, result) {
        case SessionError.wantRead:
            return false
        case SessionError.zeroReturn:
            isClosedByPeer = true
            return false
        default:
            let (code, reason) = openSSL.takeErrorReason()
            let verification = openSSL.sessionVerifyResult(session)
            if verification != 0 {
                let reason = openSSL.verifyErrorReason(verification).map { String(cString: $0) } ?? "error \(verification)"
                throw fail(.untrusted(peer: peer, name: name, code: verification, reason: reason))
            }
            // Reasons above 1000 are alerts that were received.
            let alert = Int(code & 0xFFF) - 1000
            throw fail(0...255 ~= alert ? .refused(peer: peer, code: alert, reason: reason) : .malformed(peer: peer, reason: reason))
        }
    }

    private func fail(_ error: TLSError) -> TLSError {
        state = .failed(error)
        return error
    }

    private static let recordSize = 16_384

    private enum SessionError {
        static let wantRead: Int32 = 2
        static let zeroReturn: Int32 = 6
    }
}
