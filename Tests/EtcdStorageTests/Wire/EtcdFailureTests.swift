import Testing

@testable import EtcdStorage

@Suite("Failures of etcd", .timeLimit(.minutes(10))) struct EtcdFailureTests {
    @Test("A failure is read from the fields that end a call")
    func fields() {
        let failure = EtcdFailure(grpcStatus: 14, encodedMessage: "etcdserver: no leader")
        #expect(failure == EtcdFailure(code: 14, message: "etcdserver: no leader"))
        #expect(failure.description == "etcdserver: no leader (code 14)")
        #expect(EtcdFailure(grpcStatus: 2, encodedMessage: "").message == "an error without a message")
    }

    @Test(
        "Escapes in a message are replaced, and those that are damaged are kept",
        arguments: [
            ("a%20b%25", "a b%"), ("%C3%A9%f0%9F%98%80", "é😀"), ("%0A%00", "\n\u{0}"), ("%2541", "%41"), ("%", "%"), ("%4", "%4"),
            ("%4%41", "%4A"), ("%%41", "%A"), ("%G1%1G%+1%-1% 1", "%G1%1G%+1%-1% 1"), ("é%C3%A9", "éé"), ("%é41", "%é41"),
            ("a%FFb", "a\u{FFFD}b"), ("100 %", "100 %"),
        ])
    func escapes(encoded: String, message: String) {
        #expect(EtcdFailure(grpcStatus: 2, encodedMessage: encoded).message == message)
    }

    @Test("What a server says is shown without control characters")
    func unprintable() {
        let failure = EtcdFailure(grpcStatus: 7, encodedMessage: "%1B[2J%0Aétcd")
        #expect(failure.description == #""\u001b[2J\nétcd" (code 7)"#)
        #expect(TLSError.noHTTP2(peer: "a:1", selected: "\u{9B}2J").description.contains(#""\u009b2J""#))
    }

    @Test("The HTTP status is the meaning of a response that is not gRPC's")
    func otherServer() {
        func failure(_ status: Int) -> EtcdFailure { EtcdFailure(code: nil, message: "<html>", httpStatus: status) }
        #expect(failure(502).isUnavailable)
        #expect(failure(502).isOutcomeUnknown)
        #expect(!failure(404).isOutcomeUnknown && !failure(404).isUnavailable)
        #expect(failure(413).isTooLarge)
        #expect(failure(401).isTokenRefused)
        #expect(failure(503).description == "<html> (HTTP 503)")
    }

    private struct Meaning: Sendable, CustomTestStringConvertible {
        let code: Int
        let message: String
        var names: Set<String>
        var testDescription: String { "\(code) \(message)" }
    }

    private static let meanings: [Meaning] = [
        Meaning(code: 11, message: "etcdserver: mvcc: required revision has been compacted", names: ["compacted"]),
        Meaning(code: 11, message: "etcdserver: mvcc: required revision is a future revision", names: ["future"]),
        Meaning(code: 11, message: "etcdserver: too large lease TTL", names: []),
        Meaning(code: 3, message: "etcdserver: request is too large", names: ["large"]),
        Meaning(code: 3, message: "etcdserver: too many operations in txn request", names: ["large"]),
        Meaning(code: 8, message: "grpc: received message larger than max (3 vs. 2)", names: ["large", "unknown"]),
        Meaning(code: 8, message: "etcdserver: too many requests", names: ["overloaded"]),
        Meaning(code: 8, message: "etcdserver: mvcc: database space exceeded", names: ["space"]),
        Meaning(code: 16, message: "etcdserver: invalid auth token", names: ["token"]),
        Meaning(code: 3, message: "etcdserver: user name is empty", names: ["token"]),
        Meaning(code: 3, message: "etcdserver: revision of auth store is old", names: ["token"]),
        Meaning(code: 3, message: "etcdserver: authentication failed, invalid user ID or password", names: ["password"]),
        Meaning(code: 9, message: "etcdserver: authentication is not enabled", names: ["disabled"]),
        Meaning(code: 7, message: "etcdserver: permission denied", names: ["permission"]),
        Meaning(code: 5, message: "etcdserver: requested lease not found", names: ["lease"]),
        Meaning(code: 14, message: "etcdserver: no leader", names: ["unavailable"]),
        Meaning(code: 14, message: "etcdserver: not capable", names: ["unavailable"]),
        Meaning(code: 14, message: "etcdserver: too many requests", names: ["unavailable"]),
        Meaning(code: 14, message: "etcdserver: request timed out", names: ["unavailable", "unknown"]),
        Meaning(code: 14, message: "etcdserver: leader changed", names: ["unavailable", "unknown"]),
        Meaning(code: 14, message: "transport is closing", names: ["unavailable", "unknown"]),
        Meaning(code: 2, message: "etcdserver: request timed out, possibly due to connection lost", names: ["unknown"]),
        Meaning(code: 4, message: "context deadline exceeded", names: ["unknown"]),
        Meaning(code: 1, message: "context canceled", names: ["unknown"]),
        Meaning(code: 3, message: "etcdserver: key is not provided", names: []),
    ]

    @Test("The meaning of a failure depends on its code and its text together", arguments: meanings)
    private func meaning(_ meaning: Meaning) {
        let failure = EtcdFailure(code: meaning.code, message: meaning.message)
        let predicates = [
            "compacted": failure.isCompacted, "future": failure.isFutureRevision, "large": failure.isTooLarge,
            "overloaded": failure.isOverloaded, "space": failure.isSpaceExceeded, "token": failure.isTokenRefused,
            "password": failure.isAuthenticationFailed, "disabled": failure.isAuthenticationDisabled,
            "permission": failure.isPermissionDenied, "lease": failure.isLeaseNotFound, "unavailable": failure.isUnavailable,
            "unknown": failure.isOutcomeUnknown,
        ]
        #expect(Set(predicates.filter(\.value).keys) == meaning.names)
    }

    @Test("An answer of success that cannot be read leaves the outcome unknown")
    func malformedSuccess() {
        let failure = #expect(throws: EtcdFailure.self) { try PutRequest.Response(message: [0x0A]) }
        #expect(failure?.isOutcomeUnknown == true)
        #expect(failure?.description == "the response cannot be read: an integer ends too early (at byte 1)")
    }
}
