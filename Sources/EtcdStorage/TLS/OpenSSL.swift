import FoundationSubset
import ObservableStorage

/// The functions of the system's OpenSSL, version 3 or 1.1.1, that this library calls: loaded at run time, once, and never closed.
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

    /// The library, as a number, because it is only passed back to the dynamic loader.
    let handle: UInt

    /// The functions of the system's OpenSSL, initialized.
    static let shared = Result { () throws(StorageError) in try OpenSSL() }

    /// Loads the first library that exists.
    ///
    /// - Parameter files: the file names of libraries, without folders.
    init(_ files: [String] = systemFiles) throws(StorageError) {
        let handle = try Self.open(files)
        self.handle = handle
        func function<Function>(_ name: String) throws(StorageError) -> Function { try Self.function(name, in: handle) }
        // Otherwise `exit` frees OpenSSL's tables while other threads may still use connections.
        let noCleanupAtExit: UInt64 = 0x0008_0000
        let errorTexts: UInt64 = 0x0020_0002
        let initialize: @convention(c) (UInt64, OpaquePointer?) -> Int32 = try function("OPENSSL_init_ssl")
        guard initialize(noCleanupAtExit | errorTexts, nil) == 1 else {
            throw .openSSL("it can't be initialized", remedy: "check openssl.cnf in the folder that `openssl version -d` prints")
        }

        clearErrors = try function("ERR_clear_error")
        getError = try function("ERR_get_error")
        errorReason = try function("ERR_reason_error_string")
        verifyErrorReason = try function("X509_verify_cert_error_string")

        clientMethod = try function("TLS_client_method")
        contextNew = try function("SSL_CTX_new")
        contextFree = try function("SSL_CTX_free")
        contextControl = try function("SSL_CTX_ctrl")
        contextSetOptions = try function("SSL_CTX_set_options")
        contextSetVerify = try function("SSL_CTX_set_verify")
        contextSetProtocols = try function("SSL_CTX_set_alpn_protos")
        contextSetDefaultVerifyPaths = try function("SSL_CTX_set_default_verify_paths")
        contextStore = try function("SSL_CTX_get_cert_store")
        contextUseCertificate = try function("SSL_CTX_use_certificate")
        contextUsePrivateKey = try function("SSL_CTX_use_PrivateKey")

        storeAddCertificate = try function("X509_STORE_add_cert")
        pemReadCertificate = try function("PEM_read_bio_X509")
        pemReadPrivateKey = try function("PEM_read_bio_PrivateKey")
        certificateFree = try function("X509_free")
        privateKeyFree = try function("EVP_PKEY_free")

        sessionNew = try function("SSL_new")
        sessionFree = try function("SSL_free")
        sessionControl = try function("SSL_ctrl")
        sessionParameters = try function("SSL_get0_param")
        parametersSetHost = try function("X509_VERIFY_PARAM_set1_host")
        parametersSetAddress = try function("X509_VERIFY_PARAM_set1_ip_asc")
        parametersSetHostFlags = try function("X509_VERIFY_PARAM_set_hostflags")
        sessionSetBuffers = try function("SSL_set_bio")
        sessionSetConnectState = try function("SSL_set_connect_state")
        sessionHandshake = try function("SSL_do_handshake")
        sessionRead = try function("SSL_read")
        sessionWrite = try function("SSL_write")
        sessionShutDown = try function("SSL_shutdown")
        sessionError = try function("SSL_get_error")
        sessionVerifyResult = try function("SSL_get_verify_result")
        sessionProtocol = try function("SSL_get0_alpn_selected")

        memoryMethod = try function("BIO_s_mem")
        bufferNew = try function("BIO_new")
        bufferFree = try function("BIO_free")
        bufferWrite = try function("BIO_write")
        bufferRead = try function("BIO_read")
        bufferCount = try function("BIO_ctrl_pending")
    }

    /// Removes all errors of this thread, and returns the reason of the oldest one, which caused the others.
    func takeErrorReason() -> (code: UInt, text: String) {
        let code = getError()
        defer { clearErrors() }
        return (code, errorReason(code).map { String(cString: $0) } ?? "error \(code) of OpenSSL")
    }

    /// A function of a library, whose type has to be that in OpenSSL's manual.
    static func function<Function>(_ name: String, in handle: UInt) throws(StorageError) -> Function {
        guard let address = dlsym(UnsafeMutableRawPointer(bitPattern: handle), name) else {
            throw .openSSL("it has no function \(name)")
        }
        return unsafeBitCast(address, to: Function.self)
    }

    /// The file names of the library, the preferred one first.
    private static let systemFiles: [String] = {
        #if canImport(Darwin)
            []
        #else
            ["libssl.so.3", "libssl.so.1.1"]
        #endif
    }()

    private static func open(_ files: [String]) throws(StorageError) -> UInt {
        guard !files.isEmpty else {
            throw .invalidConfiguration(
                item: "TLS", reason: "it is not supported for etcd on this system",
                remedy: "connect through a tunnel that ends TLS on this machine")
        }
        var failures: [String] = []
        for name in files {
            if let opened = dlopen(name, RTLD_NOW | RTLD_LOCAL) { return UInt(bitPattern: opened) }
            failures.append(dlerror().map { String(cString: $0) } ?? name)
        }
        throw .openSSL(
            "it can't be loaded (\(failures.joined(separator: "; ")))",
            remedy: "install its package openssl, version 3 or 1.1.1, and don't link the program statically with the C library")
    }
}

extension StorageError {
    /// The error for an OpenSSL that is missing or cannot be used.
    static func openSSL(_ reason: String, remedy: String = "install version 3 or 1.1.1") -> StorageError {
        .invalidConfiguration(item: "OpenSSL", reason: reason, remedy: remedy)
    }
}
