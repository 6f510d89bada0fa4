import Dispatch
import FoundationSubset
import ObservableStorage

/// The shared state of all sessions of a configuration: trusted authorities, the client certificate, protocol versions.
///
/// The unchecked conformance holds because OpenSSL counts references to its context atomically, and only reads it after the initializer.
final class TLSContext: @unchecked Sendable {
    /// The name of HTTP/2 over TLS, the only protocol that is offered to servers (ALPN).
    static let protocolName = "h2"

    /// The functions to use with ``pointer``.
    let openSSL: OpenSSL
    /// OpenSSL's context, valid for the lifetime of this object.
    let pointer: OpaquePointer
    let configuration: TLSConfiguration
    private let readFile: FileReader

    typealias FileReader = @Sendable (_ path: String) throws -> Data

    static let readFile: FileReader = { try Data(contentsOf: URL(fileURLWithPath: $0)) }

    init(_ configuration: TLSConfiguration, readFile: @escaping FileReader = TLSContext.readFile) throws(StorageError) {
        self.readFile = readFile
        openSSL = try OpenSSL.shared.get()
        openSSL.clearErrors()
        guard let pointer = openSSL.contextNew(openSSL.clientMethod()) else {
            throw .openSSL("it creates no context: \(openSSL.takeErrorReason().text)")
        }
        self.pointer = pointer
        self.configuration = configuration
        try setProtocol()
        try trust(configuration.authorities)
        if let identity = configuration.identity { try use(identity) }
    }

    deinit {
        openSSL.contextFree(pointer)
    }

    /// This context, or a new one if the configuration names files, because short-lived certificates are renewed there.
    ///
    /// etcd's own clients also read them for each connection. It takes 3 ms, and is done on another thread: the file system may hang.
    func current() async throws(StorageError) -> TLSContext {
        guard configuration.hasFiles else { return self }
        // Through a lock, because the thread sanitizer does not see the order if a continuation is resumed before it is awaited.
        let result = Lock<Result<TLSContext, StorageError>>(.success(self))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [configuration, readFile] in
                result.exchange(Result { () throws(StorageError) in try TLSContext(configuration, readFile: readFile) })
                continuation.resume()
            }
        }
        return try result.withLock { $0 }.get()
    }

    private func setProtocol() throws(StorageError) {
        let (addModes, setMinimumVersion): (Int32, Int32) = (33, 123)
        let tls12 = 0x0303
        let noRenegotiation: UInt64 = 1 << 30
        // Idle connections then keep no record buffers, which saves 34 KB each.
        let releaseBuffers = 0x10
        let protocols = [UInt8(Self.protocolName.utf8.count)] + Array(Self.protocolName.utf8)
        // Unlike the other functions, this one returns 0 on success.
        let isProtocolSet = openSSL.contextSetProtocols(pointer, protocols, UInt32(protocols.count)) == 0
        guard openSSL.contextControl(pointer, setMinimumVersion, tls12, nil) == 1, isProtocolSet else {
            throw .openSSL("it does not support TLS 1.2: \(openSSL.takeErrorReason().text)")
        }
        _ = openSSL.contextSetOptions(pointer, noRenegotiation)
        _ = openSSL.contextControl(pointer, addModes, releaseBuffers, nil)
        let verifyPeer: Int32 = 1
        openSSL.contextSetVerify(pointer, verifyPeer, nil)
    }

    private func trust(_ authorities: TLSConfiguration.Authorities) throws(StorageError) {
        switch authorities {
        case .system:
            guard openSSL.contextSetDefaultVerifyPaths(pointer) == 1 else {
                throw .openSSL(
                    "it can't read the system's authorities: \(openSSL.takeErrorReason().text)",
                    remedy: "name the authorities in the configuration")
            }
        case .certificates(let pem):
            let store = openSSL.contextStore(pointer)
            try forEachCertificate(in: pem) { certificate, _ in openSSL.storeAddCertificate(store, certificate) == 1 }
        }
    }

    private func use(_ identity: TLSConfiguration.Identity) throws(StorageError) {
        let addChainCertificate: Int32 = 89
        try forEachCertificate(in: identity.certificate) { certificate, position in
            // The others are intermediate certificates.
            position == 0
                ? openSSL.contextUseCertificate(pointer, certificate) == 1
                : openSSL.contextControl(pointer, addChainCertificate, 1, UnsafeMutableRawPointer(certificate)) == 1
        }
        let buffer = try buffer(of: identity.key)
        defer { _ = openSSL.bufferFree(buffer) }
        // Without a callback, OpenSSL asks for the password on the terminal.
        guard let key = openSSL.pemReadPrivateKey(buffer, nil, { _, _, _, _ in -1 }, nil) else {
            throw .invalidConfiguration(
                item: identity.key.source, reason: openSSL.takeErrorReason().text,
                remedy: "give a private key in PEM format without a password")
        }
        defer { openSSL.privateKeyFree(key) }
        guard openSSL.contextUsePrivateKey(pointer, key) == 1 else {
            throw .invalidConfiguration(
                item: identity.key.source, reason: openSSL.takeErrorReason().text,
                remedy: "give the private key of \(identity.certificate.source)")
        }
    }

    private func forEachCertificate(
        in pem: TLSConfiguration.PEM, _ body: (_ certificate: OpaquePointer, _ position: Int) -> Bool
    ) throws(StorageError) {
        let buffer = try buffer(of: pem)
        defer { _ = openSSL.bufferFree(buffer) }
        var count = 0
        while let certificate = openSSL.pemReadCertificate(buffer, nil, nil, nil) {
            defer { openSSL.certificateFree(certificate) }
            guard body(certificate, count) else { throw invalidCertificate(pem, openSSL.takeErrorReason().text) }
            count += 1
        }
        let reason = openSSL.takeErrorReason().text
        guard reason == "no start line" else { throw invalidCertificate(pem, reason) }
        guard count > 0 else { throw invalidCertificate(pem, "there is no certificate in it") }
    }

    private func invalidCertificate(_ pem: TLSConfiguration.PEM, _ reason: String) -> StorageError {
        .invalidConfiguration(item: pem.source, reason: reason, remedy: "give certificates in PEM format")
    }

    private func buffer(of pem: TLSConfiguration.PEM) throws(StorageError) -> OpaquePointer? {
        let bytes = try pem.content(readFile)
        let buffer = openSSL.bufferNew(openSSL.memoryMethod())
        _ = openSSL.bufferWrite(buffer, bytes, Int32(clamping: bytes.count))
        return buffer
    }
}

extension TLSConfiguration {
    fileprivate var hasFiles: Bool {
        if case .certificates(.file) = authorities { return true }
        return [identity?.certificate, identity?.key].contains { if case .file? = $0 { true } else { false } }
    }
}

extension TLSConfiguration.PEM {
    fileprivate var source: String {
        switch self {
        case .file(let path): path
        case .bytes: "the given PEM"
        }
    }

    fileprivate func content(_ readFile: TLSContext.FileReader) throws(StorageError) -> [UInt8] {
        switch self {
        case .bytes(let bytes): return bytes
        case .file(let path):
            do {
                return [UInt8](try readFile(path))
            } catch {
                throw .unreadable(file: path, reason: "\(error); check the path and its permissions")
            }
        }
    }
}
