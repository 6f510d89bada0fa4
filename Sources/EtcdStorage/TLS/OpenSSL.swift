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

    private let initialize: @convention(c) @Sendable (UInt64, Object) -> Int32 = load("OPENSSL_init_ssl")

    // Errors, in a queue for each thread.
    let clearErrors: @convention(c) @Sendable () -> Void = load("ERR_clear_error")
    let getError: @convention(c) @Sendable () -> UInt = load("ERR_get_error")
    let errorReason: @convention(c) @Sendable (UInt) -> UnsafePointer<CChar>? = load("ERR_reason_error_string")
    let verifyErrorReason: @convention(c) @Sendable (Int) -> UnsafePointer<CChar>? = load("X509_verify_cert_error_string")

    // Contexts.
    let clientMethod: @convention(c) @Sendable () -> Object = load("TLS_client_method")
    let contextNew: @convention(c) @Sendable (Object) -> Object = load("SSL_CTX_new")
    let contextFree: @convention(c) @Sendable (Object) -> Void = load("SSL_CTX_free")
    let contextControl: @convention(c) @Sendable (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int = load("SSL_CTX_ctrl")
    let contextSetOptions: @convention(c) @Sendable (Object, UInt64) -> UInt64 = load("SSL_CTX_set_options")
    let contextSetVerify: @convention(c) @Sendable (Object, Int32, Object) -> Void = load("SSL_CTX_set_verify")
    let contextSetProtocols: @convention(c) @Sendable (Object, UnsafePointer<UInt8>, UInt32) -> Int32 = load("SSL_CTX_set_alpn_protos")
    let contextSetDefaultVerifyPaths: @convention(c) @Sendable (Object) -> Int32 = load("SSL_CTX_set_default_verify_paths")
    let contextStore: @convention(c) @Sendable (Object) -> Object = load("SSL_CTX_get_cert_store")
    let contextUseCertificate: @convention(c) @Sendable (Object, Object) -> Int32 = load("SSL_CTX_use_certificate")
    let contextUsePrivateKey: @convention(c) @Sendable (Object, Object) -> Int32 = load("SSL_CTX_use_PrivateKey")

    // Certificates and keys.
    let storeAddCertificate: @convention(c) @Sendable (Object, Object) -> Int32 = load("X509_STORE_add_cert")
    let pemReadCertificate: @convention(c) @Sendable (Object, Object, PasswordCallback?, Object) -> Object = load("PEM_read_bio_X509")
    let pemReadPrivateKey: @convention(c) @Sendable (Object, Object, PasswordCallback?, Object) -> Object = load("PEM_read_bio_PrivateKey")
    let certificateFree: @convention(c) @Sendable (Object) -> Void = load("X509_free")
    let privateKeyFree: @convention(c) @Sendable (Object) -> Void = load("EVP_PKEY_free")

    // Sessions.
    let sessionNew: @convention(c) @Sendable (Object) -> Object = load("SSL_new")
    let sessionFree: @convention(c) @Sendable (Object) -> Void = load("SSL_free")
    let sessionControl: @convention(c) @Sendable (Object, Int32, Int, UnsafeMutableRawPointer?) -> Int = load("SSL_ctrl")
    let sessionParameters: @convention(c) @Sendable (Object) -> Object = load("SSL_get0_param")
    let parametersSetHost: @convention(c) @Sendable (Object, UnsafePointer<CChar>, Int) -> Int32 = load("X509_VERIFY_PARAM_set1_host")
    let parametersSetAddress: @convention(c) @Sendable (Object, UnsafePointer<CChar>) -> Int32 = load("X509_VERIFY_PARAM_set1_ip_asc")
    let parametersSetHostFlags: @convention(c) @Sendable (Object, UInt32) -> Void = load("X509_VERIFY_PARAM_set_hostflags")
    let sessionSetBuffers: @convention(c) @Sendable (Object, Object, Object) -> Void = load("SSL_set_bio")
    let sessionSetConnectState: @convention(c) @Sendable (Object) -> Void = load("SSL_set_connect_state")
    let sessionHandshake: @convention(c) @Sendable (Object) -> Int32 = load("SSL_do_handshake")
    let sessionRead: @convention(c) @Sendable (Object, UnsafeMutableRawPointer?, Int32) -> Int32 = load("SSL_read")
    let sessionWrite: @convention(c) @Sendable (Object, UnsafeRawPointer?, Int32) -> Int32 = load("SSL_write")
    let sessionShutDown: @convention(c) @Sendable (Object) -> Int32 = load("SSL_shutdown")
    let sessionError: @convention(c) @Sendable (Object, Int32) -> Int32 = load("SSL_get_error")
    let sessionVerifyResult: @convention(c) @Sendable (Object) -> Int = load("SSL_get_verify_result")
    let sessionProtocol:
        @convention(c) @Sendable (Object, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<UInt32>) -> Void = load(
            "SSL_get0_alpn_selected")

    // Buffers.
    let memoryMethod: @convention(c) @Sendable () -> Object = load("BIO_s_mem")
    let bufferNew: @convention(c) @Sendable (Object) -> Object = load("BIO_new")
    let bufferFree: @convention(c) @Sendable (Object) -> Int32 = load("BIO_free")
    let bufferWrite: @convention(c) @Sendable (Object, UnsafeRawPointer?, Int32) -> Int32 = load("BIO_write")
    let bufferRead: @convention(c) @Sendable (Object, UnsafeMutableRawPointer?, Int32) -> Int32 = load("BIO_read")
    let bufferCount: @convention(c) @Sendable (Object) -> Int = load("BIO_ctrl_pending")

    /// The library, as a number, because it is only passed back to the dynamic loader.
    let handle: UInt

    /// The functions of the system's OpenSSL, initialized.
    static let shared = Result { () throws(StorageError) in try OpenSSL() }

    fileprivate static let library = Result { () throws(StorageError) in try open(systemFiles) }
    /// The error for the first function that the library lacks, after the properties were set.
    fileprivate static let failure = Lock<StorageError?>(nil)

    private init() throws(StorageError) {
        handle = try Self.library.get()
        if let failure = Self.failure.withLock({ $0 }) { throw failure }
        // Otherwise `exit` frees OpenSSL's tables while other threads may still use connections.
        let noCleanupAtExit: UInt64 = 0x0008_0000
        let errorTexts: UInt64 = 0x0020_0002
        guard initialize(noCleanupAtExit | errorTexts, nil) == 1 else {
            throw .openSSL("it can't be initialized", remedy: "check openssl.cnf in the folder that `openssl version -d` prints")
        }
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

    /// Loads the first library that exists.
    static func open(_ files: [String]) throws(StorageError) -> UInt {
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

/// A function of the system's library. If it lacks that, the initializer throws the error, and nobody calls the function.
private func load<Function>(_ name: String) -> Function {
    do throws(StorageError) {
        return try OpenSSL.function(name, in: OpenSSL.library.get())
    } catch {
        OpenSSL.failure.withLock { $0 = $0 ?? error }
        return unsafeBitCast(UInt.max, to: Function.self)
    }
}

extension StorageError {
    /// The error for an OpenSSL that is missing or cannot be used.
    static func openSSL(_ reason: String, remedy: String = "install version 3 or 1.1.1") -> StorageError {
        .invalidConfiguration(item: "OpenSSL", reason: reason, remedy: remedy)
    }
}
