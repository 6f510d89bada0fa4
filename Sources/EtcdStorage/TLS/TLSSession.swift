import FoundationSubset
import ObservableStorage

/// The client's side of a TLS connection, as a filter of bytes without I/O and time.
///
/// The first output is the start of the handshake. Every call may produce more output. The first error ends the session, and each later
/// call throws it again.
final class TLSSession: ByteFilter {
    private enum State {
        case handshake, open, closed
        case failed(TLSError)
    }

    /// Whether the server has sent the closing alert.
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

    /// Begins a session with a host, whose certificate has to contain its name or address.
    init(_ context: TLSContext, host: String, port: UInt16) throws {
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
        // The initializer would write to the empty array's storage, which all threads share.
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, taken in
            taken = Int(max(0, openSSL.bufferRead(output, bytes.baseAddress, Int32(clamping: count))))
        }
    }

    func received(_ bytes: [UInt8]) throws(TLSError) -> [UInt8] {
        // Bytes after the closing alert have no meaning, and would be kept forever.
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
            // The output is unlimited and there is no renegotiation, so that a record is always written at once.
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

    /// Whether the session is open or in the handshake; throws the error that has ended it.
    private func isUsable() throws(TLSError) -> Bool {
        switch state {
        case .handshake, .open: true
        case .closed: false
        case .failed(let error): throw error
        }
    }

    private func requireName() throws(StorageError) {
        let parameters = openSSL.sessionParameters(session)
        // As in browsers and Go: the subject is not a host name, and an asterisk matches a whole label.
        let neverCheckSubject: UInt32 = 0x20
        let noPartialWildcards: UInt32 = 0x4
        openSSL.parametersSetHostFlags(parameters, neverCheckSubject | noPartialWildcards)
        if openSSL.parametersSetAddress(parameters, name) == 1 { return }
        openSSL.clearErrors()
        // An empty name would disable the check.
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
        // Another protocol could misinterpret a request, so that nothing is sent to its server (RFC 9113, section 3.2).
        guard selectedProtocol == TLSContext.protocolName else { throw fail(.noHTTP2(peer: peer, selected: selectedProtocol)) }
        state = .open
    }

    private var selectedProtocol: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        openSSL.sessionProtocol(session, &start, &count)
        guard let start, count > 0 else { return nil }
        return String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    /// Whether a function of the session has succeeded; returns false if it needs more bytes of the server, or if the server sends no more.
    private func didSucceed(_ result: Int32) throws(TLSError) -> Bool {
        guard result <= 0 else { return true }
        let (wantRead, zeroReturn): (Int32, Int32) = (2, 6)
        switch openSSL.sessionError(session, result) {
        case wantRead:
            return false
        case zeroReturn:
            isClosedByPeer = true
            return false
        default:
            let (code, reason) = openSSL.takeErrorReason()
            let verification = openSSL.sessionVerifyResult(session)
            if verification != 0 {
                let reason = openSSL.verifyErrorReason(verification).map { String(cString: $0) } ?? "error \(verification)"
                throw fail(.untrusted(peer: peer, name: name, code: verification, reason: reason))
            }
            // Reasons above 1000 are received alerts.
            let alert = Int(code & 0xFFF) - 1000
            throw fail(0...255 ~= alert ? .refused(peer: peer, code: alert, reason: reason) : .malformed(peer: peer, reason: reason))
        }
    }

    private func fail(_ error: TLSError) -> TLSError {
        state = .failed(error)
        return error
    }

    private static let recordSize = 16_384
}
