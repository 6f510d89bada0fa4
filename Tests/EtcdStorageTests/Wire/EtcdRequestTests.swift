#if os(macOS) || os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import EtcdStorage

    /// etcd passes silently over fields that it does not know, so every field is checked by its effect.
    @Suite("Requests to etcd", .needsEtcd, .timeLimit(.minutes(10))) struct EtcdRequestTests {
        private let prefix = "\(UUID())/"

        private func key(_ name: String) -> [UInt8] {
            Array((prefix + name).utf8)
        }

        private var all: (key: [UInt8], rangeEnd: [UInt8]) {
            (key(""), EntryKeys(prefix: prefix).rangeEnd)
        }

        private func call<Request: EtcdRequest>(_ request: Request) async throws -> Request.Response {
            try await call(request, to: try await EtcdCluster.shared())
        }

        private func call<Request: EtcdRequest>(
            _ request: Request, to cluster: EtcdCluster, token: String? = nil
        ) async throws -> Request.Response {
            try await EtcdCall.send(request, to: cluster.ports[0], token: token)
        }

        private func put(_ name: String, _ value: String) async throws -> Int64 {
            try await call(PutRequest(key: key(name), value: Array(value.utf8))).header.revision
        }

        @Test("A key that was put is read, with its revisions")
        func putAndRange() async throws {
            let created = try await put("a", "1")
            let changed = try await put("a", "2")
            let response = try await call(RangeRequest(key: key("a")))
            let expected = KeyValue(key: key("a"), value: Array("2".utf8), createRevision: created, modRevision: changed)
            #expect(try response.keyValues == [expected])
            #expect(response.header.revision >= changed)
            #expect(response.header.clusterID != 0)
        }

        @Test("Each field of a range has its effect")
        func rangeFields() async throws {
            let first = try await put("a", "1")
            _ = try await put("b", "2")
            let last = try await put("c", "3")
            let all = RangeRequest(key: all.key, rangeEnd: all.rangeEnd)
            func names(_ change: (inout RangeRequest) -> Void) async throws -> [String] {
                var request = all
                change(&request)
                return try await call(request).keyValues.map { String(decoding: $0.key.dropFirst(prefix.utf8.count), as: UTF8.self) }
            }
            #expect(try await names { _ in } == ["a", "b", "c"])
            #expect(try await names { $0.rangeEnd = [] } == [])
            #expect(try await names { $0.revision = first } == ["a"])
            #expect(try await names { $0.limit = 2 } == ["a", "b"])
            #expect(try await names { $0.minModRevision = last } == ["c"])
            var request = all
            request.keysOnly = true
            request.limit = 1
            let response = try await call(request)
            #expect(response.hasMore && response.count == 3)
            #expect(try response.keyValues.first?.value == [])
        }

        @Test("A revision that is too new is an error with that meaning")
        func futureRevision() async throws {
            let failure = await #expect(throws: EtcdFailure.self) { try await call(RangeRequest(key: key("a"), revision: .max / 2)) }
            #expect(failure?.isFutureRevision == true)
        }

        @Test("A transaction deletes a key, and no other one")
        func delete() async throws {
            for name in ["a", "b", "c"] { _ = try await put(name, "x") }
            _ = try await call(TxnRequest(success: [.delete(key: key("b"))]))
            #expect(try await call(RangeRequest(key: all.key, rangeEnd: all.rangeEnd)).keyValues.map(\.key) == [key("a"), key("c")])
        }

        @Test("Each comparison holds exactly when it should")
        func compares() async throws {
            let created = try await put("a", "1")
            let changed = try await put("a", "2")
            func holds(_ name: String, isLess: Bool, _ revision: Int64) async throws -> Bool {
                let compare = TxnRequest.Compare(key: key(name), isLess: isLess, modRevision: revision)
                return try await call(TxnRequest(compares: [compare])).succeeded
            }
            for (revision, isEqual, isLess) in [(changed, true, false), (created, false, false), (0, false, false), (.max, false, true)] {
                #expect(try await holds("a", isLess: false, revision) == isEqual)
                #expect(try await holds("a", isLess: true, revision) == isLess)
            }
            #expect(try await holds("absent", isLess: false, 0))
            #expect(try await holds("absent", isLess: true, 1))
        }

        @Test("A comparison of a range holds if it holds for all of its keys, and cannot see that one is missing")
        func rangeCompare() async throws {
            func holds(isLess: Bool, _ revision: Int64) async throws -> Bool {
                let compare = TxnRequest.Compare(key: all.key, rangeEnd: all.rangeEnd, isLess: isLess, modRevision: revision)
                return try await call(TxnRequest(compares: [compare])).succeeded
            }
            #expect(try await holds(isLess: false, 0))
            #expect(try await !holds(isLess: true, 0))
            _ = try await put("a", "1")
            let last = try await put("b", "1")
            #expect(try await holds(isLess: true, last + 1))
            #expect(try await !holds(isLess: true, last))
            _ = try await call(DeleteRangeRequest(key: key("a")))
            #expect(try await holds(isLess: true, last + 1))
        }

        @Test("A transaction runs one of its branches, and answers each operation")
        func transaction() async throws {
            _ = try await put("a", "1")
            let request = TxnRequest(
                compares: [.init(key: key("b"), modRevision: 0)],
                success: [.put(key: key("b"), value: Array("2".utf8)), .delete(key: key("a")), .range(RangeRequest(key: key("b")))],
                failure: [.range(RangeRequest(key: key("b")))])
            let first = try await call(request)
            #expect(first.succeeded)
            #expect(first.ranges.map { $0?.map(\.modRevision) } == [nil, nil, [first.header.revision]])
            #expect(try await call(RangeRequest(key: key("a"))).keyValues == [])
            let second = try await call(request)
            #expect(!second.succeeded)
            #expect(second.ranges.count == 1)
        }

        @Test("A request with too many operations, and one with too many bytes, are too large")
        func tooLarge() async throws {
            let operations = (0...128).map { TxnRequest.Operation.put(key: key("\($0)"), value: []) }
            let many = await #expect(throws: EtcdFailure.self) { try await call(TxnRequest(success: operations)) }
            #expect(many?.isTooLarge == true)
            for size in [1_600_000, 3_000_000] {
                let value = [UInt8](repeating: 1, count: size)
                let large = await #expect(throws: EtcdFailure.self) { try await call(PutRequest(key: key("a"), value: value)) }
                #expect(large?.isTooLarge == true, "\(size): \(String(describing: large))")
            }
        }

        @Test("A lease is granted, renewed and revoked, and then not found")
        func lease() async throws {
            let granted = try await call(LeaseRequest.grant(timeToLive: 300))
            #expect(granted.timeToLive == 300)
            _ = try await call(PutRequest(key: key("a"), value: [], lease: granted.lease))
            #expect(try await call(RangeRequest(key: key("a"))).details?.lease == granted.lease)
            #expect(try await call(LeaseRequest.keepAlive(granted.lease)).timeToLive == 300)
            _ = try await call(LeaseRequest.revoke(granted.lease))
            #expect(try await call(RangeRequest(key: key("a"))).keyValues == [])
            #expect(try await call(LeaseRequest.keepAlive(granted.lease)).timeToLive == 0)
            let revocation = await #expect(throws: EtcdFailure.self) { try await call(LeaseRequest.revoke(granted.lease)) }
            #expect(revocation?.isLeaseNotFound == true)
        }

        @Test("A member tells its version and who leads")
        func status() async throws {
            let status = try await call(StatusRequest())
            #expect(status.version.split(separator: ".").count == 3)
            #expect(status.leader != 0)
        }

        @Test("A revision that was compacted is an error with that meaning", .servers(1))
        func compaction() async throws {
            let cluster = try await EtcdCluster.start()
            let created = try await call(PutRequest(key: key("a"), value: [1]), to: cluster).header.revision
            let changed = try await call(PutRequest(key: key("a"), value: [2]), to: cluster).header.revision
            _ = try await call(CompactionRequest(revision: changed), to: cluster)
            let request = RangeRequest(key: key("a"), revision: created)
            let failure = await #expect(throws: EtcdFailure.self) { try await call(request, to: cluster) }
            #expect(failure?.isCompacted == true)
        }

        @Test("With authentication, a missing or wrong token is refused as such, and a wrong password as a wrong password", .servers(1))
        func authentication() async throws {
            let cluster = try await EtcdCluster.start()
            try await cluster.enableAuthentication(rootPassword: "secret")
            let token = try await call(AuthenticateRequest(user: "root", password: "secret"), to: cluster).token
            _ = try await call(PutRequest(key: key("a"), value: []), to: cluster, token: token)
            for token in [nil, "wrong"] {
                let failure = await #expect(throws: EtcdFailure.self) {
                    try await call(PutRequest(key: key("a"), value: []), to: cluster, token: token)
                }
                #expect(failure?.isTokenRefused == true && failure?.isOutcomeUnknown == false)
            }
            let failure = await #expect(throws: EtcdFailure.self) {
                try await call(AuthenticateRequest(user: "root", password: "wrong"), to: cluster)
            }
            #expect(failure?.isAuthenticationFailed == true && failure?.isTokenRefused == false)
        }

        @Test("Authentication that is not enabled is a failure with that meaning")
        func authenticationDisabled() async throws {
            let failure = await #expect(throws: EtcdFailure.self) { try await call(AuthenticateRequest(user: "a", password: "b")) }
            #expect(failure?.isAuthenticationDisabled == true)
        }
    }
#endif
