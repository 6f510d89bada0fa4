import Testing

@testable import EtcdStorage

/// The bytes are those that `protoc` writes for the same message.
@Suite("Requests in protobuf", .timeLimit(.minutes(10))) struct RequestTests {
    private let key = Array("a".utf8)

    @Test("Requests of keys are written with every field that has an effect")
    func keyValues() {
        var range = RangeRequest(key: key, rangeEnd: [0], revision: 5, limit: 10, keysOnly: true)
        range.minModRevision = 3
        #expect(range.message == [UInt8](hex: "0a0161 120100 180a 2005 4001 5003"))
        #expect(RangeRequest(key: key).message == [UInt8](hex: "0a0161"))
    }

    @Test("A transaction is written with its comparisons and operations in order, and with zeros that are compared")
    func transaction() {
        let request = TxnRequest(
            compares: [
                .init(key: key, modRevision: 4), .init(key: key, rangeEnd: [0], isLess: true, modRevision: 0),
                .init(key: key, modRevision: -1),
            ],
            success: [.put(key: key, value: []), .delete(key: [0x62]), .put(key: key, value: [1], lease: 7)],
            failure: [.range(RangeRequest(key: key)), .range(RangeRequest(key: []))])
        let expected = [UInt8](
            hex: """
                0a0710021a01613004 0a0d080210021a01613000820401 00 0a1010021a016130ffffffffffffffffff01 \
                120512030a0161 12051a030a0162 120a12080a01611201011807 1a050a030a0161 1a020a00
                """)
        #expect(request.message == expected)
        #expect(TxnRequest().message == [])
    }

    @Test("Messages to the stream of watches tell by their presence what is wanted")
    func watch() {
        let create = WatchRequest(key: key, rangeEnd: [0x62], startRevision: 9, includesPrevious: true)
        #expect(create.message == [UInt8](hex: "0a0c 0a0161 120162 1809 3001 4001"))
        #expect(WatchRequest(key: []).message == [UInt8](hex: "0a04 2001 4001"))
        #expect(WatchRequest.progress == [UInt8](hex: "1a00"))
    }

    @Test("Requests to a member are written with every field that has an effect")
    func members() {
        let authenticate = AuthenticateRequest(user: "root", password: "a\"\\\u{0}é😀")
        #expect(authenticate.message == [UInt8](hex: "0a04726f6f74 120a61225c00c3a9f09f9880"))
        #expect(AuthenticateRequest(user: "root", password: "").message == [UInt8](hex: "0a04726f6f74"))
        #expect(LeaseRequest.grant(timeToLive: 600).message == [UInt8](hex: "08d804"))
        #expect(LeaseRequest.grant(timeToLive: -1).message == [UInt8](hex: "08ffffffffffffffffff01"))
        #expect(LeaseRequest.keepAlive(0x694D_8062_2DD3_E005).message == [UInt8](hex: "0885c0cfeea28ce0a669"))
        #expect(LeaseRequest.revoke(0x694D_8062_2DD3_E005).message == [UInt8](hex: "0885c0cfeea28ce0a669"))
    }

    @Test("Each request has the path of its method, and only a range and a new lease change nothing")
    func paths() {
        let requests: [any EtcdRequest] = [
            RangeRequest(key: []), TxnRequest(), LeaseRequest.grant(timeToLive: 1), LeaseRequest.keepAlive(1), LeaseRequest.revoke(1),
            AuthenticateRequest(user: "", password: ""),
        ]
        let methods = [
            "KV/Range", "KV/Txn", "Lease/LeaseGrant", "Lease/LeaseKeepAlive", "Lease/LeaseRevoke", "Auth/Authenticate",
        ]
        #expect(requests.map { $0.path } == methods.map { "/etcdserverpb.\($0)" })
        #expect(requests.map { $0.isRead } == [true, false, true, false, false, false])
        #expect(WatchRequest.path == "/etcdserverpb.Watch/Watch")
    }
}
