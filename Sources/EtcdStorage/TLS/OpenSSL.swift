import FoundationSubset
import ObservableStorage

/// The functions of the system's OpenSSL that this library calls, loaded at run time.
///
/// Nothing is linked: programs without TLS need no OpenSSL, and security updates are those of the system. Each property is the function of
/// a similar name in OpenSSL's manual. All pointers are opaque.
struct OpenSSL: Sendable {
    typealias Object = OpaquePointer?
    /// Provides the password of a private key.
    typealias PasswordCallback = @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32

    // Errors, in a queue for each thread.
    let clearErrors: @convention(c) @Sendable () -> Void
    let getError: @convention(c) @Sendable () -> UInt
    let errorReason: @convention(c) @Sendable (UInt) -> UnsafePointer<CChar>?
    let verifyErrorReason: @convention(c) @Sendable (Int) -> UnsafePointer<CChar>?

    // Contexts.
    let clientMethod: @convention(c) @Sendable () -> Object
    let contextNew: @convention(c) @Sendable (Object) -> Object
    let contextFree: @convention(c) @Sendable (Object) -> Void
    let contextControl: @convention(c) @Sendable (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let contextSetOptions: @convention(c) @Sendable (Object, UInt64) -> UInt64
    let contextSetVerify: @convention(c) @Sendable (Object, Int32, Object) -> Void
    let contextSetProtocols: @convention(c) @Sendable (Object, UnsafePointer<UInt8>, UInt32) -> Int32
    let contextSetDefaultVerifyPaths: @convention(c) @Sendable (Object) -> Int32
    let contextStore: @convention(c) @Sendable (Object) -> Object
    let contextUseCertificate: @convention(c) @Sendable (Object, Object) -> Int32
    let contextUsePrivateKey: @convention(c) @Sendable (Object, Object) -> Int32

    // Certificates and keys.
    let storeAddCertificate: @convention(c) @Sendable (Object, Object) -> Int32
    let pemReadCertificate: @convention(c) @Sendable (Object, Object, PasswordCallback?, Object) -> Object
    let pemReadPrivateKey: @convention(c) @Sendable (Object, Object, PasswordCallback?, Object) -> Object
    let certificateFree: @convention(c) @Sendable (Object) -> Void
    let privateKeyFree: @convention(c) @Sendable (Object) -> Void

    // Sessions.
    let sessionNew: @convention(c) @Sendable (Object) -> Object
    let sessionFree: @convention(c) @Sendable (Object) -> Void
    let sessionControl: @convention(c) @Sendable (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int
    let sessionParameters: @convention(c) @Sendable (Object) -> Object
    let parametersSetHost: @convention(c) @Sendable (Object, UnsafePointer<CChar>, Int) -> Int32
    let parametersSetAddress: @convention(c) @Sendable (Object, UnsafePointer<CChar>) -> Int32
    let parametersSetHostFlags: @convention(c) @Sendable (Object, UInt32) -> Void
    let sessionSetBuffers: @convention(c) @Sendable (Object, Object, Object) -> Void
    let sessionSetConnectState: @convention(c) @Sendable (Object) -> Void
    let sessionHandshake: @convention(c) @Sendable (Object) -> Int32
    let sessionRead: @convention(c) @Sendable (Object, UnsafeMutableRawPointer?, Int32) -> Int32
    let sessionWrite: @convention(c) @Sendable (Object, UnsafeRawPointer?, Int32) -> Int32
    let sessionShutDown: @convention(c) @Sendable (Object) -> Int32
    let sessionError: @convention(c) @Sendable (Object, Int32) -> Int32
    let sessionVerifyResult: @convention(c) @Sendable (Object) -> Int
    let sessionProtocol:
        @convention(c) @Sendable (Object, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt32>) -> Void

    // Buffers.
    let memoryMethod: @convention(c) @Sendable () -> Object
    let bufferNew: @convention(c) @Sendable (Object) -> Object
    let bufferFree: @convention(c) @Sendable (Object) -> Int32
    let bufferWrite: @convention(c) @Sendable (Object, UnsafeRawPointer?, Int32) -> Int32
    let bufferRead: @convention(c) @Sendable (Object, UnsafeMutableRawPointer?, Int32) -> Int32
    let bufferCount: @convention(c) @Sendable (Object) -> Int

    private static let loaded = Result { () throws(StorageError) in try OpenSSL(OpenSSLLibrary.shared.get()) }

    /// The functions of the system's OpenSSL, initialized.
    static func shared() throws(StorageError) -> OpenSSL {
        try loaded.get()
    }

    private init(_ library: OpenSSLLibrary) throws(StorageError) {
        clearErrors = try library.function("ERR_clear_error")
        getError = try library.function("ERR_get_error")
        errorReason = try library.function("ERR_reason_error_string")
        verifyErrorReason = try library.function("X509_verify_cert_error_string")

        clientMethod = try library.function("TLS_client_method")
        contextNew = try library.function("SSL_CTX_new")
        contextFree = try library.function("SSL_CTX_free")
        contextControl = try library.function("SSL_CTX_ctrl")
        contextSetOptions = try library.function("SSL_CTX_set_options")
        contextSetVerify = try library.function("SSL_CTX_set_verify")
        contextSetProtocols = try library.function("SSL_CTX_set_alpn_protos")
        contextSetDefaultVerifyPaths = try library.function("SSL_CTX_set_default_verify_paths")
        contextStore = try library.function("SSL_CTX_get_cert_store")
        contextUseCertificate = try library.function("SSL_CTX_use_certificate")
        contextUsePrivateKey = try library.function("SSL_CTX_use_PrivateKey")

        storeAddCertificate = try library.function("X509_STORE_add_cert")
        pemReadCertificate = try library.function("PEM_read_bio_X509")
        pemReadPrivateKey = try library.function("PEM_read_bio_PrivateKey")
        certificateFree = try library.function("X509_free")
        privateKeyFree = try library.function("EVP_PKEY_free")

        sessionNew = try library.function("SSL_new")
        sessionFree = try library.function("SSL_free")
        sessionControl = try library.function("SSL_ctrl")
        sessionParameters = try library.function("SSL_get0_param")
        parametersSetHost = try library.function("X509_VERIFY_PARAM_set1_host")
        parametersSetAddress = try library.function("X509_VERIFY_PARAM_set1_ip_asc")
        parametersSetHostFlags = try library.function("X509_VERIFY_PARAM_set_hostflags")
        sessionSetBuffers = try library.function("SSL_set_bio")
        sessionSetConnectState = try library.function("SSL_set_connect_state")
        sessionHandshake = try library.function("SSL_do_handshake")
        sessionRead = try library.function("SSL_read")
        sessionWrite = try library.function("SSL_write")
        sessionShutDown = try library.function("SSL_shutdown")
        sessionError = try library.function("SSL_get_error")
        sessionVerifyResult = try library.function("SSL_get_verify_result")
        sessionProtocol = try library.function("SSL_get0_alpn_selected")

        memoryMethod = try library.function("BIO_s_mem")
        bufferNew = try library.function("BIO_new")
        bufferFree = try library.function("BIO_free")
        bufferWrite = try library.function("BIO_write")
        bufferRead = try library.function("BIO_read")
        bufferCount = try library.function("BIO_ctrl_pending")
    }

    /// Removes all errors of this thread, and returns the reason of the oldest one, which caused the others.
    func takeErrorReason() -> (code: UInt, text: String) {
        let code = getError()
        defer { clearErrors() }
        return (code, errorReason(code).map { String(cString: $0) } ?? "error \(code) of OpenSSL")
    }
}
