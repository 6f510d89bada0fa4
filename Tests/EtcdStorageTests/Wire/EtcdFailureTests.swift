import Testing

@testable import EtcdStorage

@Suite("Failures of etcd", .timeLimit(.minutes(10))) struct EtcdFailureTests {
    private func failure(_ status: Int, _ body: String) -> EtcdFailure {
        EtcdFailure(httpStatus: status, body: Array(body.utf8))
    }

    @Test(
        "Every shape of an error is read",
        arguments: [
            #"{"error":"etcdserver: no leader","message":"etcdserver: no leader","code":14}"#,
            #"{"error":"etcdserver: no leader","code":14}"#,
            #"{"code":14,"message":"etcdserver: no leader","details":[]}"#,
            #"{"error":{"code":14,"message":"etcdserver: no leader","details":[{"@type":"x"}]}}"#,
            #"{"error":{"grpc_code":14,"http_code":503,"message":"etcdserver: no leader","http_status":"Service Unavailable"}}"#,
        ])
    func shapes(body: String) {
        #expect(failure(503, body) == EtcdFailure(code: 14, message: "etcdserver: no leader", httpStatus: 503))
    }

    @Test("An answer that is none of etcd's is kept as text")
    func otherServer() {
        #expect(failure(502, "<html>Bad gateway").message == "<html>Bad gateway")
        #expect(failure(502, "").message == "an empty answer")
        #expect(failure(502, "").isUnavailable)
        #expect(failure(502, "").isOutcomeUnknown)
        #expect(!failure(404, "Not Found").isOutcomeUnknown)
        #expect(failure(413, "").isTooLarge)
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
        Meaning(code: 8, message: "grpc: received message larger than max (3 vs. 2)", names: ["large"]),
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
        Meaning(code: 14, message: "all SubConns are in TransientFailure", names: ["unavailable"]),
        Meaning(code: 14, message: "etcdserver: request timed out", names: ["unavailable", "unknown"]),
        Meaning(code: 14, message: "etcdserver: leader changed", names: ["unavailable", "unknown"]),
        Meaning(code: 14, message: "transport is closing", names: ["unavailable", "unknown"]),
        Meaning(code: 2, message: "etcdserver: request timed out, possibly due to connection lost", names: ["unknown"]),
        Meaning(code: 4, message: "context deadline exceeded", names: ["unknown"]),
        Meaning(code: 1, message: "context canceled", names: ["unknown"]),
        Meaning(code: 3, message: "etcdserver: key is not provided", names: []),
    ]

    @Test("What a failure means is told by its code and its text together", arguments: meanings)
    private func meaning(_ meaning: Meaning) {
        let failure = EtcdFailure(code: meaning.code, message: meaning.message, httpStatus: 400)
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
        let failure = #expect(throws: EtcdFailure.self) { try PutRequest.response(httpStatus: 200, body: Array("{".utf8)) }
        #expect(failure?.isOutcomeUnknown == true)
        #expect(failure?.description == "the answer cannot be read: the text ends too early (at byte 1) (HTTP 200)")
    }
}
