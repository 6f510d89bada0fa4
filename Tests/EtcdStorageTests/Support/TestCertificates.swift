#if os(macOS) || os(Linux)
    import Foundation
    import ObservableStorage
    import TestSupport

    /// Certificates and keys in a temporary folder, created by the command `openssl` once for the process.
    final class TestCertificates: Sendable {
        /// A certificate, which is in the folder with its key.
        enum Name: String {
            /// The authority of all the others but ``stranger``.
            case authority
            /// Another authority.
            case stranger
            /// A server's, for localhost, every name directly in etcd.test, w*.partial.test, 127.0.0.1 and ::1. Its subject is subject.test.
            case server
            /// A server's with nothing but the subject localhost.
            case subject
            /// The same, but it expired yesterday.
            case expired
            /// A client's.
            case client
            /// A client's that an intermediate authority issued, without and with that authority's.
            case leaf, chain
        }

        private struct Failed: Error {
            let output: String
        }

        private static let sharedCertificates = Lock<Task<TestCertificates, any Error>?>(nil)
        private let folder: TemporaryFolder

        private init() async throws {
            folder = try TemporaryFolder.inMemory()
            let result = try await Subprocess.finished("/bin/sh", ["-c", Self.script, folder.url.path])
            guard result.status == 0 else { throw Failed(output: result.errors) }
        }

        /// The certificates, created at the first call.
        static func shared() async throws -> TestCertificates {
            let task = sharedCertificates.withLock { certificates in
                if let certificates { return certificates }
                let task = Task { try await TestCertificates() }
                certificates = task
                atexit { TestCertificates.sharedCertificates.withLock { $0 = nil } }
                return task
            }
            return try await task.value
        }

        /// The file of a certificate.
        func certificate(_ name: Name) -> String {
            folder.path("\(name.rawValue).crt")
        }

        /// The content of the file of a certificate.
        func bytes(_ name: Name) throws -> [UInt8] {
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: certificate(name))))
        }

        /// The file of a certificate's private key.
        func key(_ name: Name) -> String {
            folder.path("\(name == .chain ? "leaf" : name.rawValue).key")
        }

        /// The file of the client's key with a password.
        var lockedKey: String {
            folder.path("locked.key")
        }

        private static let script = #"""
            set -e
            cd "$0"
            key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
            authority() {
                openssl req -x509 $key -keyout $1.key -out $1.crt -subj /CN=$1 -days 2 \
                    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
            }
            # The name, the issuer, the subject, the days, the extensions.
            issue() {
                openssl req $key -keyout $1.key -out $1.csr -subj /CN=$3
                printf "$5" >$1.ext
                openssl x509 -req -in $1.csr -CA $2.crt -CAkey $2.key -CAcreateserial -out $1.crt -days $4 -extfile $1.ext
            }
            usage='extendedKeyUsage=serverAuth,clientAuth\n'
            names="subjectAltName=DNS:localhost,DNS:*.etcd.test,DNS:w*.partial.test,IP:127.0.0.1,IP:::1\n$usage"
            authority authority
            authority stranger
            issue server authority subject.test 2 "$names"
            issue subject authority localhost 2 "$usage"
            issue expired authority expired -1 "$names"
            issue client authority client 2 "$usage"
            issue intermediate authority intermediate 2 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n'
            issue leaf intermediate leaf 2 "$usage"
            cat leaf.crt intermediate.crt >chain.crt
            openssl pkey -in client.key -aes256 -passout pass:secret -out locked.key
            """#
    }
#endif
