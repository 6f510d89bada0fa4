import Foundation
import Testing

@testable import EtcdStorage

@Suite("Requests in JSON", .timeLimit(.minutes(10))) struct RequestTests {
    private func text(_ request: some EtcdRequest) -> String {
        String(decoding: request.body, as: UTF8.self)
    }

    private let key = Array("a".utf8)

    @Test("Requests of keys are written with every member that has an effect")
    func keyValues() {
        var range = RangeRequest(key: key, rangeEnd: [0], revision: 5, limit: 10, keysOnly: true, countOnly: true, isSerializable: true)
        range.minModRevision = 3
        #expect(
            text(range) == """
                {"key":"YQ==","range_end":"AA==","limit":"10","revision":"5","keys_only":true,"count_only":true,"serializable":true,\
                "min_mod_revision":"3"}
                """)
        #expect(text(RangeRequest(key: key)) == #"{"key":"YQ=="}"#)
        #expect(text(PutRequest(key: key, value: [1, 2], lease: 7)) == #"{"key":"YQ==","value":"AQI=","lease":"7"}"#)
        #expect(text(DeleteRangeRequest(key: key, rangeEnd: [0x62])) == #"{"key":"YQ==","range_end":"Yg=="}"#)
        #expect(text(CompactionRequest(revision: .max)) == #"{"revision":"9223372036854775807"}"#)
    }

    @Test("A transaction is written with its comparisons and operations in order")
    func transaction() {
        let request = TxnRequest(
            compares: [
                .init(key: key, target: .modRevision(4)),
                .init(key: key, rangeEnd: [0], relation: .less, target: .createRevision(0)),
                .init(key: key, relation: .notEqual, target: .value([1])),
            ],
            success: [.put(PutRequest(key: key, value: [])), .deleteRange(DeleteRangeRequest(key: [0x62]))],
            failure: [.range(RangeRequest(key: key))])
        #expect(
            text(request) == """
                {"compare":[{"key":"YQ==","result":"EQUAL","target":"MOD","mod_revision":"4"},\
                {"key":"YQ==","range_end":"AA==","result":"LESS","target":"CREATE"},\
                {"key":"YQ==","result":"NOT_EQUAL","target":"VALUE","value":"AQ=="}],\
                "success":[{"request_put":{"key":"YQ=="}},{"request_delete_range":{"key":"Yg=="}}],\
                "failure":[{"request_range":{"key":"YQ=="}}]}
                """)
        #expect(text(TxnRequest()) == "{}")
    }

    @Test("Messages to the stream of watches are lines")
    func watch() {
        let create = WatchRequest.Create(
            key: key, rangeEnd: [0x62], startRevision: 9, notifiesProgress: true, allowsFragments: true, includesPrevious: true)
        #expect(
            String(decoding: WatchRequest.create(create).body, as: UTF8.self) == """
                {"create_request":{"key":"YQ==","range_end":"Yg==","start_revision":"9","progress_notify":true,"fragment":true,\
                "prev_kv":true}}

                """)
        #expect(String(decoding: WatchRequest.progress.body, as: UTF8.self) == "{\"progress_request\":{}}\n")
        #expect(String(decoding: WatchRequest.cancel(watchID: 3).body, as: UTF8.self) == "{\"cancel_request\":{\"watch_id\":\"3\"}}\n")
    }

    @Test(
        "Names and passwords are written so that Foundation reads them", arguments: ["a\"b\\c", "\u{0}\u{F}\u{10}\u{1F}\u{7F}\n", "é😀", ""])
    func credentials(password: String) throws {
        let body = AuthenticateRequest(name: "root", password: password).body
        let object = try #require(JSONSerialization.jsonObject(with: Data(body)) as? [String: String])
        #expect(object == ["name": "root", "password": password])
    }
}

@Suite("Answers in JSON", .timeLimit(.minutes(10))) struct ResponseTests {
    private func watch(_ json: String) throws -> WatchResponse {
        try WatchResponse(json: Array(json.utf8))
    }

    @Test("Members that are left out are zero, unknown ones are passed over, numbers may be strings or not")
    func members() throws {
        let json = """
            {"new":{"a":[1,{"b":null}]},"header":{"cluster_id":"18446744073709551615","revision":7,"new":"x"},
             "kvs":[{"key":"YQ==","mod_revision":"7","lease":-5},{}],"more":true,"count":2}
            """
        let response = try RangeRequest.response(httpStatus: 200, body: Array(json.utf8))
        #expect(response.header == ResponseHeader(clusterID: .max, memberID: 0, revision: 7, raftTerm: 0))
        #expect(response.keyValues == [KeyValue(key: [0x61], modRevision: 7, lease: -5), KeyValue()])
        #expect(response.hasMore)
        #expect(response.count == 2)
    }

    @Test("A watch that is refused is begun and cancelled at once, with the reason")
    func refusedWatch() throws {
        let response = try watch(#"{"header":{},"created":true,"canceled":true,"cancel_reason":"etcdserver: permission denied"}"#)
        #expect(response.isCreated && response.isCanceled && !response.isProgress)
        #expect(response.failure?.isPermissionDenied == true)
    }

    @Test("A watch of compacted revisions is cancelled with the oldest one that is left")
    func compactedWatch() throws {
        let response = try watch(#"{"header":{},"canceled":true,"compact_revision":"12"}"#)
        #expect(response.compactRevision == 12)
        #expect(response.failure?.isCompacted == true)
    }

    @Test("A message without events is progress, unless it says something about the watch")
    func progress() throws {
        #expect(try watch(#"{"header":{"revision":"9"},"watch_id":"-1"}"#).isProgress)
        #expect(try watch(#"{"header":{"revision":"9"}}"#).isProgress)
        #expect(try !watch(#"{"created":true}"#).isProgress)
        #expect(try !watch(#"{"canceled":true}"#).isProgress)
        #expect(try !watch(#"{"events":[{"kv":{}}]}"#).isProgress)
        #expect(try watch(#"{"created":true}"#).failure == nil)
    }

    @Test("Events tell whether the key was deleted, and what it was before")
    func events() throws {
        let json = #"{"fragment":true,"events":[{"type":"DELETE","kv":{"key":"YQ=="},"prev_kv":{"value":"AQ=="}},{"type":"PUT","kv":{}}]}"#
        let response = try watch(json)
        #expect(response.isFragment)
        #expect(response.events.map(\.isDelete) == [true, false])
        #expect(response.events.map(\.previous) == [KeyValue(value: [1]), nil])
    }

    @Test("A lease that has expired is not found when it is renewed")
    func expiredLease() {
        let failure = #expect(throws: EtcdFailure.self) {
            try LeaseKeepAliveRequest.response(httpStatus: 200, body: Array("{\"result\":{\"header\":{},\"ID\":\"5\"}}\n".utf8))
        }
        #expect(failure?.isLeaseNotFound == true)
        #expect(throws: EtcdFailure.self) { try LeaseKeepAliveRequest.response(httpStatus: 200, body: []) }
    }

    @Test("An answer to an operation of a type that is not known is an error, not a gap")
    func unknownOperation() {
        #expect(throws: JSONError.self) { try TxnRequest.Response(json: Array(#"{"responses":[{"response_new":{}}]}"#.utf8)) }
    }

    @Test("10,000 keys are read")
    func large() throws {
        var writer = JSONWriter()
        writer.object {
            $0.array("kvs", Array(0..<10_000)) {
                $1.member("key", base64: Array("app/key\($0)".utf8))
                $1.member("mod_revision", Int64($0))
                $1.member("value", base64: [UInt8](repeating: UInt8($0 & 0xFF), count: 60))
            }
        }
        let response = try RangeRequest.response(httpStatus: 200, body: writer.bytes)
        #expect(response.keyValues.map(\.modRevision) == Array(0..<10_000))
    }
}
