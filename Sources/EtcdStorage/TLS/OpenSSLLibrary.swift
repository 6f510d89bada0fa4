import FoundationSubset
import ObservableStorage

/// The system's OpenSSL, version 3 or 1.1.1, opened once and never closed.
struct OpenSSLLibrary: Sendable {
    /// The library, or why it cannot be used.
    static let shared = Result { () throws(StorageError) in try OpenSSLLibrary() }

    /// The file names of the library, the preferred one first.
    static let systemFiles: [String] = {
        #if canImport(Darwin)
            []
        #else
            ["libssl.so.3", "libssl.so.1.1"]
        #endif
    }()

    // A handle of the dynamic loader, as a number, because it is only passed back.
    private let handle: UInt

    /// Opens the first library that exists.
    ///
    /// - Parameter files: the file names of libraries, without folders.
    init(_ files: [String] = systemFiles) throws(StorageError) {
        guard !files.isEmpty else {
            throw .invalidConfiguration(
                item: "TLS", reason: "it is not supported for etcd on this system",
                remedy: "connect through a tunnel that ends TLS on this machine")
        }
        var failures: [String] = []
        for name in files {
            if let opened = dlopen(name, RTLD_NOW | RTLD_LOCAL) {
                handle = UInt(bitPattern: opened)
                try initialize()
                return
            }
            failures.append(dlerror().map { String(cString: $0) } ?? name)
        }
        throw .openSSL(
            "it can't be loaded (\(failures.joined(separator: "; ")))",
            remedy: "install its package openssl, version 3 or 1.1.1, and don't link the program statically with the C library")
    }

    /// The function with a name, whose type has to be that in OpenSSL's manual.
    func function<Function>(_ name: String, as type: Function.Type = Function.self) throws(StorageError) -> Function {
        guard let address = dlsym(UnsafeMutableRawPointer(bitPattern: handle), name) else {
            throw .openSSL("it has no function \(name)")
        }
        return unsafeBitCast(address, to: type)
    }

    private func initialize() throws(StorageError) {
        // Otherwise `exit` frees OpenSSL's tables while other threads may still use connections.
        let noCleanupAtExit: UInt64 = 0x0008_0000
        let errorTexts: UInt64 = 0x0020_0002
        let initialize = try function("OPENSSL_init_ssl", as: (@convention(c) (UInt64, OpaquePointer?) -> Int32).self)
        guard initialize(noCleanupAtExit | errorTexts, nil) == 1 else {
            throw .openSSL("it can't be initialized", remedy: "check openssl.cnf in the folder that `openssl version -d` prints")
        }
    }
}

extension StorageError {
    /// The error for an OpenSSL that is missing or cannot be used.
    static func openSSL(_ reason: String, remedy: String = "install version 3 or 1.1.1") -> StorageError {
        .invalidConfiguration(item: "OpenSSL", reason: reason, remedy: remedy)
    }
}
